/* mask.c -- masks: every number of small sets, key versions, limits, wrong texts, and key files.
 *
 *     spec_mask_mask DIGITS     counts FF1 of all numbers with that many digits instead (9: a billion, prove_mask) */
#include "check.h"
#include "mask/ff1.h"
#include "mask/mask.h"
#include "tls/inside.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The spec is linked with the module's sources, so that it need not find the module's file. */
static const struct vs_aes aes = {0, vs_aes_key_open, vs_aes_encrypt, vs_aes_key_close};
const struct vs_aes *vs_aes_find(struct vesta_error *err) {
    (void)err;
    return &aes;
}

static const struct vs_mask_key keys[] = {{.version = 0, .length = 16, .bytes = "a key of 16 byte"},
                                          {.version = 1, .length = 32, .bytes = "a key of 32 bytes, and 31 more."},
                                          {.version = 2, .length = 24, .bytes = "a key of 24 bytes.. 123"}};

static struct vs_mask *open_mask(struct vs_mask_opts opts) {
    struct vs_mask *mask = NULL;
    struct vesta_error err = {.text = ""};
    if (!opts.name) opts.name = "orders";
    if (!opts.key) opts.key = keys, opts.key_count = 1;
    opts.threads = 2;
    if (vs_mask_open(&opts, &mask, &err) != VESTA_OK) CHECK_FAIL("%s", err.text);
    return mask;
}

static char *shown(const struct vs_mask *mask, uint64_t number, char text[VS_MASK_TEXT_MAX]) {
    struct vesta_error err = {.text = ""};
    if (vs_mask_write(mask, 0, &number, 1, text, &err) != VESTA_OK) CHECK_FAIL("%s", err.text);
    text[vs_mask_length(mask)] = '\0';
    return text;
}

/* Returns the number of the text, or UINT64_MAX. */
static uint64_t back(const struct vs_mask *mask, const char *text, int *version) {
    struct vesta_error err = {.text = ""};
    uint64_t number = UINT64_MAX;
    int v = -1;
    (void)vs_mask_read(mask, 1, text, strlen(text), &number, &v, &err);
    if (version) *version = v;
    return number;
}

/* ------------------------------------------------------------------ all numbers of a set */

