/* ids.c -- handlers that issue, decode and make ids. */
#include "base/error.h"
#include "generator/generator.h"
#include "id/id.h"
#include "id/wide.h"
#include "mask/uuid47.h"
#include "server/commands.h"
#include "server/named.h"
#include "server/rights.h"
#include "server/take.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ------------------------------------------------------------------ issuing */

/* Maximum numbers in text form per request.  Such numbers are longer than decimal ids, and in JSON each character may
 * need an escape. */
#define TEXTS_MAX 2000
_Static_assert(TEXTS_MAX *(2 * VS_FORM_TEXT_MAX + 8) + 16 <= VS_REPLY_MAX, "a batch of texts fits a reply");
_Static_assert(VS_RESP_ARGS_MAX <= TEXTS_MAX, "the texts of an MGET fit a reply");

#define WIDES_MAX 3000 /* maximum ids of 128 bits per request: with a prefix, they are longer than 64-bit ids */
_Static_assert(WIDES_MAX *(VS_WIDE_TEXT_MAX + 8) + 16 <= VS_REPLY_MAX, "a batch of TypeIDs fits a reply");

/* Writes an id masked, or a tag's number in text form, to buf, which has VS_FORM_TEXT_MAX bytes.  If the number does
 * not fit, returns false, and the reply is an error. */
static bool write_text(struct vs_request *r, uint64_t id, char *buf) {
    struct vesta_error err;
    const struct vs_mask *mask = vs_request_mask(r);
    if (mask) return buf[vs_mask_length(mask)] = '\0', vs_masked_write(r, &id, 1, buf);
    if (vs_tag_write(r->tag, id, r->session->server->clock, buf, &err) == VESTA_OK) return true;
    vs_refuse(r, "used_up", "'%s': %s", r->tag->name, err.text);
    return false;
}

/* Converts an id to the request's shape.  If its time does not fit, returns false, and the reply is an error. */
static bool write_wide(struct vs_request *r, uint64_t id, char text[VS_WIDE_TEXT_MAX]) {
    uint8_t bytes[VESTA_UUID_BYTES];
    if (!vs_uuid_put(&r->gen->uuid, r->shape, id, bytes)) {
        vs_refuse(r, "epoch_end", "'%s' has reached the last time of a %s", r->ns->name, vesta_shape_name(r->shape));
        return false;
    }
    if (r->ns->uuid_key) vs_uuid47_hide(r->ns->uuid_key, bytes); /* vs_read_shape allows only version 7 */
    if (r->prefix)
        vs_typeid_write(r->arg[r->prefix], vs_wide_of(bytes), text);
    else
        vs_wide_write(vs_wide_text_of(r->shape), vs_wide_of(bytes), text);
    return true;
}

bool vs_read_shape(struct vs_request *r, int shape, int prefix) {
    struct vs_slice name = vs_arg(r, shape), type = vs_arg(r, prefix);
    struct vesta_error err;
    char lower[16] = "";
    if (!name.at && !type.at) return true;
    r->prefix = type.at ? prefix : 0;
    for (size_t i = 0; i < name.length && i < sizeof lower - 1; i++)
        lower[i] = (char)(name.at[i] >= 'A' && name.at[i] <= 'Z' ? name.at[i] | 0x20 : name.at[i]);
    r->shape = name.at ? (enum vesta_shape)vesta_shape_find(lower, name.length) : VESTA_UUID7;
    if (!r->shape)
        return vs_refuse(r, "bad_field", "shape '%s' must be uuid7, uuid8, ulid or hex32",
                         VS_QUOTE(name.at, name.length)),
               false;
    if (r->tag)
        return vs_refuse(r, "bad_field",
                         "'%s' is a tag, whose numbers have no shape: use a namespace, or leave out shape",
                         r->tag->name),
               false;
    if (r->ns->uuid_key ? r->shape != VESTA_UUID7 : r->ns->mask != NULL)
        return vs_refuse(r, "bad_field", "the ids of '%s' are masked, and a %s would show the plain id: %s",
                         r->ns->name, vesta_shape_name(r->shape),
                         r->ns->uuid_key ? "use shape uuid7" : "leave out shape"),
               false;
    if (vesta_shape_check(r->ns->layout, r->shape, &err) != VESTA_OK ||
        (type.at && vs_typeid_check(type, &err) != VESTA_OK))
        return vs_refuse(r, "bad_field", "%s", err.text), false;
    if (vesta_gen_shape_check(r->gen, r->shape, &err) != VESTA_OK)
        return vs_refuse(r, "not_served", "'%s': %s", r->ns->name, err.text), false;
    if (type.at && (r->shape == VESTA_ULID || r->shape == VESTA_HEX32))
        return vs_refuse(r, "bad_field", "a TypeID is a uuid7 or uuid8, not a %s: leave out the prefix",
                         vesta_shape_name(r->shape)),
               false;
    return true;
}

