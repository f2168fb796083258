/* plain.c -- vesta_plain.h: the functions of vesta.h without structs, for languages that call C through an FFI. */
#include "base/error.h"
#include "base/slice.h"
#include "vesta_plain.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

_Static_assert(VESTA_ANSWER_MAX >= 1024 + VESTA_LAYOUT_TEXT_MAX + 2 * 256 /* path, identity */ + 1024 /* store */
                                       + sizeof((struct vesta_info *)0)->keeper +
                                       sizeof((struct vesta_info *)0)->warning,
               "an answer has room for every member of vesta_info");

/* An answer that is being written. */
struct plain_answer {
    char *buf;
    size_t used;
};

static struct plain_answer plain_begin(char *buf) {
    buf[0] = '\0';
    return (struct plain_answer){.buf = buf};
}

/* Adds a line.  A line that does not fit is truncated. */
__attribute__((format(printf, 3, 4))) static void plain_put(struct plain_answer *answer, const char *name,
                                                            const char *format, ...) {
    char *value;
    va_list args;
    answer->used += (size_t)snprintf(answer->buf + answer->used, VESTA_ANSWER_MAX - 1 - answer->used, "%s=", name);
    if (answer->used > VESTA_ANSWER_MAX - 2) answer->used = VESTA_ANSWER_MAX - 2;
    value = answer->buf + answer->used;
    va_start(args, format);
    answer->used += (size_t)vsnprintf(value, VESTA_ANSWER_MAX - 1 - answer->used, format, args);
    va_end(args);
    if (answer->used > VESTA_ANSWER_MAX - 2) answer->used = VESTA_ANSWER_MAX - 2;
    for (; *value; value++)
        if ((unsigned char)*value < ' ') *value = ' ';
    strcpy(answer->buf + answer->used++, "\n");
}

static int plain_error(char *buf, const struct vesta_error *err) {
    struct plain_answer answer = plain_begin(buf);
    plain_put(&answer, "code", "%s", vesta_code_name(err->code));
    plain_put(&answer, "text", "%s", err->text);
    return err->code;
}

static int plain_closed(char *buf) {
    struct vesta_error err;
    vs_fail(&err, VESTA_ECLOSED, "this generator is closed. Open it again");
    return plain_error(buf, &err);
}

static int plain_pause(struct vesta_gen *gen, const struct vesta_pause *pause, char *buf) {
    struct plain_answer answer = plain_begin(buf);
    char text[sizeof((struct vesta_error *)0)->text];
    vesta_pause_text(gen, pause, text, sizeof text);
    plain_put(&answer, "code", "%s", vesta_code_name(VESTA_EPAUSE));
    plain_put(&answer, "reason", "%s", vesta_why_name(pause->why));
    /* rounded up, so that a caller who waits this long does not call too early */
    plain_put(&answer, "wait_ms", "%" PRId64,
              pause->wait_us < 0 ? -1 : pause->wait_us / 1000 + !!(pause->wait_us % 1000));
    plain_put(&answer, "text", "%s", text);
    return VESTA_EPAUSE;
}

static struct vesta_gen *plain_gen(uint64_t handle) {
    return (struct vesta_gen *)(uintptr_t)handle;
}

static int64_t plain_wait_us(int64_t wait_ms) {
    return wait_ms <= 0 ? 0 : wait_ms > INT64_MAX / 1000 ? INT64_MAX : wait_ms * 1000;
}

/* ------------------------------------------------------------------ generators */

uint64_t vesta_plain_open(const char *options, char *answer) {
    struct vesta_gen *gen;
    struct vesta_error err;
    if (vesta_open_text(options, &gen, &err) == VESTA_OK) return (uintptr_t)gen;
    plain_error(answer, &err);
    return 0;
}

void vesta_plain_close(uint64_t handle) {
    vesta_close(plain_gen(handle));
}

uint64_t vesta_plain_next_wait(uint64_t handle, int64_t wait_ms_max, char *answer) {
    struct vesta_gen *gen = plain_gen(handle);
    struct vesta_pause pause;
    uint64_t id;
    if (!gen) return plain_closed(answer), 0;
    do {
        if (vesta_next_wait(gen, &id, plain_wait_us(wait_ms_max), &pause) != VESTA_OK)
            return plain_pause(gen, &pause, answer), 0;
    } while (!id);
    return id;
}

