/* wide.c -- ids of 128 bits as text: the vectors of RFC 9562, ULID, TypeID and W3C Trace Context, and rejected
 * texts.  The format of the vectors is described in spec/vectors/uuids.csv. */
#include "id/wide.h"

#include "base/array.h"
#include "tools.h"

#include <ctype.h>

struct wide_vector {
    const char *kind, *name, *text, *bits, *unix_us;
};

/* Calls `test` for each vector of a kind (NULL: all kinds) and returns their count. */
static int each_wide(const char *kind, void (*test)(const struct wide_vector *)) {
    char line[512], *cell[5], *rest;
    int count = 0;
    FILE *file = fopen(SPEC_DIR "/vectors/uuids.csv", "r");
    if (!file) return 0;
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        if (*line == '#' || *line == '\0') continue;
        rest = line;
        for (int i = 0; i < 5; i++)
            cell[i] = strsep(&rest, ",");
        if (kind && strcmp(kind, cell[0]) != 0) continue;
        test(&(struct wide_vector){cell[0], cell[1], cell[2], cell[3], cell[4]});
        count++;
    }
    fclose(file);
    return count;
}

/* The text ends at a page that cannot be read. */
static int read_text(const char *text, struct vs_wide_found *found, struct vesta_error *err) {
    size_t length = strlen(text);
    return vs_wide_read((struct vs_slice){at_wall(text, length), length}, found, err);
}

static enum vs_wide_text text_of_kind(const char *kind) {
    static const char *const kinds[] = {"uuid", "ulid", "hex32", "typeid"};
    for (size_t i = 0; i < VS_COUNT(kinds); i++)
        if (strcmp(kind, kinds[i]) == 0) return (enum vs_wide_text)i;
    return VS_WIDE_TEXTS;
}

static void check_bits(const struct wide_vector *v, struct vs_wide id) {
    char bits[VS_WIDE_TEXT_MAX];
    uint8_t bytes[16];
    vs_wide_write(VS_WIDE_HEX32, id, bits);
    if (strcmp(bits, v->bits) != 0) CHECK_FAIL("%s: got %s, want %s", v->name, bits, v->bits);
    vs_wide_bytes(id, bytes);
    for (int i = 0; i < 16; i++)
        snprintf(bits + i * 2, 3, "%02x", bytes[i]);
    if (strcmp(bits, v->bits) != 0 || vs_wide_compare(vs_wide_of(bytes), id) != 0)
        CHECK_FAIL("%s: its bytes are %s, want %s", v->name, bits, v->bits);
}

static void vector_is_read(const struct wide_vector *v) {
    struct vs_wide_found found = {0};
    struct vesta_error err;
    int64_t unix_us = -1;
    if (strncmp(v->kind, "bad", 3) == 0) return;
    int rc = strcmp(v->kind, "typeid") == 0 ? vs_typeid_read((struct vs_slice){v->text, strlen(v->text)}, &found, &err)
                                            : read_text(v->text, &found, &err);
    if (rc != VESTA_OK) CHECK_FAIL("%s: %s", v->name, err.text);
    check_bits(v, found.id);
    rc = vs_wide_time_us(&found, &unix_us, &err);
    if ((rc == VESTA_OK) != (*v->unix_us != '-')) CHECK_FAIL("%s: the time is %s", v->name, rc ? err.text : "known");
    if (rc == VESTA_OK) CHECK_EQ_I64(unix_us, strtoll(v->unix_us, NULL, 10));
}

static void published_texts_are_read(void) {
    CHECK(each_wide(NULL, vector_is_read) > 70);
}

static void vector_is_written(const struct wide_vector *v) {
    enum vs_wide_text text = text_of_kind(v->kind);
    struct vs_wide_found found;
    char want[128], got[VS_WIDE_TEXT_MAX];
    if (text == VS_WIDE_TEXTS) return;
    CHECK_EQ_I64(read_text(v->bits, &found, NULL), VESTA_OK);
    snprintf(want, sizeof want, "%s", v->text);
    for (char *c = want; *c && text == VS_WIDE_UUID; c++)
        *c = (char)tolower((unsigned char)*c);
    size_t prefix = strlen(want) > 26 ? strlen(want) - 27 : 0;
    size_t length = text == VS_WIDE_TYPEID ? vs_typeid_write((struct vs_slice){want, prefix}, found.id, got)
                                           : vs_wide_write(text, found.id, got);
    CHECK_EQ_U64(length, strlen(got));
    CHECK_STR(got, want);
}

