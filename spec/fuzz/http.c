/* http.c -- any bytes as an HTTP stream: views stay inside, every prefix of a request wants more, replies stay bounded.
 */
#include "server.h"

static void check_view(const char *from, size_t used, struct vs_slice word) {
    if (word.at) MUST(word.at >= from && word.length <= used && word.at + word.length <= from + used);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct vs_http http;
    size_t length;
    open_once();
    char *bytes = text_of(data, size);
    int used = vs_http_parse(bytes, size, &http);
    MUST(used <= (int)size);
    MUST((used < 0) == (http.broken != NULL) && (used < 0) == (http.status != 0));
    MUST(http.need == 0 || (used == 0 && http.need > size));
    if (used > 0) {
        MUST(http.path.length >= 1 && *http.path.at == '/' && http.method);
        check_view(bytes, (size_t)used, http.path);
        check_view(bytes, (size_t)used, http.query);
        check_view(bytes, (size_t)used, http.body);
        check_view(bytes, (size_t)used, http.type);
        check_view(bytes, (size_t)used, http.authorization);
    }
    for (int n = 0; n < used; n++)
        MUST(vs_http_parse(bytes, (size_t)n, &http) == 0);
    size_t at = answer_all(VS_HTTP, vs_http_step, bytes, size, &length);
    MUST(at == 0 || length > 0); /* who was understood was answered */
    free(bytes);
    return 0;
}