int vesta_plain_batch(uint64_t handle, uint64_t *ids, int64_t n, int64_t wait_ms_max, char *answer) {
    struct vesta_gen *gen = plain_gen(handle);
    struct vesta_pause pause;
    struct vesta_error err;
    if (!gen) return plain_closed(answer);
    if (n < 1 || n > VESTA_BATCH_MAX) {
        vs_fail(&err, VESTA_EOPTION, "a batch of %" PRId64 " ids was requested. Request 1 to %d", n, VESTA_BATCH_MAX);
        return plain_error(answer, &err);
    }
    if (vesta_batch_wait(gen, ids, (size_t)n, plain_wait_us(wait_ms_max), &pause) != VESTA_OK)
        return plain_pause(gen, &pause, answer);
    plain_begin(answer); /* the answer is empty */
    return VESTA_OK;
}

/* Writes why a generator cannot issue UUIDs of a shape, which is 0 if its name is unknown. */
static int plain_no_shape(const struct vesta_gen *gen, int shape, const char *name, char *answer) {
    struct vesta_error err;
    if (shape)
        vesta_gen_shape_check(gen, (enum vesta_shape)shape, &err);
    else
        vs_fail(&err, VESTA_EOPTION, "shape is '%s', which must be uuid7, uuid8, ulid or hex32",
                VS_QUOTE(name, strlen(name)));
    return plain_error(answer, &err);
}

int vesta_plain_next_uuid(uint64_t handle, const char *shape, char *text, int64_t wait_ms_max, char *answer) {
    struct vesta_gen *gen = plain_gen(handle);
    unsigned char uuid[VESTA_UUID_BYTES];
    struct vesta_pause pause;
    int is = vesta_shape_find(shape, strlen(shape));
    if (!gen) return plain_closed(answer);
    int rc =
        is ? vesta_next_uuid_wait(gen, (enum vesta_shape)is, uuid, plain_wait_us(wait_ms_max), &pause) : VESTA_EOPTION;
    if (rc == VESTA_EPAUSE) return plain_pause(gen, &pause, answer);
    if (rc != VESTA_OK) return plain_no_shape(gen, is, shape, answer);
    vesta_uuid_format((enum vesta_shape)is, uuid, text);
    plain_begin(answer); /* the answer is empty */
    return VESTA_OK;
}

static const char *plain_word(int is_true) {
    return is_true ? "true" : "false";
}

int vesta_plain_info(uint64_t handle, char *answer) {
    char layout[VESTA_LAYOUT_TEXT_MAX];
    struct vesta_info info;
    if (!handle) return plain_closed(answer);
    struct plain_answer out = plain_begin(answer);
    vesta_get_info(plain_gen(handle), &info);
    vesta_layout_text(&info.layout, layout);
    plain_put(&out, "namespace", "%s", info.namespace_);
    plain_put(&out, "layout", "%s", layout);
    plain_put(&out, "path", "%s", info.path);
    plain_put(&out, "store", "%s", info.store);
    plain_put(&out, "lease", "%s", info.lease);
    plain_put(&out, "identity", "%s", info.identity);
    plain_put(&out, "state", "%s", info.state);
    plain_put(&out, "pacing", "%s", info.pacing == VESTA_PACING_HISTORY ? "history" : "clock");
    plain_put(&out, "ahead_ms_max", "%" PRId64, info.ahead_ms_max);
    plain_put(&out, "holds_lease", "%s", plain_word(info.holds_lease));
    plain_put(&out, "drew_worker", "%s", plain_word(info.drew_worker));
    if (info.holds_lease) {
        plain_put(&out, "worker", "%" PRIu64, info.worker);
        plain_put(&out, "tick", "%" PRIu64, info.tick);
        plain_put(&out, "limit", "%" PRIu64, info.limit);
        plain_put(&out, "lease_end_ms", "%" PRId64, info.lease_end_ms);
    }
    plain_put(&out, "slot", "%" PRIu32, info.slot);
    plain_put(&out, "slots_used", "%" PRIu32, info.slots_used);
    plain_put(&out, "clock_drift_us", "%" PRId64, info.clock_drift_us);
    plain_put(&out, "keeper", "%s", info.keeper);
    plain_put(&out, "warning", "%s", info.warning);
    return VESTA_OK;
}

