/* record.c -- the text form of a store's records: a head line, `key value` lines in a fixed order, and a checksum.
 * People can read such a record, and the checksum detects a torn write. */
#include "lease/record.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define UNTIL_MAX (UINT64_C(1) << 62) /* the last tick of the longest layout + 1 */

/* ------------------------------------------------------------------ writing */

static uint64_t record_checksum(const char *text, size_t length) {
    uint64_t sum = 0xcbf29ce484222325u; /* FNV-1a */
    for (size_t i = 0; i < length; i++)
        sum = (sum ^ (unsigned char)text[i]) * 0x100000001b3u;
    return sum;
}

/* Writes a line with a string.  Replaces control characters, because a line feed would end the value. */
static void record_put_text(char *buf, size_t *at, const char *key, const char *value) {
    assert(*at + strlen(key) + 1 + strlen(value) + 1 < VS_RECORD_TEXT_MAX);
    *at += (size_t)snprintf(buf + *at, VS_RECORD_TEXT_MAX - *at, "%s ", key);
    for (; *value; value++)
        buf[(*at)++] = (unsigned char)*value < ' ' || *value == 127 ? '?' : *value;
    buf[(*at)++] = '\n';
}

static __attribute__((format(printf, 3, 4))) void record_put(char *buf, size_t *at, const char *format, ...) {
    assert(*at < VS_RECORD_TEXT_MAX);
    va_list args;
    va_start(args, format);
    *at += (size_t)vsnprintf(buf + *at, VS_RECORD_TEXT_MAX - *at, format, args);
    va_end(args);
}

size_t vs_record_write(const struct vs_record *r, char *buf) {
    size_t at = 0;
    record_put(buf, &at, "vesta lease %d\n", VS_RECORD_FORMAT);
    record_put(buf, &at, "ver %" PRIu64 "\nepoch %" PRIu64 "\n", r->ver, r->epoch);
    record_put(buf, &at, "owner %016" PRIx64 "%016" PRIx64 "\n", r->owner[0], r->owner[1]);
    record_put(buf, &at, "until %" PRIu64 "\nfingerprint %016" PRIx64 "\n", r->until, r->fingerprint);
    record_put(buf, &at, "written_ms %" PRId64 "\nlease_ms %" PRId64 "\nseen_ms %" PRId64 "\n", r->written_ms,
               r->lease_ms, r->seen_ms);
    record_put(buf, &at, "held %d\n", r->held);
    if (r->has_low)
        record_put(buf, &at, "low %" PRIu64 "\npin_ms %" PRId64 "\nstop_ms %" PRId64 "\n", r->low, r->pin_ms,
                   r->stop_ms);
    record_put_text(buf, &at, "identity", r->identity);
    record_put_text(buf, &at, "holder", r->holder);
    record_put(buf, &at, "sum %016" PRIx64 "\n", record_checksum(buf, at));
    assert(at < VS_RECORD_TEXT_MAX);
    return at;
}

size_t vs_ns_record_write(const struct vs_ns_record *r, char *buf) {
    size_t at = 0;
    record_put(buf, &at, "vesta namespace %d\n", VS_RECORD_FORMAT);
    record_put(buf, &at, "ver %" PRIu64 "\nfingerprint %016" PRIx64 "\n", r->ver, r->fingerprint);
    record_put(buf, &at, "incarnation %016" PRIx64 "\nfloor_ms %" PRId64 "\n", r->incarnation, r->floor_ms);
    if (r->mark_ms) record_put(buf, &at, "mark_ms %" PRId64 "\n", r->mark_ms);
    if (r->static_count)
        record_put(buf, &at, "static_first %" PRIu64 "\nstatic_count %" PRIu64 "\n", r->static_first, r->static_count);
    record_put_text(buf, &at, "layout", r->layout);
    record_put(buf, &at, "sum %016" PRIx64 "\n", record_checksum(buf, at));
    assert(at < VS_RECORD_TEXT_MAX);
    return at;
}

size_t vs_counter_record_write(const struct vs_counter_record *r, char *buf) {
    size_t at = 0;
    assert(r->tag[0]);
    record_put(buf, &at, "vesta counter %d\n", VS_RECORD_FORMAT);
    record_put(buf, &at, "ver %" PRIu64 "\nmax %" PRIu64 "\nstep %" PRIu64 "\n", r->ver, r->max, r->step);
    record_put(buf, &at, "updated_ms %" PRId64 "\n", r->updated_ms);
    record_put_text(buf, &at, "tag", r->tag);
    record_put(buf, &at, "sum %016" PRIx64 "\n", record_checksum(buf, at));
    assert(at < VS_RECORD_TEXT_MAX);
    return at;
}

