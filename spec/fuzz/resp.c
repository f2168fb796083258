/* resp.c -- reads any bytes as a RESP stream: views stay inside, every prefix of a request needs more bytes, and
 * replies are bounded. */
#include "server.h"

static struct vs_args args;

static void check_views(const char *from, size_t used) {
    MUST(args.count >= 0 && args.count <= VS_RESP_ARGS_MAX);
    for (int i = 0; i < args.count; i++) {
        const char *at = args.at[i].at, *end = at + args.at[i].length;
        bool was_quoted = at >= args.typed && at <= args.typed + sizeof args.typed;
        MUST(was_quoted ? args.is_inline && end <= args.typed + sizeof args.typed : at >= from && end <= from + used);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    size_t length;
    open_once();
    char *bytes = text_of(data, size);
    int used = vs_resp_parse(bytes, size, &vs_resp_limits, &args);
    MUST(used <= (int)size);
    MUST((used < 0) == (args.broken != NULL));
    if (used > 0) check_views(bytes, (size_t)used);
    for (int n = 0; n < used; n++)
        MUST(vs_resp_parse(bytes, (size_t)n, &vs_resp_limits, &args) == 0);
    answer_all(VS_RESP, vs_resp_step, bytes, size, &length);
    free(bytes);
    return 0;
}