bool vs_put_id(struct vs_request *r, uint64_t id) {
    char text[VS_FORM_TEXT_MAX], wide[VS_WIDE_TEXT_MAX];
    bool has_form = vs_request_has_text(r);
    if (r->shape) {
        if (!write_wide(r, id, wide)) return false;
        vs_resp_word(r->out, wide);
        return true;
    }
    if (has_form && !write_text(r, id, text)) return false;
    if (r->protocol == VS_RESP)
        has_form ? vs_resp_word(r->out, text) : vs_resp_id(r->out, id);
    else
        has_form ? vs_put_text(r->out, text) : vs_put_uint(r->out, id);
    return true;
}

static uint64_t count_max(const struct vs_request *r) {
    if (r->shape) return WIDES_MAX;
    if (!r->tag || !r->tag->form) return VESTA_BATCH_MAX;
    uint64_t most = vs_form_count_max(r->tag->form);
    return most < TEXTS_MAX ? most : TEXTS_MAX;
}

#define ALIKE_MAX 255 /* maximum further identical requests in a batch (comparing more would save nothing) */
_Static_assert(ALIKE_MAX < VESTA_BATCH_MAX, "identical requests are one batch");

/* Returns how many requests with the same bytes directly follow this request in the input. */
static size_t count_alike(const struct vs_request *r) {
    const char *first = r->bytes.at;
    size_t length = r->bytes.length, n = 0;
    if (length == 0 || r->session->multi) return 0;
    while (n < ALIKE_MAX && r->behind >= (n + 1) * length && memcmp(first, first + (n + 1) * length, length) == 0)
        n++;
    return n;
}

enum vs_reply_state vs_put_one(struct vs_request *r) {
    (void)vs_put_id(r, r->ids[0]);
    return VS_ANSWERED;
}

/* Answers as many identical requests together as ids were available.  The remaining identical requests run
 * separately. */
static enum vs_reply_state put_alike(struct vs_request *r) {
    vs_resp_ids(r->out, r->ids, r->n);
    r->also = r->n - 1;
    return VS_ANSWERED;
}

static enum vs_reply_state ids_take_next(struct vs_request *r) {
    size_t alike = r->tag || r->ns->mask ? 0 : count_alike(r);
    return alike > 0 ? vs_take_some(r, 1 + alike, put_alike) : vs_take_id(r, vs_put_one);
}

enum vs_reply_state vs_on_next(struct vs_request *r) {
    return vs_request_enter(r, 0, VS_KIND_ANY, ids_take_next);
}

/* Writes each id in the form of its tag. */
static enum vs_reply_state put_many(struct vs_request *r) {
    vs_resp_array(r->out, r->n);
    if (!r->has_form && !r->shape) {
        vs_resp_ids(r->out, r->ids, r->n);
        return VS_ANSWERED;
    }
    if (r->names == 1 && !r->shape && vs_request_mask(r)) {
        vs_masked_put(r, r->ids, r->n);
        return VS_ANSWERED;
    }
    for (size_t i = 0; i < r->n; i++) {
        if (r->names > 1) (void)vs_request_find(r, r->arg[i]);
        if (!vs_put_id(r, r->ids[i])) break;
    }
    return VS_ANSWERED;
}

static enum vs_reply_state take_many(struct vs_request *r) {
    return vs_take_ids(r, (size_t)r->names, put_many);
}

enum vs_reply_state vs_on_many(struct vs_request *r) {
    size_t n = (size_t)r->arg_count;
    if (n > vs_rights_n(r, VESTA_BATCH_MAX))
        return vs_refuse(r, "bad_count", "%zu names exceed the ids that this client may request at once", n);
    return vs_request_enter_all(r, take_many);
}