/* ------------------------------------------------------------------ reading */

/* Reads the lines in order.  After a failure, all further reads do nothing. */
struct record_reader {
    const char *at, *end;
    bool failed;
};

/* Returns the value of the next line, or NULL if the line does not have this key. */
static const char *record_line(struct record_reader *in, const char *key, size_t *length) {
    assert(in->failed || in->at <= in->end);
    size_t key_length = strlen(key);
    const char *stop = in->failed ? NULL : memchr(in->at, '\n', (size_t)(in->end - in->at));
    if (!stop || (size_t)(stop - in->at) < key_length + 1 || memcmp(in->at, key, key_length) != 0 ||
        in->at[key_length] != ' ') {
        in->failed = true;
        return NULL;
    }
    const char *value = in->at + key_length + 1;
    *length = (size_t)(stop - value);
    in->at = stop + 1;
    return value;
}

/* Returns whether the next line, which a record may lack, begins with `key`. */
static bool record_is_next(const struct record_reader *in, const char *key) {
    return !in->failed && (size_t)(in->end - in->at) > strlen(key) && memcmp(in->at, key, strlen(key)) == 0;
}

static int record_digit_of(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
}

static uint64_t record_digits(struct record_reader *in, const char *text, size_t length, unsigned base) {
    assert(base == 10 || base == 16);
    uint64_t value = 0;
    in->failed |= length == 0;
    for (size_t i = 0; i < length && !in->failed; i++) {
        unsigned digit = (unsigned)record_digit_of(text[i]);
        in->failed |= digit >= base || value > (UINT64_MAX - digit) / base;
        value = value * base + digit;
    }
    return in->failed ? 0 : value;
}

static uint64_t record_number(struct record_reader *in, const char *key, unsigned base) {
    size_t length = 0;
    const char *text = record_line(in, key, &length);
    return text ? record_digits(in, text, length, base) : 0;
}

static int64_t record_millis(struct record_reader *in, const char *key) {
    uint64_t value = record_number(in, key, 10);
    in->failed |= value > INT64_MAX;
    return (int64_t)value;
}

static void record_text(struct record_reader *in, const char *key, char *out, size_t size) {
    size_t length = 0;
    const char *value = record_line(in, key, &length);
    in->failed |= !value || length >= size || (value && memchr(value, 0, length));
    if (in->failed) return;
    memcpy(out, value, length);
    out[length] = '\0';
}

static const char uncounted[] = "its version is higher than writes can have counted";

/* Checks the kind and format in the head line, and the checksum over everything before it. */
static const char *open_text(struct record_reader *in, const char *key, const char *begin) {
    size_t length = 0;
    const char *version = record_line(in, key, &length);
    if (!version) return "it is not a vesta record";
    uint64_t format = record_digits(in, version, length, 10);
    if (!in->failed && format > VS_RECORD_FORMAT) return "a newer vesta wrote it";
    const char sum_key[] = "sum ";
    const size_t sum_length = sizeof sum_key - 1 + 16 + 1;
    if ((size_t)(in->end - begin) < sum_length || memcmp(in->end - sum_length, sum_key, sizeof sum_key - 1) != 0)
        return "it is truncated";
    struct record_reader tail = {in->end - sum_length, in->end, false};
    if (record_number(&tail, "sum", 16) != record_checksum(begin, (size_t)(in->end - begin) - sum_length) ||
        tail.failed)
        return "its checksum is wrong: it is damaged";
    in->end -= sum_length;
    return NULL;
}

