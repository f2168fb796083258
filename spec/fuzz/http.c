/* http.c -- reads any bytes as an HTTP stream: views stay inside, every prefix of a request needs more bytes, and
 * replies are bounded. */
#include "server.h"

static void check_view(const char *from, size_t used, struct vs_slice word) {
    if (word.at) MUST(word.at >= from && word.length <= used && word.at + word.length <= from + used);
}

static void check_text(struct vs_slice got, struct vs_slice want) {
    MUST(!got.at == !want.at && got.length == want.length && (!got.at || memcmp(got.at, want.at, got.length) == 0));
}

/* Reading from the cache must equal the first reading. */
static void check_kept(const char *bytes, size_t size, int used, const struct vs_http *want) {
    static struct vs_heads heads;
    for (int again = 0; again < 2; again++) {
        struct vs_http got;
        MUST(vs_http_read(&heads, 1, bytes, size, &got) == used);
        if (used <= 0) continue;
        check_text(got.path, want->path);
        check_text(got.query, want->query);
        check_text(got.body, want->body);
        check_text(got.authorization, want->authorization);
        check_text(got.host, want->host);
        check_text(got.origin, want->origin);
        MUST(got.site == want->site && got.is_public_name == want->is_public_name);
        MUST(got.method == want->method && got.keep_alive == want->keep_alive && got.http10 == want->http10);
    }
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
        check_view(bytes, (size_t)used, http.host);
        check_view(bytes, (size_t)used, http.origin);
    }
    check_kept(bytes, size, used, &http);
    for (int n = 0; n < used; n++)
        MUST(vs_http_parse(bytes, (size_t)n, &http) == 0);
    size_t at = answer_all(VS_HTTP, vs_http_step, bytes, size, &length);
    MUST(at == 0 || length > 0); /* every parsed request was answered */
    free(bytes);
    return 0;
}
