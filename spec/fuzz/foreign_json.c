/* foreign_json.c -- reads any bytes as another generator's data in a ZooKeeper node: a number of at least 0, a text
 * that fits, or neither. */
#include "fuzz.h"
#include "store/foreign.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const keys[] = {"lastExpireTime", "ip", "processId"};
    char *text = text_of(data, size), out[8];
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        int64_t number = -1;
        memset(out, '!', sizeof out);
        MUST(vs_foreign_number(text, keys[i], &number) == (number >= 0));
        if (vs_foreign_text(text, keys[i], out, sizeof out))
            MUST(memchr(out, '\0', sizeof out) && !strpbrk(out, "\"\\"));
        else
            MUST(out[0] == '!');
    }
    free(text);
    return 0;
}