static uint64_t value_of(const char *text, size_t length, unsigned radix) {
    static const char symbols[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    uint64_t value = 0;
    for (size_t i = 0; i < length; i++)
        value = value * radix + (uint64_t)(strchr(symbols, text[i]) - symbols);
    return value;
}

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define PART 16 /* sanitizers need no complete count */
#else
#define PART 1
#endif

/* Writes all numbers below `count` in batches.  Counts texts above them, texts that occurred before, and texts that are
 * read as another number.  Reads the text of every `step`th number. */
struct counted {
    uint64_t above, again, wrong;
};
static struct counted count_all(const struct vs_mask_opts *opts, unsigned radix, uint64_t count, size_t step) {
    enum { ROW = 1000 };
    static uint64_t numbers[ROW];
    static char texts[ROW * VS_MASK_TEXT_MAX];
    struct counted counted = {0, 0, 0};
    struct vs_mask *mask = open_mask(*opts);
    size_t length = vs_mask_length(mask);
    uint8_t *seen = calloc(count / 8 + 1, 1);
    for (uint64_t from = 0; from < count / PART; from += ROW) {
        size_t n = count - from < ROW ? (size_t)(count - from) : ROW;
        for (size_t i = 0; i < n; i++)
            numbers[i] = from + i;
        if (vs_mask_write(mask, 0, numbers, n, texts, NULL) != VESTA_OK) counted.wrong += n;
        for (size_t i = 0; i < n; i++) {
            const char *text = texts + i * length;
            uint64_t value = value_of(text, length, radix), number = 0;
            int version;
            if (value >= count) {
                counted.above++;
                continue;
            }
            counted.again += seen[value / 8] >> (value % 8) & 1;
            seen[value / 8] |= (uint8_t)(1 << (value % 8));
            if (numbers[i] % step != 0) continue;
            int rc = vs_mask_read(mask, 1, text, length, &number, &version, NULL);
            counted.wrong += rc != VESTA_OK || number != numbers[i] || version != 0;
        }
    }
    free(seen);
    vs_mask_close(mask);
    return counted;
}

static void need_all(const struct vs_mask_opts *opts, unsigned radix, uint64_t count, size_t step) {
    struct counted counted = count_all(opts, radix, count, step);
    CHECK_EQ_U64(counted.above, 0);
    CHECK_EQ_U64(counted.again, 0);
    CHECK_EQ_U64(counted.wrong, 0);
}

static void six_digits(void) {
    need_all(&(struct vs_mask_opts){.digits = 6}, 10, 1000000, 1);
}

static void four_characters(void) {
    need_all(&(struct vs_mask_opts){.digits = 4, .alphabet = VS_MASK_BASE32}, 32, 1 << 20, 64);
}

static void wanted_range(void) {
    need_all(&(struct vs_mask_opts){.digits = 4, .alphabet = VS_MASK_BASE32, .max = 1000006}, 32, 1000007, 64);
}

/* ------------------------------------------------------------------ keys */

static const struct vs_mask_opts with_three = {.digits = 8, .check = VS_MASK_LUHN, .key_count = 3};

/* Opens a mask that writes with the key `first` and reads with all keys. */
static struct vs_mask *open_rotated(int first) {
    struct vs_mask_key order[3];
    struct vs_mask_opts opts = with_three;
    for (int i = 0; i < 3; i++)
        order[i] = keys[(first + i) % 3];
    opts.key = order;
    return open_mask(opts);
}

static void every_version_is_read(void) {
    for (int writer = 0; writer < 3; writer++)
        for (int reader = 0; reader < 3; reader++) {
            struct vs_mask *from = open_rotated(writer), *to = open_rotated(reader);
            char text[VS_MASK_TEXT_MAX];
            int version = -1;
            for (uint64_t number = 0; number < 2000; number++) {
                CHECK_EQ_U64(back(to, shown(from, number * 49999, text), &version), number * 49999);
                CHECK_EQ_I64(version, keys[writer].version);
            }
            vs_mask_close(from), vs_mask_close(to);
        }
}

/* Writes 20,000 numbers with each key: if two texts were equal, one of them would be read as the other's number. */
static void versions_share_no_text(void) {
    char text[VS_MASK_TEXT_MAX];
    for (int writer = 0; writer < 3; writer++) {
        struct vs_mask *mask = open_rotated(writer);
        int version = keys[writer].version;
        for (uint64_t number = 0; number < 20000; number++) {
            shown(mask, number, text);
            bool is_own = version == 0 ? strlen(text) == 9 : strlen(text) == 10 && text[0] == '0' + version;
            if (!is_own) CHECK_FAIL("%s was written with version %d", text, version);
        }
        vs_mask_close(mask);
    }
}

static void unknown_version(void) {
    char text[VS_MASK_TEXT_MAX];
    struct vs_mask_opts opts = with_three;
    opts.key = &keys[1], opts.key_count = 1;
    struct vs_mask *one = open_mask(opts);
    opts.key = &keys[2];
    struct vs_mask *two = open_mask(opts);
    CHECK_EQ_U64(back(two, shown(one, 421, text), NULL), UINT64_MAX);
    vs_mask_close(one), vs_mask_close(two);
}

static void names_differ(void) {
    static const struct vs_mask_opts rows[] = {{.digits = 10, .name = "orders"},
                                               {.digits = 10, .name = "invoices"},
                                               {.digits = 10, .name = "orders", .is_counter = true},
                                               {.digits = 10, .name = "orders", .key = &keys[1], .key_count = 1}};
    char text[4][VS_MASK_TEXT_MAX];
    for (int i = 0; i < 4; i++) {
        struct vs_mask *mask = open_mask(rows[i]);
        shown(mask, 421, text[i]);
        for (int k = 0; k < i; k++)
            CHECK(strcmp(text[i], text[k]) != 0);
        vs_mask_close(mask);
    }
}

/* ------------------------------------------------------------------ texts */

static void sixty_four_bits(void) {
    static const uint64_t numbers[] = {0, 1, UINT64_C(1) << 63, UINT64_MAX - 1, UINT64_MAX};
    static const struct vs_mask_opts rows[] = {
        {.digits = 20}, {.digits = 20, .max = UINT64_MAX}, {.digits = 13, .alphabet = VS_MASK_BASE32}};
    char text[VS_MASK_TEXT_MAX];
    for (int row = 0; row < 3; row++) {
        struct vs_mask *mask = open_mask(rows[row]);
        for (int i = 0; i < 5; i++)
            CHECK_EQ_U64(back(mask, shown(mask, numbers[i], text), NULL), numbers[i]);
        CHECK_EQ_U64(strlen(text), (uint64_t)rows[row].digits);
        vs_mask_close(mask);
    }
}

struct thread_of {
    const struct vs_mask *mask;
    int place;
    uint64_t wrong;
};

static void *write_and_read(void *arg) {
    struct thread_of *self = arg;
    char text[VS_MASK_TEXT_MAX];
    size_t length = vs_mask_length(self->mask);
    for (uint64_t number = 0; number < 20000; number++) {
        uint64_t read = 0;
        int version, rc = vs_mask_write(self->mask, self->place, &number, 1, text, NULL);
        if (rc == VESTA_OK) rc = vs_mask_read(self->mask, self->place, text, length, &read, &version, NULL);
        self->wrong += rc != VESTA_OK || read != number;
    }
    return NULL;
}

static void two_threads(void) {
    struct vs_mask *mask = open_mask((struct vs_mask_opts){.digits = 10, .check = VS_MASK_DAMM});
    struct thread_of of[2] = {{mask, 0, 0}, {mask, 1, 0}};
    pthread_t thread[2];
    for (int i = 0; i < 2; i++)
        NEED(pthread_create(&thread[i], NULL, write_and_read, &of[i]) == 0);
    for (int i = 0; i < 2; i++) {
        pthread_join(thread[i], NULL);
        CHECK_EQ_U64(of[i].wrong, 0);
    }
    vs_mask_close(mask);
}

static void too_large(void) {
    struct vs_mask *mask = open_mask((struct vs_mask_opts){.digits = 10});
    struct vesta_error err = {.text = ""};
    uint64_t numbers[] = {9999999999, 10000000000};
    char text[2 * VS_MASK_TEXT_MAX];
    CHECK_EQ_I64(vs_mask_write(mask, 0, numbers, 1, text, &err), VESTA_OK);
    CHECK_EQ_I64(vs_mask_write(mask, 0, numbers, 2, text, &err), VESTA_EFIELD);
    CHECK_STR(err.text, "a number exceeds 9999999999, the last number of its mask: use a counter with more digits");
    vs_mask_close(mask);
}

static void as_people_type(void) {
    struct vs_mask *mask =
        open_mask((struct vs_mask_opts){.digits = 8, .alphabet = VS_MASK_BASE32, .check = VS_MASK_ISO7064});
    char text[VS_MASK_TEXT_MAX];
    for (uint64_t number = 0; number < 200; number++) {
        shown(mask, number, text);
        for (char *c = text; *c; c++)
            *c = (char)(*c == '1' ? 'l' : *c == '0' ? 'o' : *c >= 'A' && *c <= 'Z' ? *c | ' ' : *c);
        CHECK_EQ_U64(back(mask, text, NULL), number);
    }
    vs_mask_close(mask);
}

/* Changes each digit to every other digit, and swaps neighbors. */
static void wrong_digits(void) {
    static const enum vs_mask_check checks[] = {VS_MASK_LUHN, VS_MASK_DAMM, VS_MASK_ISO7064};
    uint64_t missed[VS_MASK_ISO7064 + 1] = {0}, swapped[VS_MASK_ISO7064 + 1] = {0};
    for (int c = 0; c < 3; c++) {
        struct vs_mask *mask = open_mask((struct vs_mask_opts){.digits = 10, .check = checks[c]});
        char text[VS_MASK_TEXT_MAX];
        for (uint64_t number = 0; number < 100; number++) {
            shown(mask, number, text);
            for (size_t i = 0; text[i]; i++) {
                char right = text[i];
                for (text[i] = '0'; text[i] <= '9'; text[i]++)
                    missed[checks[c]] += text[i] != right && back(mask, text, NULL) != UINT64_MAX;
                text[i] = right;
                if (!text[i + 1] || text[i + 1] == right) continue;
                text[i] = text[i + 1], text[i + 1] = right;
                swapped[checks[c]] += back(mask, text, NULL) != UINT64_MAX;
                text[i + 1] = text[i], text[i] = right;
            }
        }
        vs_mask_close(mask);
    }
    for (int c = 0; c < 3; c++)
        CHECK_EQ_U64(missed[checks[c]], 0);
    CHECK(swapped[VS_MASK_LUHN] > 0 && swapped[VS_MASK_LUHN] < 60); /* 09 and 90 are swapped unnoticed */
    CHECK_EQ_U64(swapped[VS_MASK_DAMM], 0);
    CHECK_EQ_U64(swapped[VS_MASK_ISO7064], 0);
}

static void no_texts(void) {
    static const struct {
        const char *text, *why;
    } rows[] = {
        {"", "has 0 characters"},
        {"123456789", "has 9 characters"},
        {"12345678901", "begins with key version 1, which mask.secret_file does not list"},
        {"02345678901", "has 11 characters"},
        {"12345678x0", "must consist of decimal digits"},
        {"-123456789", "must consist of decimal digits"},
        {"123456789012345678901234567890", "has 30 characters"},
        {"4294967295", "is larger than the mask's max, 4000000000"},
    };
    struct vs_mask *mask = open_mask((struct vs_mask_opts){.digits = 10, .max = 4000000000});
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct vesta_error err = {.text = ""};
        uint64_t number;
        int version;
        int rc = vs_mask_read(mask, 0, rows[i].text, strlen(rows[i].text), &number, &version, &err);
        CHECK_EQ_I64(rc, VESTA_EID);
        if (!strstr(err.text, rows[i].why)) CHECK_FAIL("'%s': %s", rows[i].text, err.text);
    }
    vs_mask_close(mask);
}