bool vs_read_n(struct vs_request *r, struct vs_slice count, uint64_t max, uint64_t *n) {
    return vs_read_up_to(r, count, vs_rights_n(r, max), n);
}

bool vs_read_up_to(struct vs_request *r, struct vs_slice count, uint64_t max, uint64_t *n) {
    *n = 1;
    if (!count.at || (vesta_parse(VESTA_DECIMAL, count.at, count.length, n) == VESTA_OK && *n >= 1 && *n <= max))
        return true;
    vs_refuse(r, "bad_count", "n '%s' must be a number from 1 to %llu", VS_QUOTE(count.at, count.length),
              (unsigned long long)max);
    return false;
}

static enum vs_reply_state ids_take_some(struct vs_request *r) {
    uint64_t n;
    bool is_right = vs_read_shape(r, 2, 3) && vs_read_n(r, vs_arg(r, 1), count_max(r), &n);
    return is_right ? vs_take_ids(r, n, put_many) : VS_ANSWERED;
}

enum vs_reply_state vs_on_some(struct vs_request *r) {
    return vs_request_enter(r, 0, VS_KIND_ANY, ids_take_some);
}

static enum vs_reply_state put_last(struct vs_request *r) {
    vs_resp_int(r->out, (int64_t)r->ids[0]);
    return VS_ANSWERED;
}

static enum vs_reply_state ids_take_run(struct vs_request *r) {
    uint64_t n;
    return vs_read_n(r, vs_arg(r, 1), VESTA_NUMBERS_MAX, &n) ? vs_take_run(r, n, put_last) : VS_ANSWERED;
}

/* INCR and INCRBY only work for tags, because ids of a namespace are not consecutive. */
enum vs_reply_state vs_on_count(struct vs_request *r) {
    return vs_request_enter(r, 0, VS_KIND_COUNTER, ids_take_run);
}

static enum vs_reply_state refuse_count_down(struct vs_request *r) {
    return vs_refuse(r, "bad_command", "'%s' does not count down: take its next number with INCR %s", r->tag->name,
                     r->tag->name);
}

enum vs_reply_state vs_on_count_down(struct vs_request *r) {
    return vs_request_enter(r, 0, VS_KIND_COUNTER, refuse_count_down);
}

/* Writes numbers in text form, escaped for JSON if needed, or ids of 128 bits.  If a number does not fit the form, the
 * reply is an error. */
static void put_texts(struct vs_request *r, size_t n) {
    char text[VS_FORM_TEXT_MAX > VS_WIDE_TEXT_MAX ? VS_FORM_TEXT_MAX : VS_WIDE_TEXT_MAX];
    if (!r->shape && vs_request_mask(r)) {
        vs_masked_put(r, r->ids, n);
        return;
    }
    for (size_t i = 0; i < n && (r->shape ? write_wide : write_text)(r, r->ids[i], text); i++) {
        if (r->json && i > 0) vs_put(r->out, ",", 1);
        (r->json ? vs_put_json : vs_put_text)(r->out, text);
        if (!r->json) vs_put(r->out, "\n", 1);
    }
}

static void put_lines(struct vs_request *r, size_t n) {
    if (r->shape || vs_request_has_text(r)) {
        put_texts(r, n);
    } else {
        vs_put_ids(r->out, r->ids, n, "\n");
        vs_put(r->out, "\n", 1);
    }
}

static void put_json(struct vs_request *r, size_t n) {
    vs_put_text(r->out, "{\"ids\":[");
    if (r->shape || vs_request_has_text(r)) {
        put_texts(r, n);
        if (r->code != 0) return;
    } else {
        vs_put(r->out, "\"", 1);
        vs_put_ids(r->out, r->ids, n, "\",\"");
        vs_put(r->out, "\"", 1);
    }
    vs_put_text(r->out, "]}\n");
}

static bool read_format(struct vs_request *r, struct vs_slice format) {
    if (vs_slice_is(format, "text"))
        r->json = false;
    else if (vs_slice_is(format, "json"))
        r->json = true;
    else if (format.at)
        return vs_refuse(r, "bad_field", "format '%s' must be json or text", VS_QUOTE(format.at, format.length)), false;
    return true;
}

