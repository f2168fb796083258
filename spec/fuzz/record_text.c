/* record_text.c -- reads any bytes as a record of a store: it is rejected with a reason, or is unchanged after writing
 * and reading it again. The first byte chooses the kind of record, and whether the right checksum is appended, because
 * the fuzzer would not find one by chance. */
#include "fuzz.h"

#include "lease/record.h"

#include <inttypes.h>

enum { IS_NAMESPACE = 1, GETS_SUM = 2 };

static const char *read_it(bool is_ns, const char *text, size_t length, char *again, size_t *written) {
    struct vs_record record;
    struct vs_ns_record ns;
    const char *why = is_ns ? vs_ns_record_read(text, length, &ns) : vs_record_read(text, length, &record);
    if (!why) *written = is_ns ? vs_ns_record_write(&ns, again) : vs_record_write(&record, again);
    return why;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char once[VS_RECORD_TEXT_MAX], twice[VS_RECORD_TEXT_MAX], sum_line[32] = "";
    if (size == 0) return 0;
    bool is_ns = data[0] & IS_NAMESPACE;
    uint64_t sum = 0xcbf29ce484222325u;
    for (size_t i = 1; i < size; i++)
        sum = (sum ^ data[i]) * 0x100000001b3u;
    if (data[0] & GETS_SUM) snprintf(sum_line, sizeof sum_line, "sum %016" PRIx64 "\n", sum);
    size_t length = size - 1 + strlen(sum_line), first = 0, second = 0;
    char *text = malloc(length); /* of exactly that size, so that the sanitizer finds a read past the end */
    MUST(text || length == 0);
    memcpy(text, data + 1, size - 1);
    memcpy(text + size - 1, sum_line, strlen(sum_line));
    if (!read_it(is_ns, text, length, once, &first)) {
        MUST(first <= VS_RECORD_TEXT_MAX);
        MUST(!read_it(is_ns, once, first, twice, &second) && second == first && memcmp(once, twice, first) == 0);
    }
    free(text);
    return 0;
}