static void published_texts_are_written(void) {
    CHECK(each_wide(NULL, vector_is_written) > 70);
}

static void prefix_is_returned(const struct wide_vector *v) {
    struct vs_wide_found found;
    size_t length = strlen(v->text);
    NEED(vs_typeid_read((struct vs_slice){v->text, length}, &found, NULL) == VESTA_OK);
    CHECK_EQ_U64(found.prefix.length, length > 26 ? length - 27 : 0);
    if (found.prefix.length > 0) CHECK(found.prefix.at == v->text);
}

static void typeids_have_their_prefixes(void) {
    CHECK(each_wide("typeid", prefix_is_returned) == 15);
}

static void vector_is_rejected(const struct wide_vector *v) {
    struct vs_wide_found found = {.text = VS_WIDE_TEXTS};
    struct vesta_error err = {0};
    int rc = read_text(v->text, &found, &err);
    if (rc != VESTA_EID || found.text != VS_WIDE_TEXTS) CHECK_FAIL("%s: '%s' is accepted", v->name, v->text);
    if (!strstr(err.text, " is not a ")) CHECK_FAIL("%s: %s", v->name, err.text);
}

static void vector_is_no_typeid(const struct wide_vector *v) {
    struct vs_wide_found found = {.text = VS_WIDE_TEXTS};
    int rc = vs_typeid_read((struct vs_slice){v->text, strlen(v->text)}, &found, NULL);
    if (rc != VESTA_EID || found.text != VS_WIDE_TEXTS) CHECK_FAIL("%s: '%s' is accepted", v->name, v->text);
}

static void bad_texts_are_rejected(void) {
    CHECK(each_wide("bad", vector_is_rejected) > 40);
    CHECK(each_wide("bad", vector_is_no_typeid) > 40);
    CHECK(each_wide("bad_typeid", vector_is_no_typeid) == 1);
}

static void random_ids_come_back(void) {
    struct vs_slice prefix = {"line_item", 9};
    uint64_t dice = 28;
    for (int i = 0; i < 100000; i++) {
        struct vs_wide id = {roll(&dice) >> roll_below(&dice, 64), roll(&dice) >> roll_below(&dice, 64)};
        struct vs_wide_found found;
        char text[VS_WIDE_TEXT_MAX];
        for (int form = 0; form < VS_WIDE_TEXTS; form++) {
            size_t length = form == VS_WIDE_TYPEID ? vs_typeid_write(prefix, id, text)
                                                   : vs_wide_write((enum vs_wide_text)form, id, text);
            if (strlen(text) != length || read_text(text, &found, NULL) != VESTA_OK || (int)found.text != form ||
                vs_wide_compare(found.id, id) != 0)
                CHECK_FAIL("'%s' is not read back", text);
        }
    }
}

static void texts_sort_as_ids(void) {
    uint64_t dice = 29;
    for (int i = 0; i < 20000; i++) {
        struct vs_wide a = {roll(&dice), roll(&dice)}, b = {roll_below(&dice, 2) ? a.high : roll(&dice), roll(&dice)};
        char ta[VS_WIDE_TEXT_MAX], tb[VS_WIDE_TEXT_MAX];
        for (int form = 0; form < VS_WIDE_TEXTS; form++) {
            vs_wide_write((enum vs_wide_text)form, a, ta), vs_wide_write((enum vs_wide_text)form, b, tb);
            if ((vs_wide_compare(a, b) < 0) != (strcmp(ta, tb) < 0)) CHECK_FAIL("%s and %s", ta, tb);
        }
    }
}

/* Replaces each byte of a text by each byte.  The text is accepted only if the byte is a digit, or a hyphen that was
 * one before. */