static enum vs_reply_state put_batch(struct vs_request *r) {
    (r->json ? put_json : put_lines)(r, r->n);
    return VS_ANSWERED;
}

static enum vs_reply_state ids_take_batch(struct vs_request *r) {
    uint64_t n;
    bool is_right =
        read_format(r, vs_arg(r, 2)) && vs_read_shape(r, 3, 4) && vs_read_n(r, vs_arg(r, 1), count_max(r), &n);
    return is_right ? vs_take_ids(r, n, put_batch) : VS_ANSWERED;
}

enum vs_reply_state vs_on_batch(struct vs_request *r) {
    return vs_request_enter(r, 0, VS_KIND_ANY, ids_take_batch);
}

/* ------------------------------------------------------------------ reading */

static bool ids_read_number(struct vs_request *r, struct vs_slice text, const char *name, uint64_t *value) {
    if (!text.at)
        return vs_refuse(r, "bad_field", "%s is missing: %s", name, vs_call_help(r->call, r->protocol)), false;
    if (vesta_parse(VESTA_DECIMAL, text.at, text.length, value) != VESTA_OK)
        return vs_refuse(r, strcmp(name, "id") == 0 ? "bad_id" : "bad_field",
                         "%s '%s' must be a decimal number of at most 18446744073709551615%s", name,
                         VS_QUOTE(text.at, text.length),
                         r->call->handler == vs_on_explain ? ", or a UUID, ULID or TypeID" : ""),
               false;
    return true;
}

bool vs_read_id(struct vs_request *r, int at, uint64_t *id, struct vesta_parts *parts) {
    struct vesta_error err;
    if (!ids_read_number(r, vs_arg(r, at), "id", id)) return false;
    if (vesta_explain(r->ns->layout, *id, parts, &err) != VESTA_OK)
        return vs_refuse(r, "bad_id", "%s", err.text), false;
    return true;
}

/* Returns whether VESTA.EXPLAIN has the optional name before the id. */
static bool is_named_first(const struct vs_request *r) {
    return r->protocol == VS_RESP && r->arg_count >= 2;
}

/* Returns whether the request's id is masked: mask=1 over HTTP, or MASK as the last argument over RESP. */
static bool is_masked(const struct vs_request *r) {
    return vs_arg(r, 2).at && (r->protocol == VS_RESP || !vs_slice_is(vs_arg(r, 2), "0"));
}

static enum vs_reply_state explain_number(struct vs_request *r) {
    uint64_t number;
    int version;
    if (!vs_masked_read(r, vs_arg(r, is_named_first(r)), &number, &version)) return VS_ANSWERED;
    r->json = true;
    vs_named_open(r, 2);
    vs_named_wide(r, "number", number);
    vs_named_int(r, "key_version", version);
    vs_named_close(r);
    return VS_ANSWERED;
}

static bool read_masked_id(struct vs_request *r, int at, uint64_t *id, struct vesta_parts *parts, int *version) {
    struct vesta_error err;
    if (!vs_masked_read(r, vs_arg(r, at), id, version)) return false;
    if (vesta_explain(r->ns->layout, *id, parts, &err) != VESTA_OK)
        return vs_refuse(r, "bad_id", "%s", err.text), false;
    return true;
}

/* Writes the facts of an id of 128 bits. */
static enum vs_reply_state ids_explain_wide(struct vs_request *r, struct vs_slice text) {
    struct vs_wide_found found;
    struct vs_wide_facts facts;
    struct vesta_error err;
    char iso[VESTA_ISO_MAX], layout[VESTA_LAYOUT_TEXT_MAX];
    if (vs_wide_read(text, &found, &err) != VESTA_OK) return vs_refuse(r, "bad_id", "%s", err.text);
    vesta_layout_text(r->ns->layout, layout);
    vs_wide_facts_of(&found, r->ns->layout, layout, &facts);
    bool has_version = found.text != VS_WIDE_ULID, has_worker = facts.parts.has_id && facts.layout.worker >= 0;
    r->json = true;
    vs_named_open(r,
                  4 + 2 * has_version + 4 * (facts.shape != 0) + facts.parts.has_id + has_worker + 2 * facts.has_time);
    vs_named_text(r, "id", facts.text);
    vs_named_text(r, "kind", facts.kind);
    vs_named_text(r, "uuid", facts.uuid);
    vs_named_text(r, "ulid", facts.ulid);
    if (has_version) {
        vs_named_int(r, "version", vs_wide_version(found.id));
        vs_named_int(r, "variant", vs_wide_variant(found.id));
    }
    if (facts.shape) {
        vs_named_text(r, "layout", vs_layout_shown(facts.layout_name));
        vs_named_int(r, "counter", (int64_t)facts.parts.counter);
        vs_named_int(r, "time", (int64_t)facts.parts.time);
        vs_named_int(r, "seq", (int64_t)facts.parts.seq);
    }
    if (facts.parts.has_id) vs_named_wide(r, "from", facts.parts.id);
    if (has_worker) vs_named_int(r, "worker", (int64_t)facts.fields.worker);
    if (facts.has_time) {
        vs_named_int(r, "unix_ms", facts.unix_ms);
        vesta_iso(facts.unix_ms, iso);
        vs_named_text(r, "iso", iso);
    }
    vs_named_close(r);
    return VS_ANSWERED;
}

