/* vectors.c -- the published examples of FF1, of check digits and of uuidv47, by name. */
#include "check.h"
#include "mask/ff1.h"
#include "mask/uuid47.h"
#include "number/check.h"
#include "tls/inside.h"

#include <string.h>

static size_t bytes_of(const char *hex, uint8_t *out) {
    size_t n = 0;
    for (unsigned byte; sscanf(hex + 2 * n, "%2x", &byte) == 1; n++)
        out[n] = (uint8_t)byte;
    return n;
}

/* ------------------------------------------------------------------ FF1 */

static const struct vs_aes aes = {0, vs_aes_key_open, vs_aes_encrypt, vs_aes_key_close};
static const char symbols[] = "0123456789abcdefghijklmnopqrstuvwxyz";

static struct vs_ff1_number number_of(const char *text, unsigned radix) {
    struct vs_ff1_number n = {{0, 0}};
    for (size_t i = 0, u = strlen(text) / 2; text[i]; i++)
        n.half[i >= u] = n.half[i >= u] * radix + (uint64_t)(strchr(symbols, text[i]) - symbols);
    return n;
}

static void text_of(struct vs_ff1_number n, unsigned radix, size_t length, char *text) {
    text[length] = '\0';
    for (size_t i = length; i-- > 0;) {
        uint64_t *half = &n.half[i >= length / 2];
        text[i] = symbols[*half % radix];
        *half /= radix;
    }
}

/* The examples in "FF1 Samples", published by NIST with SP 800-38G:
 * https://csrc.nist.gov/projects/cryptographic-standards-and-guidelines/example-values */
#define NIST_KEY_128 "2B7E151628AED2A6ABF7158809CF4F3C"
#define NIST_KEY_192 NIST_KEY_128 "EF4359D8D580AA4F"
#define NIST_KEY_256 NIST_KEY_192 "7F036D6F04FC6A94"
#define NIST_TWEAK_10 "39383736353433323130"
#define NIST_TWEAK_36 "3737373770717273373737"

static void sample(unsigned radix, const char *key_hex, const char *tweak_hex, const char *plain, const char *masked) {
    uint8_t key_bytes[32], tweak[16];
    char text[32];
    struct vs_aes_key *key = vs_aes_key_open(key_bytes, bytes_of(key_hex, key_bytes));
    struct vs_ff1 ff1;
    struct vs_ff1_opts opts = {radix, (unsigned)strlen(plain), tweak, bytes_of(tweak_hex, tweak)};
    vs_ff1_open(&ff1, &opts, &aes, key);
    struct vs_ff1_number n[VS_FF1_BATCH];
    for (size_t i = 0; i < VS_FF1_BATCH; i++)
        n[i] = number_of(plain, radix);
    vs_ff1_encrypt(&ff1, &aes, key, n, VS_FF1_BATCH);
    for (size_t i = 0; i < VS_FF1_BATCH; i++) {
        text_of(n[i], radix, strlen(plain), text);
        CHECK_STR(text, masked);
    }
    vs_ff1_decrypt(&ff1, &aes, key, n, VS_FF1_BATCH);
    text_of(n[VS_FF1_BATCH - 1], radix, strlen(plain), text);
    CHECK_STR(text, plain);
    vs_aes_key_close(key);
}

#define SAMPLE(n, ...)                                                                                                 \
    static void sample_##n(void) {                                                                                     \
        sample(__VA_ARGS__);                                                                                           \
    }
SAMPLE(1, 10, NIST_KEY_128, "", "0123456789", "2433477484")
SAMPLE(2, 10, NIST_KEY_128, NIST_TWEAK_10, "0123456789", "6124200773")
SAMPLE(3, 36, NIST_KEY_128, NIST_TWEAK_36, "0123456789abcdefghi", "a9tv40mll9kdu509eum")
SAMPLE(4, 10, NIST_KEY_192, "", "0123456789", "2830668132")
SAMPLE(5, 10, NIST_KEY_192, NIST_TWEAK_10, "0123456789", "2496655549")
SAMPLE(6, 36, NIST_KEY_192, NIST_TWEAK_36, "0123456789abcdefghi", "xbj3kv35jrawxv32ysr")
SAMPLE(7, 10, NIST_KEY_256, "", "0123456789", "6657667009")
SAMPLE(8, 10, NIST_KEY_256, NIST_TWEAK_10, "0123456789", "1001623463")
SAMPLE(9, 36, NIST_KEY_256, NIST_TWEAK_36, "0123456789abcdefghi", "xs8a0azh2avyalyzuwd")