static void one_wrong_byte_anywhere(void) {
    static const struct {
        const char *text, *digits;
    } kinds[] = {
        {"017f22e2-79b0-7cc3-98c4-dc0c0c07398f", "0123456789abcdefABCDEF"},
        {"01ARZ3NDEKTSV4RRFFQ69G5FAV", "0123456789ABCDEFGHJKMNPQRSTVWXYZabcdefghjkmnpqrstvwxyz"},
        {"4bf92f3577b34da6a3ce929d0e0e4736", "0123456789abcdefABCDEF"},
        {"prefix_01h455vb4pex5vsknk084sn02q", NULL},
    };
    for (size_t k = 0; k < VS_COUNT(kinds); k++)
        for (size_t at = 0; kinds[k].text[at]; at++)
            for (int byte = 0; byte < 256; byte++) {
                char text[64];
                size_t length = (size_t)snprintf(text, sizeof text, "%s", kinds[k].text);
                const char *digits = kinds[k].digits ? kinds[k].digits : "0123456789abcdefghjkmnpqrstvwxyz";
                struct vs_wide_found found;
                char before = text[at];
                text[at] = (char)byte;
                bool is_digit = byte && strchr(digits, byte), is_first = kinds[k].digits ? at == 0 : at == 7;
                bool want = before == '-' || before == '_' ? byte == before : is_digit;
                if (k == 1 && byte == '_') want = false; /* a TypeID without a prefix or with a short suffix */
                if (length != 36 && length != 32 && is_first) want = want && byte <= '7';
                if (k == 3 && at < 6) want = (byte >= 'a' && byte <= 'z') || (byte == '_' && at > 0 && at < 5);
                bool is_read = vs_wide_read((struct vs_slice){at_wall(text, length), length}, &found, NULL) == VESTA_OK;
                if (is_read != want) CHECK_FAIL("'%s' is %s", text, is_read ? "accepted" : "rejected");
            }
}

static void messages_name_the_value(void) {
    static const struct {
        const char *text, *parts[3];
    } bad[] = {
        {"017f22e2-79b0-7cc3-98c4-dc0c0c07398", {"'017f22e2-79b0-7cc3-98c4-dc0c0c07398'", "8-4-4-4-12", "such as"}},
        {"hello", {"'hello'", "5 characters", "A UUID has 36"}},
        {"80000000000000000000000000", {"'80000000000000000000000000'", "ULID", "must be 0 to 7"}},
        {"PREFIX_00000000000000000000000000", {"'PREFIX_00000000000000000000000000'", "'PREFIX'", "a to z and _"}},
        {"a__00000000000000000000000000", {"'a_'", "must begin and end with a letter", "such as order"}},
        {"order_0123", {"'order_0123'", "'0123'", "26 characters"}},
        {"order_01H455VB4PEX5VSKNK084SN02Q", {"'01H455VB4PEX5VSKNK084SN02Q'", "lower case", "suffix"}},
        {"\x1b[31m", {"'\\x1b[31m'", "5 characters", "is not"}},
    };
    for (size_t i = 0; i < VS_COUNT(bad); i++) {
        struct vs_wide_found found;
        struct vesta_error err = {0};
        CHECK_EQ_I64(read_text(bad[i].text, &found, &err), VESTA_EID);
        for (int p = 0; p < 3; p++)
            CHECK_HAS(err.text, bad[i].parts[p]);
    }
}

static void messages_about_times(void) {
    static const struct {
        const char *text, *part;
    } bad[] = {
        {"919108f7-52d1-4320-9bac-f847db4148a8", "its version is 4"},
        {"2489e9ad-2ee2-8e00-8ec9-32d5f69181c0", "its version is 8"},
        {"017f22e2-79b0-7cc3-18c4-dc0c0c07398f", "its variant bits are 00"},
        {"017f22e2-79b0-7cc3-d8c4-dc0c0c07398f", "its variant bits are 11"},
    };
    for (size_t i = 0; i < VS_COUNT(bad); i++) {
        struct vs_wide_found found;
        struct vesta_error err = {0};
        int64_t unix_us = 77;
        NEED(read_text(bad[i].text, &found, NULL) == VESTA_OK);
        CHECK_EQ_I64(vs_wide_time_us(&found, &unix_us, &err), VESTA_EID);
        CHECK_EQ_I64(unix_us, 77);
        CHECK_HAS(err.text, bad[i].text);
        CHECK_HAS(err.text, bad[i].part);
        CHECK_HAS(err.text, "version 1, 6 or 7");
    }
}