const char *vs_record_read(const char *begin, size_t length, struct vs_record *out) {
    struct record_reader in = {begin, begin + length, false};
    struct vs_record r = {0};
    const char *why = open_text(&in, "vesta lease", begin);
    if (why) return why;
    r.ver = record_number(&in, "ver", 10);
    r.epoch = record_number(&in, "epoch", 10);
    size_t owner_length = 0;
    const char *owner = record_line(&in, "owner", &owner_length);
    in.failed |= owner_length != 32;
    r.owner[0] = in.failed ? 0 : record_digits(&in, owner, 16, 16);
    r.owner[1] = in.failed ? 0 : record_digits(&in, owner + 16, 16, 16);
    r.until = record_number(&in, "until", 10);
    r.fingerprint = record_number(&in, "fingerprint", 16);
    r.written_ms = record_millis(&in, "written_ms");
    r.lease_ms = record_millis(&in, "lease_ms");
    r.seen_ms = record_millis(&in, "seen_ms");
    uint64_t held = record_number(&in, "held", 10);
    r.held = held == 1;
    if (record_is_next(&in, "low ")) {
        r.has_low = true;
        r.low = record_number(&in, "low", 10);
        r.pin_ms = record_millis(&in, "pin_ms");
        r.stop_ms = record_millis(&in, "stop_ms");
        if (r.low > r.until) r.low = r.until; /* a lower `low` only holds watermarks back */
    }
    record_text(&in, "identity", r.identity, sizeof r.identity);
    record_text(&in, "holder", r.holder, sizeof r.holder);
    if (in.failed || in.at != in.end || held > 1 || r.ver == 0 || r.until > UNTIL_MAX)
        return "one of its lines is invalid";
    if (r.ver > VS_VER_MAX) return uncounted;
    *out = r;
    return NULL;
}

const char *vs_ns_record_read(const char *begin, size_t length, struct vs_ns_record *out) {
    struct record_reader in = {begin, begin + length, false};
    struct vs_ns_record r = {0};
    const char *why = open_text(&in, "vesta namespace", begin);
    if (why) return why;
    r.ver = record_number(&in, "ver", 10);
    r.fingerprint = record_number(&in, "fingerprint", 16);
    r.incarnation = record_number(&in, "incarnation", 16);
    r.floor_ms = record_millis(&in, "floor_ms");
    if (record_is_next(&in, "mark_ms ")) {
        r.mark_ms = record_millis(&in, "mark_ms");
        in.failed |= r.mark_ms == 0;
    }
    if (record_is_next(&in, "static_first ")) {
        r.static_first = record_number(&in, "static_first", 10);
        r.static_count = record_number(&in, "static_count", 10);
        in.failed |= r.static_count == 0 || r.static_count > UINT64_MAX - r.static_first;
    }
    record_text(&in, "layout", r.layout, sizeof r.layout);
    if (in.failed || in.at != in.end || r.ver == 0) return "one of its lines is invalid";
    if (r.ver > VS_VER_MAX) return uncounted;
    *out = r;
    return NULL;
}

const char *vs_counter_record_read(const char *begin, size_t length, struct vs_counter_record *out) {
    struct record_reader in = {begin, begin + length, false};
    struct vs_counter_record r = {0};
    const char *why = open_text(&in, "vesta counter", begin);
    if (why) return why;
    r.ver = record_number(&in, "ver", 10);
    r.max = record_number(&in, "max", 10);
    r.step = record_number(&in, "step", 10);
    r.updated_ms = record_millis(&in, "updated_ms");
    record_text(&in, "tag", r.tag, sizeof r.tag);
    if (in.failed || in.at != in.end || r.ver == 0 || r.max > INT64_MAX || r.step > INT64_MAX)
        return "one of its lines is invalid";
    if (r.ver > VS_VER_MAX) return uncounted;
    *out = r;
    return NULL;
}

/* ------------------------------------------------------------------ the state of a worker id */

const char *vs_standing_name(enum vs_standing standing) {
    static const char *const names[] = {"held", "expired", "free"};
    return names[standing];
}

int64_t vs_standing_length_ms(const struct vs_record *record, const struct vs_shape *shape) {
    int64_t window_ms =
        shape && record->seen_ms > 0 ? vs_tick_unix_us(shape, record->until) / 1000 - record->seen_ms : 0;
    if (window_ms > VS_STANDING_WINDOW_MS_MAX) window_ms = VS_STANDING_WINDOW_MS_MAX;
    return record->lease_ms > window_ms ? record->lease_ms : window_ms;
}

enum vs_standing vs_standing_of(const struct vs_record *record, const struct vs_shape *shape, int64_t store_ms) {
    if (!record->held) return VS_STANDS_FREE;
    return store_ms - record->written_ms > vs_standing_length_ms(record, shape) ? VS_STANDS_EXPIRED : VS_STANDS_HELD;
}