static void wrong_options(void) {
    static const struct {
        struct vs_mask_opts opts;
        const char *why, *key;
    } rows[] = {
        {{.digits = 5}, "has 5 decimal digits, which must be 6 to 20", "digits"},
        {{.digits = 21}, "has 21 decimal digits, which must be 6 to 20", "digits"},
        {{.digits = 3, .alphabet = VS_MASK_BASE32}, "has 3 base32 characters, which must be 4 to 13", "digits"},
        {{.digits = 14, .alphabet = VS_MASK_BASE32}, "has 14 base32 characters, which must be 4 to 13", "digits"},
        {{.digits = 8, .alphabet = VS_MASK_BASE32, .check = VS_MASK_LUHN},
         "is for decimal digits only: use check = \"iso7064\" with base32",
         "check"},
        {{.digits = 10, .max = 10000000000},
         "is 10000000000, which 10 decimal digits cannot show: use at most 9999999999",
         "max"},
        {{.digits = 10, .max = 999999999},
         "is 999999999, which must be at least 1000000000: use fewer digits, or a larger max",
         "max"},
        {{.digits = 6, .max = 999998},
         "is 999998, which must be at least 999999: use fewer digits, or a larger max",
         "max"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct vesta_error err = {.text = ""};
        const char *key = NULL;
        CHECK_EQ_I64(vs_mask_check(&rows[i].opts, &key, &err), VESTA_EOPTION);
        CHECK_STR(err.text, rows[i].why);
        CHECK_STR(key, rows[i].key);
    }
}

/* ------------------------------------------------------------------ key files */

#define HEX16 "000102030405060708090a0b0c0d0e0f"

static int read_key(const char *text, mode_t mode, struct vs_mask_key *key, struct vesta_error *err) {
    char path[64];
    snprintf(path, sizeof path, "/tmp/spec_mask.%d", (int)getpid());
    FILE *file = fopen(path, "w");
    fputs(text, file);
    fclose(file);
    chmod(path, mode);
    int rc = vs_mask_key_read(path, key, err);
    unlink(path);
    return rc;
}

static void good_key_files(void) {
    static const struct {
        const char *text;
        size_t length;
    } rows[] = {{HEX16 "\n", 16},
                {HEX16 "1011121314151617", 24},
                {HEX16 "101112131415161718191A1B1C1D1E1F\r\n", 32},
                {"AAECAwQFBgcICQoLDA0ODw==\n", 16},
                {"AAECAwQFBgcICQoLDA0ODxAREhMUFRYX\n", 24},
                {"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n", 32}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct vs_mask_key key = {.version = 3};
        struct vesta_error err = {.text = ""};
        CHECK_EQ_I64(read_key(rows[i].text, 0640, &key, &err), VESTA_OK);
        CHECK_EQ_U64(key.length, rows[i].length);
        CHECK_EQ_I64(key.version, 3);
        for (size_t b = 0; b < key.length; b++)
            CHECK_EQ_U64(key.bytes[b], b);
    }
}

static void bad_key_files(void) {
    static const struct {
        const char *text;
        mode_t mode;
        const char *why;
    } rows[] = {
        {HEX16 "10", 0600, "must be 16, 24 or 32 bytes in hex or base64: create it with openssl rand -hex 32"},
        {"0001", 0600, "must be 16, 24 or 32 bytes"},
        {HEX16 HEX16 HEX16, 0600, "must be 16, 24 or 32 bytes"},
        {"a password that a person chose...", 0600, "must be 16, 24 or 32 bytes"},
        {"AAECAwQFBgcICQoLDA0ODx==\n", 0600, "must be 16, 24 or 32 bytes"},
        {"", 0600, "the file must have only one line"},
        {HEX16 "\n" HEX16 "\n", 0600, "the file must have only one line"},
        {HEX16, 0604, "other users may read"},
        {HEX16, 0602, "other users may write"},
    };
    struct vs_mask_key key = {.version = 0};
    struct vesta_error err = {.text = ""};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CHECK(read_key(rows[i].text, rows[i].mode, &key, &err) != VESTA_OK);
        if (!strstr(err.text, rows[i].why)) CHECK_FAIL("%zu: %s", i, err.text);
    }
    CHECK_EQ_I64(vs_mask_key_read("/nowhere/a.key", &key, &err), VESTA_EIO);
    CHECK_STR(err.text, "cannot read the key /nowhere/a.key: No such file or directory");
    CHECK_EQ_U64(key.length, 0);
}

