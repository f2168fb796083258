/* time_text.c -- reads any bytes as a time: it is rejected with a reason, or is unchanged after writing and reading it
 * again. */
#include "base/time.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = text_of(data, size), iso[VESTA_ISO_MAX];
    struct vesta_error err = {0};
    int64_t ms = 77, again = 78;
    int rc = vesta_time_parse(text, &ms, &err);
    if (rc != VESTA_OK) {
        MUST(rc == VESTA_EFIELD && err.code == rc && ms == 77);
        for (const char *c = err.text; *c; c++)
            MUST(*c >= ' ' && *c <= '~');
    } else {
        MUST(vesta_iso(ms, iso) == strlen(iso));
        if (ms <= VS_EPOCH_MS_MAX && *iso != '-') /* otherwise the year does not have four digits */
            MUST(vesta_time_parse(iso, &again, NULL) == VESTA_OK && again == ms);
    }
    free(text);
    return 0;
}
