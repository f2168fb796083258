/* key.c -- reads the file of a mask's key.  See mask.h. */
#include "mask/mask.h"
#include "base/error.h"
#include "os/files.h"
#include "os/secret.h"

#include <errno.h>
#include <string.h>

#define KEY_TEXT_MAX 128

static int key_hex(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    c |= ' ';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool key_read_hex(const char *text, size_t length, struct vs_mask_key *key) {
    if (length % 2 != 0 || length > 2 * sizeof key->bytes) return false;
    for (size_t i = 0; i < length; i += 2) {
        int high = key_hex(text[i]), low = key_hex(text[i + 1]);
        if (high < 0 || low < 0) return false;
        key->bytes[i / 2] = (uint8_t)(high << 4 | low);
    }
    key->length = length / 2;
    return true;
}

/* Base64 as `openssl rand -base64` writes it.  Unused bits of the last character must be zero, so that a damaged file is
 * an error. */
static bool key_read_base64(const char *text, size_t length, struct vs_mask_key *key) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t bits = 0;
    int count = 0;
    size_t used = length;
    while (used > 0 && length - used < 2 && text[used - 1] == '=')
        used--;
    key->length = 0;
    if (length % 4 != 0) return false;
    for (size_t i = 0; i < used; i++) {
        const char *digit = strchr(digits, text[i]);
        if (!digit) return false;
        bits = bits << 6 | (uint32_t)(digit - digits);
        count += 6;
        if (count < 8) continue;
        count -= 8;
        if (key->length == sizeof key->bytes) return false;
        key->bytes[key->length++] = (uint8_t)(bits >> count);
        bits &= (1u << count) - 1;
    }
    return bits == 0;
}

static bool key_is_length(size_t length) {
    return length == 16 || length == 24 || length == 32;
}

static int key_check_access(const char *path, struct vesta_error *err) {
    struct stat st;
    if (stat(path, &st) != 0) return vs_fail(err, VESTA_EIO, "cannot read the key %.120s: %s", path, strerror(errno));
    const char *others = vs_open_to_others(&st);
    if (!others) return VESTA_OK;
    return vs_fail(err, VESTA_EOPTION, "other users may %s the key %.120s: run chmod o= on it", others, path);
}

int vs_mask_key_read(const char *path, struct vs_mask_key *key, struct vesta_error *err) {
    char text[KEY_TEXT_MAX];
    struct vs_mask_key read = {.version = key->version};
    int rc = key_check_access(path, err);
    if (rc == VESTA_OK) rc = vs_secret_of_file(&(struct vs_secret_file){"the key", path, true}, text, sizeof text, err);
    if (rc != VESTA_OK) return rc;
    size_t length = strlen(text);
    bool is_key = (key_read_hex(text, length, &read) && key_is_length(read.length)) ||
                  (key_read_base64(text, length, &read) && key_is_length(read.length));
    explicit_bzero(text, sizeof text);
    if (!is_key)
        rc = vs_fail(err, VESTA_EOPTION,
                     "the key %.120s must be 16, 24 or 32 bytes in hex or base64: create it with openssl rand -hex 32",
                     path);
    else
        *key = read;
    explicit_bzero(&read, sizeof read);
    return rc;
}

int vs_mask_uuid_key_read(const char *path, uint8_t key[16], struct vesta_error *err) {
    struct vs_mask_key read = {.version = 0};
    int rc = vs_mask_key_read(path, &read, err);
    if (rc == VESTA_OK && read.length != 16)
        rc = vs_fail(err, VESTA_EOPTION, "the key %.120s has %zu bytes, which must be 16: create it with openssl rand -hex 16",
                     path, read.length);
    if (rc == VESTA_OK) memcpy(key, read.bytes, 16);
    explicit_bzero(&read, sizeof read);
    return rc;
}