static const struct check_case cases[] = {
    {"all numbers of 6 digits have different texts, which are read back", six_digits},
    {"all numbers of 4 base32 characters have different texts, which are read back", four_characters},
    {"with max, all numbers up to max have different texts up to max, which are read back", wanted_range},
    {"numbers of every key are read by every mask that lists the key", every_version_is_read},
    {"the length and the first digit of a text show its key", versions_share_no_text},
    {"a text of a key that is not listed is rejected", unknown_version},
    {"names, namespaces and counters, and keys have different texts", names_differ},
    {"numbers of 64 bits have texts", sixty_four_bits},
    {"two threads write and read at once", two_threads},
    {"a number that exceeds the mask is an error", too_large},
    {"base32 is read in lower case, with l and o for 1 and 0", as_people_type},
    {"check digits detect each wrong digit, and Damm and ISO 7064 detect swapped neighbors", wrong_digits},
    {"other texts are rejected with a reason", no_texts},
    {"wrong options are rejected with a reason", wrong_options},
    {"keys of 16, 24 and 32 bytes are read as hex and base64", good_key_files},
    {"wrong, missing and exposed key files are rejected with a reason", bad_key_files},
};

/* Encrypts all numbers with that many digits in batches, and decrypts them again. */
static struct counted count_ff1(unsigned digits, uint64_t count) {
    struct counted counted = {0, 0, 0};
    struct vs_aes_key *key = vs_aes_key_open(keys[1].bytes, keys[1].length);
    uint8_t *seen = calloc(count / 8 + 1, 1);
    struct vs_ff1 ff1;
    vs_ff1_open(&ff1, &(struct vs_ff1_opts){.radix = 10, .digits = digits}, &aes, key);
    for (uint64_t from = 0; from < count; from += VS_FF1_BATCH) {
        struct vs_ff1_number n[VS_FF1_BATCH];
        for (uint64_t i = 0; i < VS_FF1_BATCH; i++)
            n[i] = (struct vs_ff1_number){{(from + i) / ff1.count[1], (from + i) % ff1.count[1]}};
        vs_ff1_encrypt(&ff1, &aes, key, n, VS_FF1_BATCH);
        for (uint64_t i = 0; i < VS_FF1_BATCH; i++) {
            uint64_t value = n[i].half[0] * ff1.count[1] + n[i].half[1];
            counted.above += value >= count;
            if (value >= count) continue;
            counted.again += seen[value / 8] >> (value % 8) & 1;
            seen[value / 8] |= (uint8_t)(1 << (value % 8));
        }
        vs_ff1_decrypt(&ff1, &aes, key, n, VS_FF1_BATCH);
        for (uint64_t i = 0; i < VS_FF1_BATCH; i++)
            counted.wrong += n[i].half[0] * ff1.count[1] + n[i].half[1] != from + i;
    }
    free(seen);
    vs_aes_key_close(key);
    return counted;
}

int main(int argc, char **argv) {
    unsigned digits = argc == 2 ? (unsigned)atoi(argv[1]) : 0;
    if (digits < 6) return check_main(cases, sizeof cases / sizeof *cases, argc > 1 ? argv[1] : NULL);
    uint64_t count = 1;
    for (unsigned i = 0; i < digits; i++)
        count *= 10;
    struct counted c = count_ff1(digits, count); /* a multiple of VS_FF1_BATCH */
    printf("%" PRIu64 " numbers: %" PRIu64 " results occurred before, %" PRIu64 " are too large, %" PRIu64
           " are decrypted to another number\n",
           count, c.again, c.above, c.wrong);
    return c.again + c.above + c.wrong > 0;
}