/* Turns a UUID that is shown as version 4 into the version 7 that it hides. */
static enum vs_reply_state ids_explain_hidden(struct vs_request *r, struct vs_slice text) {
    struct vs_wide_found found;
    struct vesta_error err;
    uint8_t bytes[VESTA_UUID_BYTES];
    char shown[VS_WIDE_TEXT_MAX];
    if (!vs_rights_may_unmask(r)) return VS_ANSWERED;
    if (vs_wide_read(text, &found, &err) != VESTA_OK) return vs_refuse(r, "bad_id", "%s", err.text);
    if (!r->ns->uuid_key || vs_wide_version(found.id) != 4)
        return vs_refuse(r, "bad_id", "'%s' must be a UUID of version 4 that this namespace issued",
                         VS_QUOTE(text.at, text.length));
    vs_wide_bytes(found.id, bytes);
    vs_uuid47_show(r->ns->uuid_key, bytes);
    return ids_explain_wide(r, (struct vs_slice){shown, vs_wide_write(VS_WIDE_UUID, vs_wide_of(bytes), shown)});
}

static enum vs_reply_state ids_explain(struct vs_request *r) {
    struct vesta_parts parts;
    char iso[VESTA_ISO_MAX];
    struct vs_slice text = vs_wide_trace_id(vs_arg(r, is_named_first(r)));
    uint64_t id;
    int version = -1;
    if (r->kind == VS_KIND_MASKED && r->tag) return explain_number(r);
    if (text.at && vs_wide_is_meant(text))
        return r->kind == VS_KIND_MASKED ? ids_explain_hidden(r, text) : ids_explain_wide(r, text);
    if (r->kind == VS_KIND_MASKED && !r->ns->mask)
        return vs_refuse(r, "bad_id", "'%s' must be a UUID, because only the UUIDs of '%s' are masked",
                         VS_QUOTE(text.at, text.at ? text.length : 0), r->ns->name);
    if (r->kind == VS_KIND_MASKED ? !read_masked_id(r, is_named_first(r), &id, &parts, &version)
                                  : !vs_read_id(r, is_named_first(r), &id, &parts))
        return VS_ANSWERED;
    const struct vesta_layout *layout = r->ns->layout;
    bool is_named_so = layout->worker < 0 || strcmp(layout->field[layout->worker].name, "worker") == 0;
    r->json = true;
    vs_named_open(r, layout->field_count + (is_named_so ? 3 : 4) + (version >= 0));
    vs_named_wide(r, "id", id);
    if (version >= 0) vs_named_int(r, "key_version", version);
    for (int i = 0; i < layout->field_count; i++)
        vs_named_int(r, layout->field[i].name, (int64_t)parts.values[i]);
    if (!is_named_so) vs_named_int(r, "worker", (int64_t)parts.worker);
    vs_named_int(r, "unix_ms", parts.unix_ms);
    vesta_iso(parts.unix_ms, iso);
    vs_named_text(r, "iso", iso);
    vs_named_close(r);
    return VS_ANSWERED;
}

