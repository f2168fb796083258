/* id_text.c -- reads any bytes as an id in each base, accepts exactly the texts that a simple reader accepts, and
 * writes them back.  Also reads them as an id of 128 bits. */
#include "base/array.h"
#include "id/wide.h"
#include "vesta.h"
#include "fuzz.h"

#include <stdbool.h>

/* A simple reader: it looks digits up in a string, and detects overflow with a type of twice the width. */
static bool slow_parse(const char *digits, unsigned radix, const uint8_t *data, size_t size, uint64_t *id) {
    unsigned __int128 sum = 0;
    if (size == 0) return false;
    for (size_t i = 0; i < size; i++) {
        const char *at = data[i] ? strchr(digits, data[i]) : NULL;
        if (!at) return false;
        sum = sum * radix + (unsigned)(at - digits) % radix;
        if (sum > UINT64_MAX) return false;
    }
    *id = (uint64_t)sum;
    return true;
}

/* Both cases in a row, so that a digit's index modulo the radix is its value. */
static const struct {
    enum vesta_base base;
    unsigned radix;
    const char *digits;
} bases[] = {
    {VESTA_DECIMAL, 10, "0123456789"},
    {VESTA_HEX, 16,
     "0123456789abcdef\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01"
     "ABCDEF"},
    {VESTA_BASE32, 32,
     "0123456789ABCDEFGHJKMNPQRSTVWXYZ\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01"
     "abcdefghjkmnpqrstvwxyz"},
    {VESTA_BASE62, 62, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"},
};

/* \x01 is a placeholder and no digit. Crockford's look-alikes are replaced by the digits they resemble. */
static uint8_t plain(enum vesta_base base, uint8_t c) {
    if (c == 1) return 0;
    if (base != VESTA_BASE32) return c;
    return c == 'O' || c == 'o' ? '0' : c == 'I' || c == 'i' || c == 'L' || c == 'l' ? '1' : c;
}

static void check_id(uint64_t id) {
    struct vesta_candidate guesses[16];
    for (size_t b = 0; b < VS_COUNT(bases); b++) {
        char buf[VESTA_FORMAT_MAX];
        uint64_t back = ~id;
        size_t length = vesta_format(bases[b].base, id, buf);
        MUST(length == strlen(buf) && vesta_parse(bases[b].base, buf, length, &back) == VESTA_OK && back == id);
    }
    for (int i = 0; vesta_preset_at(i); i++) {
        struct vesta_layout layout;
        struct vesta_parts parts;
        uint64_t back = ~id;
        MUST(vesta_layout_parse(vesta_preset_at(i)->name, &layout, NULL) == VESTA_OK);
        if (vesta_explain(&layout, id, &parts, NULL) != VESTA_OK) continue;
        MUST(vesta_compose(&layout, parts.values, &back, NULL) == VESTA_OK && back == id);
    }
    MUST(vesta_guess(id, INT64_C(1795219200000), guesses, 16) <= 16);
}

/* An accepted text equals the text that is written, except for its case, and braces or urn:uuid: around it. */
static void check_wide(const char *text, size_t size) {
    struct vs_wide_found found, again;
    struct vesta_error err;
    char back[VS_WIDE_TEXT_MAX];
    int64_t unix_us;
    if (vs_wide_read((struct vs_slice){text, size}, &found, &err) != VESTA_OK) {
        MUST(err.code == VESTA_EID && strstr(err.text, " is not a "));
        return;
    }
    size_t length = found.text == VS_WIDE_TYPEID ? vs_typeid_write(found.prefix, found.id, back)
                                                 : vs_wide_write(found.text, found.id, back);
    MUST(length <= size && strncasecmp(text + (size > length ? size == length + 2 ? 1 : 9 : 0), back, length) == 0);
    MUST(vs_wide_read((struct vs_slice){back, length}, &again, NULL) == VESTA_OK && again.text == found.text);
    MUST(vs_wide_compare(again.id, found.id) == 0);
    (void)vs_wide_time_us(&found, &unix_us, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = text_of(data, size);
    uint8_t *plained = malloc(size + 1);
    MUST(plained);
    for (size_t b = 0; b < VS_COUNT(bases); b++) {
        uint64_t id = 77, slow = 77;
        for (size_t i = 0; i < size; i++)
            plained[i] = plain(bases[b].base, data[i]);
        bool taken = vesta_parse(bases[b].base, text, size, &id) == VESTA_OK;
        MUST(taken == slow_parse(bases[b].digits, bases[b].radix, plained, size, &slow) && id == slow);
        if (taken) check_id(id);
    }
    check_wide(text, size);
    free(plained);
    free(text);
    return 0;
}