/* ------------------------------------------------------------------ ids */

int vesta_plain_explain(uint64_t handle, uint64_t id, char *answer) {
    struct vesta_parts parts;
    struct vesta_error err;
    if (!handle) return plain_closed(answer);
    struct plain_answer out = plain_begin(answer);
    const struct vesta_layout *layout = vesta_gen_layout(plain_gen(handle));
    if (vesta_explain(layout, id, &parts, &err) != VESTA_OK) return plain_error(answer, &err);
    for (int i = 0; i < layout->field_count; i++)
        plain_put(&out, layout->field[i].name, "%" PRIu64, parts.values[i]);
    plain_put(&out, "unix_ms", "%" PRId64, parts.unix_ms);
    return VESTA_OK;
}

static int plain_id(uint64_t id, char *buf) {
    struct plain_answer answer = plain_begin(buf);
    plain_put(&answer, "id", "%" PRIu64, id);
    return VESTA_OK;
}

/* Reads one NAME=VALUE.  The name is copied, because a slice has no NUL. */
static int plain_field(struct vs_slice word, char name[VESTA_NAME_MAX], struct vesta_value *out,
                       struct vesta_error *err) {
    struct vs_slice key, value;
    if (!vs_slice_split(word, '=', &key, &value) || key.length >= VESTA_NAME_MAX ||
        vesta_parse(VESTA_DECIMAL, value.at, value.length, &out->value) != VESTA_OK)
        return vs_fail(err, VESTA_EFIELD, "'%s' is not a field. Write NAME=N, for example worker=7",
                       VS_QUOTE(word.at, word.length));
    memcpy(name, key.at, key.length);
    name[key.length] = '\0';
    out->name = name;
    return VESTA_OK;
}

int vesta_plain_make(uint64_t handle, const char *fields, char *answer) {
    char names[VESTA_FIELDS_MAX][VESTA_NAME_MAX];
    struct vesta_value given[VESTA_FIELDS_MAX];
    struct vesta_error err;
    struct vs_slice word;
    size_t n = 0;
    uint64_t id;
    if (!handle) return plain_closed(answer);
    for (; vs_slice_next(&fields, &word); n++) {
        if (n == VESTA_FIELDS_MAX) {
            vs_fail(&err, VESTA_EFIELD, "more than %d fields were given, which is the limit of a layout",
                    VESTA_FIELDS_MAX);
            return plain_error(answer, &err);
        }
        if (plain_field(word, names[n], &given[n], &err) != VESTA_OK) return plain_error(answer, &err);
    }
    if (vesta_make(vesta_gen_layout(plain_gen(handle)), given, n, &id, &err) != VESTA_OK)
        return plain_error(answer, &err);
    return plain_id(id, answer);
}

/* ------------------------------------------------------------------ text */

static int plain_base(const char *name, enum vesta_base *base, struct vesta_error *err) {
    int at = vs_slice_place((struct vs_slice){name, strlen(name)}, "decimal|hex|base32|base62", '|');
    if (at < 0)
        return vs_fail(err, VESTA_EOPTION, "base is '%s', which must be decimal, hex, base32 or base62",
                       VS_QUOTE(name, strlen(name)));
    *base = (enum vesta_base)at;
    return VESTA_OK;
}

int vesta_plain_format(const char *base, uint64_t id, char *answer) {
    char text[VESTA_FORMAT_MAX];
    struct vesta_error err;
    enum vesta_base as;
    if (plain_base(base, &as, &err) != VESTA_OK) return plain_error(answer, &err);
    struct plain_answer out = plain_begin(answer);
    vesta_format(as, id, text);
    plain_put(&out, "text", "%s", text);
    return VESTA_OK;
}

int vesta_plain_parse(const char *base, const char *text, uint64_t length, char *answer) {
    struct vesta_error err;
    enum vesta_base as;
    uint64_t id;
    if (plain_base(base, &as, &err) != VESTA_OK) return plain_error(answer, &err);
    if (vesta_parse(as, text, length, &id) == VESTA_OK) return plain_id(id, answer);
    vs_fail(&err, VESTA_EID, "'%s' is not an id in base %s, or exceeds 64 bits", VS_QUOTE(text, length), base);
    return plain_error(answer, &err);
}