enum vs_reply_state vs_on_explain(struct vs_request *r) {
    int name = is_named_first(r) ? 0 : r->protocol == VS_RESP ? VS_NO_NAME : 1;
    struct vs_slice mask = vs_arg(r, 2);
    bool is_switch = r->protocol == VS_RESP ? vs_slice_is(mask, "MASK") || vs_slice_is(mask, "mask")
                                            : vs_slice_is(mask, "1") || vs_slice_is(mask, "0");
    if (mask.at && !is_switch)
        return vs_refuse(r, "bad_field", "'%s' must be %s", VS_QUOTE(mask.at, mask.length),
                         r->protocol == VS_RESP ? "MASK" : "0 or 1");
    return vs_request_enter(r, name, is_masked(r) ? VS_KIND_MASKED : VS_KIND_LAYOUT, ids_explain);
}

/* Returns the name of a field in Vesta (Java). */
static const char *vesta_name(const char *name) {
    return strcmp(name, "method") == 0 ? "genMethod" : name;
}

static enum vs_reply_state expid(struct vs_request *r) {
    struct vesta_parts parts;
    uint64_t id;
    if (!vs_read_id(r, 0, &id, &parts)) return VS_ANSWERED;
    const struct vesta_layout *layout = r->ns->layout;
    vs_put(r->out, "{", 1);
    const char *last = "";
    for (int n = 0; n < layout->field_count; n++) { /* in alphabetical order, as in Vesta (Java) */
        int next = -1;
        for (int i = 0; i < layout->field_count; i++) {
            const char *name = vesta_name(layout->field[i].name);
            if (strcmp(name, last) > 0 && (next < 0 || strcmp(name, vesta_name(layout->field[next].name)) < 0))
                next = i;
        }
        last = vesta_name(layout->field[next].name);
        vs_named_int(r, last, (int64_t)parts.values[next]);
    }
    vs_put(r->out, "}", 1);
    return VS_ANSWERED;
}

enum vs_reply_state vs_on_expid(struct vs_request *r) {
    return vs_request_enter(r, 1, VS_KIND_LAYOUT, expid);
}

/* Writes a date as Java's Date does.  For a time zone without a name, the C library writes "-03", but Java reads and
 * writes "GMT-03:00". */
static size_t write_date(const struct tm *tm, char *buf, size_t size) {
    char zone[16] = "", offset[8] = "";
    strftime(zone, sizeof zone, "%Z", tm);
    if (*zone != '+' && *zone != '-') return strftime(buf, size, "%a %b %d %H:%M:%S %Z %Y", tm);
    strftime(offset, sizeof offset, "%z", tm); /* "-0300" */
    bool is_gmt = strcmp(offset + 1, "0000") == 0;
    size_t used = strftime(buf, size, "%a %b %d %H:%M:%S GMT", tm);
    if (!is_gmt) used += (size_t)snprintf(buf + used, size - used, "%.3s:%.2s", offset, offset + 3);
    return used + strftime(buf + used, size - used, " %Y", tm);
}

static enum vs_reply_state transtime(struct vs_request *r) {
    uint64_t time;
    char text[64];
    struct tm tm;
    if (!ids_read_number(r, vs_arg(r, 0), "time", &time)) return VS_ANSWERED;
    const struct vesta_layout *layout = r->ns->layout;
    uint64_t max = layout->field[layout->time].max;
    if (time > max)
        return vs_refuse(r, "bad_field", "time %llu is too large: the layout's last time is %llu",
                         (unsigned long long)time, (unsigned long long)max);
    int64_t unix_ms = vs_time_ms(layout, time);
    time_t seconds = (time_t)(unix_ms / 1000 - (unix_ms % 1000 < 0));
    if (!localtime_r(&seconds, &tm))
        return vs_refuse(r, "bad_field", "time %llu has no calendar date", (unsigned long long)time);
    vs_put(r->out, text, write_date(&tm, text, sizeof text));
    return VS_ANSWERED;
}

enum vs_reply_state vs_on_transtime(struct vs_request *r) {
    return vs_request_enter(r, 1, VS_KIND_LAYOUT, transtime);
}

/* ------------------------------------------------------------------ making */

struct ids_making {
    struct vesta_value given[VESTA_FIELDS_MAX + 2]; /* room for two defaults */
    char name[VESTA_FIELDS_MAX][VESTA_NAME_MAX];
    size_t count;
    bool has_time, has_seq, has_worker, has_method;
};