/* FIPS 197, appendix C. */
static void fips_197(void) {
    static const char *const keys[] = {"000102030405060708090a0b0c0d0e0f", "000102030405060708090a0b0c0d0e0f1011121314151617",
                                       "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"};
    static const char *const results[] = {"69c4e0d86a7b0430d8cdb78070b4c55a", "dda97ca4864cdfe06eaf70a0ec0d7191",
                                          "8ea2b7ca516745bfeafc49904b496089"};
    for (int i = 0; i < 3; i++) {
        uint8_t bytes[32], block[16], expected[16];
        struct vs_aes_key *key = vs_aes_key_open(bytes, bytes_of(keys[i], bytes));
        bytes_of("00112233445566778899aabbccddeeff", block);
        bytes_of(results[i], expected);
        vs_aes_encrypt(key, block, 1);
        CHECK(memcmp(block, expected, 16) == 0);
        vs_aes_key_close(key);
    }
}

/* ------------------------------------------------------------------ check digits */

static void luhn_of_iso_7812(void) {
    CHECK_EQ_I64(vs_check_luhn("4992739871", 10), '6');
    CHECK_EQ_I64(vs_check_luhn("7992739871", 10), '3');
    CHECK_EQ_I64(vs_check_luhn("411111111111111", 15), '1');
}

static void damm_of_the_thesis(void) {
    CHECK_EQ_I64(vs_check_damm("572", 3), '4');
    CHECK_EQ_I64(vs_check_damm("112946", 6), '0');
}

static void mod97_of_iso_7064(void) {
    CHECK_EQ_I64(vs_check_mod97("794", 3), 44);
    CHECK_EQ_I64(vs_check_mod97("WEST12345698765432GB", 20), 82);
    CHECK_EQ_I64(vs_check_mod97("370400440532013000DE", 20), 89);
}

static void mod11_of_isni(void) {
    CHECK_EQ_I64(vs_check_mod11("000000012146438", 15), 'X');
    CHECK_EQ_I64(vs_check_mod11("0794", 4), '0');
}

/* ------------------------------------------------------------------ uuidv47 */

/* The example of the project's demo.c with the result that its ports print, and results of its header, uuidv47.h. */
static void pairs_of_uuidv47(void) {
    static const char *const pairs[][2] = {
        {"018f2d9f9a2a7def8c3f7b1a2c4d5e6f", "2463c7807fca4def8c3f7b1a2c4d5e6f"},
        {"00000000000070008000000000000000", "22d97126960940008000000000000000"},
        {"ffffffffffff7fffbfffffffffffffff", "92e2af2bee164fffbfffffffffffffff"},
        {"017f22e279b07cc398c4dc0c0c07398f", "ff86d1d879db4cc398c4dc0c0c07398f"},
    };
    uint8_t key[16], uuid[16], before[16], expected[16];
    bytes_of("efcdab89674523011032547698badcfe", key); /* k0 = 0x0123456789abcdef, k1 = 0xfedcba9876543210 */
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        bytes_of(pairs[i][0], uuid), bytes_of(pairs[i][0], before), bytes_of(pairs[i][1], expected);
        vs_uuid47_hide(key, uuid);
        if (memcmp(uuid, expected, 16) != 0) CHECK_FAIL("%s is not shown as %s", pairs[i][0], pairs[i][1]);
        vs_uuid47_show(key, uuid);
        CHECK(memcmp(uuid, before, 16) == 0);
    }
}

static const struct check_case cases[] = {
    {"NIST FF1 sample 1: AES-128, radix 10, no tweak", sample_1},
    {"NIST FF1 sample 2: AES-128, radix 10, tweak 39383736353433323130", sample_2},
    {"NIST FF1 sample 3: AES-128, radix 36, tweak 3737373770717273373737", sample_3},
    {"NIST FF1 sample 4: AES-192, radix 10, no tweak", sample_4},
    {"NIST FF1 sample 5: AES-192, radix 10, tweak 39383736353433323130", sample_5},
    {"NIST FF1 sample 6: AES-192, radix 36, tweak 3737373770717273373737", sample_6},
    {"NIST FF1 sample 7: AES-256, radix 10, no tweak", sample_7},
    {"NIST FF1 sample 8: AES-256, radix 10, tweak 39383736353433323130", sample_8},
    {"NIST FF1 sample 9: AES-256, radix 36, tweak 3737373770717273373737", sample_9},
    {"FIPS 197 appendix C: AES-128, AES-192 and AES-256", fips_197},
    {"ISO/IEC 7812: Luhn", luhn_of_iso_7812},
    {"Damm's thesis: 572 gets 4, and 112946 gets 0", damm_of_the_thesis},
    {"ISO 7064 MOD 97-10: 794 gets 44, and two IBANs", mod97_of_iso_7064},
    {"ISO 7064 MOD 11-2: 0794 gets 0, and an ISNI", mod11_of_isni},
    {"uuidv47: the example of its demo.c, and three more results of its header", pairs_of_uuidv47},
};
CHECK_MAIN(cases)