static void prefixes(void) {
    static const struct {
        const char *prefix, *part;
    } bad[] = {
        {"abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijkl", "more than 63"},
        {"order1", "a to z and _"},
        {"Order", "a to z and _"},
        {"or-der", "a to z and _"},
        {"_order", "begin and end with a letter"},
        {"order_", "begin and end with a letter"},
        {"_", "begin and end with a letter"},
    };
    struct vesta_error err = {0};
    CHECK_EQ_I64(vs_typeid_check((struct vs_slice){"", 0}, NULL), VESTA_OK);
    CHECK_EQ_I64(vs_typeid_check((struct vs_slice){"a__b", 4}, NULL), VESTA_OK);
    CHECK_EQ_I64(vs_typeid_check((struct vs_slice){bad[0].prefix, 63}, NULL), VESTA_OK);
    for (size_t i = 0; i < VS_COUNT(bad); i++) {
        CHECK_EQ_I64(vs_typeid_check((struct vs_slice){bad[i].prefix, strlen(bad[i].prefix)}, &err), VESTA_EFIELD);
        CHECK_HAS(err.text, bad[i].part);
        CHECK_HAS(err.text, "such as order");
    }
}

static void public_functions(void) {
    static const char text[] = "01890a5d-ac96-774b-bcce-b302099a8057";
    unsigned char uuid[VESTA_UUID_BYTES], again[VESTA_UUID_BYTES];
    char buf[VESTA_UUID_TEXT_MAX];
    struct vesta_error err = {0};
    int64_t unix_us = 77;
    NEED(vesta_uuid_parse(text, sizeof text - 1, uuid, &err) == VESTA_OK);
    CHECK_EQ_U64(vesta_uuid_format(VESTA_UUID7, uuid, buf), 36);
    CHECK_STR(buf, text);
    CHECK_EQ_U64(vesta_uuid_format(VESTA_ULID, uuid, buf), 26);
    CHECK_STR(buf, "01H455VB4PEX5VSKNK084SN02Q");
    CHECK_EQ_U64(vesta_uuid_format(VESTA_HEX32, uuid, buf), 32);
    CHECK_STR(buf, "01890a5dac96774bbcceb302099a8057");
    CHECK_EQ_I64(vesta_typeid_format("prefix", uuid, buf, &err), VESTA_OK);
    CHECK_STR(buf, "prefix_01h455vb4pex5vsknk084sn02q");
    CHECK_EQ_I64(vesta_uuid_parse(buf, strlen(buf), again, &err), VESTA_OK);
    CHECK(memcmp(uuid, again, sizeof uuid) == 0);
    CHECK_EQ_I64(vesta_typeid_format("Prefix", uuid, buf, &err), VESTA_EFIELD);
    CHECK_EQ_I64(vesta_uuid_parse("x", 1, again, &err), VESTA_EID);
    CHECK_EQ_I64(vesta_uuid_unix_us(uuid, &unix_us, &err), VESTA_OK);
    CHECK_EQ_I64(unix_us, INT64_C(1688096058518000));
    uuid[6] = 0x47;
    CHECK_EQ_I64(vesta_uuid_unix_us(uuid, &unix_us, &err), VESTA_EID);
    CHECK_HAS(err.text, "its version is 4");
}

static const struct check_case cases[] = {
    {"vesta_uuid_format, vesta_typeid_format, vesta_uuid_parse and vesta_uuid_unix_us", public_functions},
    {"the vectors of RFC 9562, ULID, TypeID and Trace Context are read, with their times", published_texts_are_read},
    {"the bits of the vectors are written as their texts", published_texts_are_written},
    {"the TypeIDs of valid.yml have their prefixes", typeids_have_their_prefixes},
    {"the texts of TypeID's invalid.yml and other bad texts are rejected, and set nothing", bad_texts_are_rejected},
    {"100,000 random ids are written in four forms and read back", random_ids_come_back},
    {"texts sort as ids do", texts_sort_as_ids},
    {"any byte that may not be at a place is rejected there", one_wrong_byte_anywhere},
    {"messages name the value and the expected form", messages_name_the_value},
    {"a UUID without a time is rejected with its version or variant", messages_about_times},
    {"prefixes of 64 characters, with digits, upper case or outer underscores are rejected", prefixes},
};
CHECK_MAIN(cases)