static bool read_field(struct vs_request *r, struct ids_making *m, struct vs_slice name, struct vs_slice value) {
    char *to = m->name[m->count];
    if (name.length == 0 || name.length >= VESTA_NAME_MAX || memchr(name.at, '\0', name.length))
        return vs_refuse(r, "bad_field", "unknown parameter '%s': %s", VS_QUOTE(name.at, name.length),
                         vs_call_help(r->call, r->protocol)),
               false;
    memcpy(to, name.at, name.length);
    to[name.length] = '\0';
    m->has_time |= strcmp(to, "time") == 0;
    m->has_seq |= strcmp(to, "seq") == 0;
    m->has_worker |= strcmp(to, "machine") == 0 || strcmp(to, "worker") == 0;
    m->has_method |= strcmp(to, "genMethod") == 0 || strcmp(to, "method") == 0;
    struct vesta_value *given = &m->given[m->count++];
    given->name = strcmp(to, "genMethod") == 0 ? "method" : strcmp(to, "machine") == 0 ? "worker" : to;
    return ids_read_number(r, value, to, &given->value);
}

/* Adds the fields that the server of Vesta (Java) sets if they are missing in a request. */
static bool add_defaults(struct vs_request *r, struct ids_making *m) {
    if (vs_method_at(r->ns->layout) >= 0 && !m->has_method) /* the same value as in ids issued over this protocol */
        m->given[m->count++] = (struct vesta_value){"method", r->ns->method[r->protocol]};
    if (r->ns->layout->worker < 0 || m->has_worker) return true;
    struct vesta_info info;
    vesta_get_info(r->gen, &info);
    if (!info.holds_lease) {
        r->retry_after_s = 1;
        return vs_refuse(r, "lease",
                         "machine is missing, and this server has no worker id now: add machine=, or try again"),
               false;
    }
    m->given[m->count++] = (struct vesta_value){"worker", info.worker};
    return true;
}

/* Makes an id from the name and value pairs that begin at `first`, without the pair at `skip`. */
static enum vs_reply_state ids_make_id(struct vs_request *r, int first, int skip) {
    struct ids_making making = {.count = 0};
    struct vesta_error err;
    uint64_t id;
    for (int i = first; i + 1 < r->arg_count; i += 2)
        if (i != skip && !read_field(r, &making, r->arg[i], r->arg[i + 1])) return VS_ANSWERED;
    if (!making.has_time || (!making.has_seq && r->ns->layout->seq >= 0))
        return vs_refuse(r, "bad_field", "Both time and seq are required.");
    if (!add_defaults(r, &making)) return VS_ANSWERED;
    if (vesta_make(r->ns->layout, making.given, making.count, &id, &err) != VESTA_OK)
        return vs_refuse(r, "bad_field", "%s", err.text);
    if (r->protocol == VS_RESP)
        vs_resp_id(r->out, id);
    else
        vs_put_uint(r->out, id);
    return VS_ANSWERED;
}

/* Returns the position of the parameter `ns`, which is not a field.  A second `ns` is rejected as an unknown field. */
static int place_of_ns(const struct vs_request *r) {
    int ns = 0;
    while (ns + 1 < r->arg_count && !vs_slice_is(r->arg[ns], "ns"))
        ns += 2;
    return ns;
}

static enum vs_reply_state make_by_params(struct vs_request *r) {
    return ids_make_id(r, 0, place_of_ns(r));
}

enum vs_reply_state vs_on_makeid(struct vs_request *r) {
    return vs_request_enter(r, place_of_ns(r) + 1, VS_KIND_LAYOUT, make_by_params);
}

static enum vs_reply_state make_by_words(struct vs_request *r) {
    struct vs_slice last = r->arg[r->arg_count - 1];
    if (r->arg_count % 2 == 0)
        return vs_refuse(r, "bad_field", "'%s' has no value: %s", VS_QUOTE(last.at, last.length), r->call->help);
    if (r->arg_count > 2 * VESTA_FIELDS_MAX)
        return vs_refuse(r, "bad_field", "more fields than a layout can have (%d)", VESTA_FIELDS_MAX);
    return ids_make_id(r, 1, -1);
}

enum vs_reply_state vs_on_make(struct vs_request *r) {
    return vs_request_enter(r, 0, VS_KIND_LAYOUT, make_by_words);
}
