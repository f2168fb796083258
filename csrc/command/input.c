/* input.c -- reads ids, numbers and layouts from operands and from stdin, and reports errors in them. */
#include "base/error.h"
#include "command/options.h"
#include "os/secret.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool vs_read_count(const char *text, uint64_t max, uint64_t *out) {
    uint64_t n;
    if (vesta_parse(VESTA_DECIMAL, text, strlen(text), &n) != VESTA_OK || n > max) return false;
    *out = n;
    return true;
}

int vs_read_secret(const char *flag, const char *path, const char **out) {
    static char secret[VS_PASSWORD_MAX];
    struct vesta_error err;
    int rc = vs_secret_of_file(&(struct vs_secret_file){flag, path, true}, secret, sizeof secret, &err);
    if (rc != VESTA_OK) return vs_report(&err);
    *out = secret;
    return VS_GO;
}

static const char *input_what_ids_are(enum vs_notation notation) {
    if (notation == VS_ANY_NOTATION)
        return "decimal digits, 0 to 18446744073709551615, hex (0x..., or 16 digits), base32 (13) or base62 (11), or "
               "a UUID, ULID or TypeID";
    switch (vs_base_of(notation)) {
    case VESTA_HEX: return "hex digits, at most 16";
    case VESTA_BASE32: return "Crockford base32 digits, at most 13";
    case VESTA_BASE62: return "base62 digits, at most 11";
    default: return "decimal digits, 0 to 18446744073709551615";
    }
}

const char *vs_id_trouble(enum vs_notation notation, struct vs_slice text) {
    if (vs_id_is_too_large(notation, text))
        return "it is larger than 64 bits hold, 18446744073709551615 (base32 FZZZZZZZZZZZZ, base62 LygHa16AHYF)";
    if (vs_id_is_rounded(text)) return "it was rounded, and its last digits are lost: export the ids again, as text";
    return input_what_ids_are(notation);
}

static int input_worse(int a, int b) {
    return a > b ? a : b;
}

#define LONE_DIGITS_MIN 15 /* shorter numbers in a line of text are mostly not ids */

/* Takes the id in a text.  If any notation is allowed, the text is a line, and all ids in the line are taken. */
static bool input_take_text(const struct vs_id_input *input, struct vs_slice text, int *code) {
    struct vs_found_id found;
    struct vs_wide_found uuid;
    struct vs_finder finder;
    struct vs_slice word;
    size_t from = 0, count = 0;
    bool reads_wide = input->take_wide && input->notation == VS_ANY_NOTATION;
    if (reads_wide && vs_id_read_wide(text, &uuid)) { /* first, because 26 digits may be a ULID */
        *code = input_worse(*code, input->take_wide(input->self, &uuid));
        return true;
    }
    if (vs_id_read(input->notation, text, &found)) {
        *code = input_worse(*code, input->take(input->self, &found));
        return true;
    }
    if (input->notation != VS_ANY_NOTATION || text.length == 0 || strchr("+-", *text.at)) return false;
    if (vs_id_is_too_large(VS_ANY_NOTATION, text)) return false;
    vs_finder_begin(&finder, VESTA_DECIMAL, LONE_DIGITS_MIN);
    while (vs_finder_next(&finder, text, &from, &word))
        if (vs_id_read(VS_ANY_NOTATION, word, &found)) {
            count++;
            *code = input_worse(*code, input->take(input->self, &found));
        }
    for (from = 0; reads_wide && vs_id_next_wide(text, &from, &uuid); count++)
        *code = input_worse(*code, input->take_wide(input->self, &uuid));
    return count > 0;
}

/* Returns why a text is not an id, as a sentence in err. */
static const char *input_trouble(const struct vs_id_input *input, struct vs_slice text, struct vesta_error *err) {
    const char *uuid = input->take_wide && input->notation == VS_ANY_NOTATION ? vs_id_wide_trouble(text, err) : NULL;
    if (!uuid)
        vs_fail(err, VESTA_EID, "%s is not an id: %s", vs_shown(text.at, text.length),
                vs_id_trouble(input->notation, text));
    return err->text;
}

static int input_each_operand(const struct vs_id_input *input, int count, char **operands) {
    struct vesta_error err;
    int code = VS_DONE;
    for (int i = 0; i < count && !vs_out_gone(); i++) {
        struct vs_slice text = {operands[i], strlen(operands[i])};
        if (!input_take_text(input, text, &code)) code = vs_usage("%s", input_trouble(input, text, &err));
    }
    return code;
}

static bool input_is_space(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Reads one id per line, and ignores blank lines and surrounding spaces. */
static int input_each_line(const struct vs_id_input *input, FILE *in) {
    char *line = NULL;
    size_t size = 0;
    ssize_t n;
    struct vesta_error err;
    int code = VS_DONE;
    for (uint64_t number = 1; !vs_out_gone() && (n = getline(&line, &size, in)) >= 0; number++) {
        char *at = line, *end = line + n;
        while (at < end && input_is_space(*at))
            at++;
        while (end > at && input_is_space(end[-1]))
            end--;
        if (at == end || input_take_text(input, (struct vs_slice){at, (size_t)(end - at)}, &code)) continue;
        vs_say("line %" PRIu64 ": %s", number, input_trouble(input, (struct vs_slice){at, (size_t)(end - at)}, &err));
        code = VS_USAGE;
    }
    if (ferror(in)) {
        vs_say("cannot read stdin: %s", strerror(errno));
        code = input_worse(code, VS_FAILED);
    }
    free(line);
    return code;
}

int vs_each_id(const struct vs_id_input *input, int count, char **operands) {
    if (count == 0) vs_say_waiting("ids from stdin, one per line");
    if (count == 0 || (count == 1 && strcmp(operands[0], "-") == 0)) return input_each_line(input, stdin);
    return input_each_operand(input, count, operands);
}

int vs_read_layout(const char *text, struct vesta_layout *out) {
    struct vesta_error err;
    if (vesta_layout_parse(text ? text : VS_LAYOUT_DEFAULT, out, &err) != VESTA_OK) return vs_report(&err);
    return VS_DONE;
}
