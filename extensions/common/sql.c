/* sql.c -- the functions of sql.h. */
#include "sql.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define WAIT_US 2000000
#define SLICE_US 10000 /* how long a wait takes to notice that the statement was cancelled */
#define PATH_BYTES 512

__attribute__((format(printf, 3, 4))) static int sql_fail(struct vesta_error *err, int code, const char *format, ...) {
    va_list args;
    va_start(args, format);
    err->code = code;
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    return code;
}

/* A text of the user, as an error quotes it.  Bytes that are not printable ASCII become \xNN.  Otherwise half of a
 * character could remain, and the database would fail to send its error. */
#define SHOWN_BYTES 64
struct sql_shown {
    char text[4 * SHOWN_BYTES + 1];
};

static struct sql_shown sql_show(const char *text, size_t length) {
    struct sql_shown shown = {""};
    char *end = shown.text;
    for (size_t i = 0; i < length && i < SHOWN_BYTES; i++) {
        if (text[i] >= ' ' && text[i] <= '~')
            *end++ = text[i];
        else
            end += snprintf(end, sizeof "\\xff", "\\x%02x", (unsigned)(unsigned char)text[i]);
    }
    *end = '\0';
    return shown;
}

/* Adds the code's name to an error of libvesta, so that programs can recognize it. */
static int sql_explained(int rc, const struct vesta_error *why, struct vesta_error *err) {
    return sql_fail(err, rc, "%.480s (%s)", why->text, vesta_code_name(rc));
}

/* ------------------------------------------------------------------ open generators */

/* An open generator.  The list only grows, at its head, so that readers need no lock, and a child of fork finds a
 * complete list.  Its length is bounded by the number of files, because a generator is never created. */
struct sql_open {
    struct sql_open *next;
    struct vesta_gen *gen;
    const char *folder;
    char name[VESTA_NAMESPACE_MAX];
};

static _Atomic(struct sql_open *) sql_first;

unsigned vs_sql_flags = VESTA_FILE_KEEPER;

static struct vesta_gen *sql_find(const struct sql_open *at, const char *folder, const char *name, size_t length) {
    for (; at; at = at->next)
        if (strncmp(at->name, name, length) == 0 && at->name[length] == '\0' && strcmp(at->folder, folder) == 0)
            return at->gen;
    return NULL;
}

/* Adds a generator.  If another thread has already added it, closes this handle, and returns the other one. */
static struct vesta_gen *sql_add(struct sql_open *open) {
    struct vesta_gen *found;
    open->next = atomic_load_explicit(&sql_first, memory_order_acquire);
    do {
        found = sql_find(open->next, open->folder, open->name, strlen(open->name));
        if (found) {
            vesta_close(open->gen);
            free(open);
            return found;
        }
    } while (!atomic_compare_exchange_weak_explicit(&sql_first, &open->next, open, memory_order_acq_rel,
                                                    memory_order_acquire));
    return open->gen;
}

/* ------------------------------------------------------------------ missing files and rights */

/* Names of a user and a group, or their numbers if they have no name. */
struct sql_names {
    char user[64], group[64];
};

static void sql_name(uid_t uid, gid_t gid, struct sql_names *out) {
    char buf[1024];
    struct passwd user, *found_user = NULL;
    struct group group, *found_group = NULL;
    snprintf(out->user, sizeof out->user, "%ld", (long)uid);
    snprintf(out->group, sizeof out->group, "%ld", (long)gid);
    if (getpwuid_r(uid, &user, buf, sizeof buf, &found_user) == 0 && found_user)
        snprintf(out->user, sizeof out->user, "%s", user.pw_name);
    if (getgrgid_r(gid, &group, buf, sizeof buf, &found_group) == 0 && found_group)
        snprintf(out->group, sizeof out->group, "%s", group.gr_name);
}

static int sql_no_file(const char *path, const char *name, struct vesta_error *err) {
    struct sql_names me;
    sql_name(geteuid(), getegid(), &me);
    return sql_fail(err, VESTA_ENOGEN,
                    "there is no generator file %.200s. Create it as root with: vesta gen --namespace %s --path %.200s "
                    "--group %s (no_generator)",
                    path, name, path, me.group);
}

/* Describes why this user may not use a file or its folder. */
static int sql_no_rights(const char *path, struct vesta_error *err) {
    char at[PATH_BYTES];
    struct sql_names me, owner;
    struct stat st;
    char *slash;
    snprintf(at, sizeof at, "%s", path);
    /* name the folder that is closed.  A relative path may have none */
    while (stat(at, &st) != 0 && errno == EACCES && (slash = strrchr(at, '/')) && slash != at)
        *slash = '\0';
    if (stat(at, &st) != 0) return sql_fail(err, VESTA_EIO, "cannot stat %.200s: %s (io)", at, strerror(errno));
    sql_name(geteuid(), getegid(), &me);
    sql_name(st.st_uid, st.st_gid, &owner);
    bool for_group = S_ISDIR(st.st_mode) ? st.st_mode & S_IXGRP : (st.st_mode & S_IRGRP) && (st.st_mode & S_IWGRP);
    if (for_group)
        return sql_fail(err, VESTA_EIO,
                        "user %s may not use %.200s, which belongs to user %s and group %s. Add the user to the group "
                        "with: usermod -aG %s %s. Then restart the process (io)",
                        me.user, at, owner.user, owner.group, owner.group, me.user);
    return sql_fail(
        err, VESTA_EIO, "user %s may not use %.200s, which belongs to user %s alone. %s (io)", me.user, at, owner.user,
        S_ISDIR(st.st_mode) ? "Let the group of this user search this folder: chgrp and chmod g+x"
                            : "Stop its users, delete it, and create it again with --group NAME, where NAME "
                              "is a group of this user. In a file: store, also give the namespace's folder to NAME: "
                              "chgrp -R, and chmod -R g+rwX");
}

/* Checks the file before vesta_open is called, because vesta_open creates missing folders, and its messages do not suit
 * users of a database. */
static int sql_check_file(const char *path, const char *name, struct vesta_error *err) {
    if (faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) == 0) return VESTA_OK;
    if (errno == ENOENT || errno == ENOTDIR) return sql_no_file(path, name, err);
    if (errno == EACCES) return sql_no_rights(path, err);
    return sql_fail(err, VESTA_EIO, "cannot read %.200s: %s (io)", path, strerror(errno));
}

/* ------------------------------------------------------------------ opening */

static int sql_check_name(const char *name, size_t length, struct vesta_error *err) {
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:-";
    bool is_valid = length < VESTA_NAMESPACE_MAX;
    for (size_t i = 0; is_valid && i < length; i++)
        is_valid = name[i] != '\0' && strchr(allowed, name[i]);
    if (is_valid) return VESTA_OK;
    return sql_fail(err, VESTA_EOPTION,
                    "'%s' is not the name of a generator: use 1 to %d of the characters A-Z a-z 0-9 _ . : - "
                    "(bad_option)",
                    sql_show(name, length).text, VESTA_NAMESPACE_MAX - 1);
}

static int sql_open_file(const char *folder, const char *name, struct vesta_gen **gen, struct vesta_error *err) {
    struct vesta_opts opts = VESTA_OPTS_INIT;
    struct vesta_error why;
    char path[PATH_BYTES];
    opts.namespace_ = name;
    opts.flags = vs_sql_flags;
    if (*folder) {
        int length = snprintf(path, sizeof path, "%s/%s.gen", folder, name);
        if (length < 0 || (size_t)length >= sizeof path)
            return sql_fail(err, VESTA_EOPTION, "the folder's path is too long: %.100s... (bad_option)", folder);
        int rc = sql_check_file(path, name, err);
        if (rc != VESTA_OK) return rc;
        opts.path = path;
    }
    int rc = vesta_open(&opts, gen, &why);
    char *advice = rc == VESTA_ENOGEN ? strstr(why.text, ". To create it") : NULL;
    if (advice) /* the advice names options that SQL does not have */
        snprintf(advice, sizeof why.text - (size_t)(advice - why.text), ". Create it with: vesta gen --namespace %s",
                 name);
    return rc == VESTA_OK ? rc : sql_explained(rc, &why, err);
}

int vs_sql_open(const char *folder, const char *name, size_t length, struct vesta_gen **gen, struct vesta_error *err) {
    if (!folder) folder = "";
    if (length == 0) name = VS_SQL_NAME, length = strlen(VS_SQL_NAME);
    int rc = sql_check_name(name, length, err);
    if (rc != VESTA_OK) return rc;
    *gen = sql_find(atomic_load_explicit(&sql_first, memory_order_acquire), folder, name, length);
    if (*gen) return VESTA_OK;
    size_t folder_bytes = strlen(folder) + 1;
    struct sql_open *open = calloc(1, sizeof *open + folder_bytes);
    if (!open) return sql_fail(err, VESTA_ENOMEM, "no memory for a generator (no_memory)");
    open->folder = memcpy(open + 1, folder, folder_bytes);
    memcpy(open->name, name, length);
    rc = sql_open_file(folder, open->name, &open->gen, err);
    if (rc != VESTA_OK)
        free(open);
    else
        *gen = sql_add(open);
    return rc;
}

/* ------------------------------------------------------------------ ids */

static int sql_too_large(struct vesta_gen *gen, uint64_t id, struct vesta_error *err) {
    struct vesta_info info;
    vesta_get_info(gen, &info);
    return sql_fail(err, VESTA_EID,
                    "the generator %s issued %llu, which exceeds the largest number of a signed column, "
                    "9223372036854775807. Use a generator whose layout begins with sign:1=0 (bad_id)",
                    info.namespace_, (unsigned long long)id);
}

static int64_t sql_boot_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int sql_paused(struct vesta_gen *gen, const struct vesta_pause *pause, struct vesta_error *err) {
    struct vesta_info info;
    char why[380], next[64] = "Waiting does not help";
    vesta_get_info(gen, &info);
    vesta_pause_text(gen, pause, why, sizeof why);
    if (pause->wait_us >= 0) snprintf(next, sizeof next, "Retry in %.3f s", (double)pause->wait_us / 1e6);
    return sql_fail(err, VESTA_EPAUSE, "the generator %s issues no id now: %s. %s (%s)", info.namespace_, why, next,
                    vesta_why_name(pause->why));
}

/* What a call issues. */
struct sql_want {
    enum vesta_shape shape; /* 0: an id of 64 bits */
    uint64_t id;
    unsigned char *uuid;
};

/* Never calls vesta_next or vesta_next_uuid, because functions of MariaDB have these names. */
static int sql_try(struct vesta_gen *gen, struct sql_want *want, struct vesta_pause *pause) {
    if (want->shape) return vesta_next_uuid_wait(gen, want->shape, want->uuid, SLICE_US, pause);
    return vesta_next_wait(gen, &want->id, SLICE_US, pause);
}

/* Waits in slices, so that a cancelled statement ends soon. */
static int sql_issue(struct vesta_gen *gen, struct sql_want *want, bool (*is_stopped)(void *), void *self,
                     struct vesta_error *err) {
    struct vesta_pause pause;
    int64_t until_us = 0;
    while (sql_try(gen, want, &pause) != VESTA_OK) {
        int64_t now_us = sql_boot_us();
        if (is_stopped && is_stopped(self)) return sql_fail(err, VESTA_ENOTNOW, "the statement was cancelled");
        if (until_us == 0) until_us = now_us + WAIT_US;
        if (pause.wait_us < 0 || pause.wait_us > until_us - now_us) return sql_paused(gen, &pause, err);
        if (pause.wait_us > SLICE_US) usleep(SLICE_US); /* vesta_next_wait did not wait */
    }
    return VESTA_OK;
}

int vs_sql_next(struct vesta_gen *gen, bool (*is_stopped)(void *), void *self, int64_t *id, struct vesta_error *err) {
    struct sql_want want = {.shape = 0};
    int rc = sql_issue(gen, &want, is_stopped, self, err);
    if (rc != VESTA_OK) return rc;
    if (want.id > INT64_MAX) return sql_too_large(gen, want.id, err);
    *id = (int64_t)want.id;
    return VESTA_OK;
}

/* ------------------------------------------------------------------ UUIDs */

enum vesta_shape vs_sql_shape(const char *name, size_t length, struct vesta_error *err) {
    enum vesta_shape shape = length ? (enum vesta_shape)vesta_shape_find(name, length) : VESTA_UUID7;
    if (!shape)
        sql_fail(err, VESTA_EOPTION, "the shape '%s' is unknown: use uuid7, uuid8, ulid or hex32 (bad_option)",
                 sql_show(name, length).text);
    return shape;
}

int vs_sql_next_uuid(struct vesta_gen *gen, const char *shape, size_t length, bool (*is_stopped)(void *), void *self,
                     unsigned char uuid[VESTA_UUID_BYTES], struct vesta_error *err) {
    struct sql_want want = {.shape = vs_sql_shape(shape, length, err), .uuid = uuid};
    struct vesta_error why;
    if (!want.shape) return VESTA_EOPTION;
    int rc = vesta_gen_shape_check(gen, want.shape, &why);
    if (rc != VESTA_OK) return sql_explained(rc, &why, err);
    return sql_issue(gen, &want, is_stopped, self, err);
}

int vs_sql_uuid_time(const char *text, size_t length, int64_t *unix_us, struct vesta_error *err) {
    unsigned char uuid[VESTA_UUID_BYTES];
    struct vesta_error why;
    int64_t first_ms = 0;
    int rc = vesta_uuid_parse(text, length, uuid, &why);
    for (int i = 0; rc == VESTA_OK && i < 6; i++)
        first_ms = first_ms << 8 | uuid[i];
    if (rc == VESTA_OK && length == 26) /* a ULID has no version, and always a time */
        *unix_us = first_ms * 1000;
    else if (rc == VESTA_OK)
        rc = vesta_uuid_unix_us(uuid, unix_us, &why);
    return rc == VESTA_OK ? rc : sql_explained(rc, &why, err);
}

int vs_sql_typeid(const char *prefix, size_t prefix_length, const char *text, size_t length, char *buf,
                  struct vesta_error *err) {
    unsigned char uuid[VESTA_UUID_BYTES];
    char copy[VESTA_UUID_TEXT_MAX];
    struct vesta_error why;
    if (prefix_length >= sizeof copy || memchr(prefix, '\0', prefix_length)) prefix_length = sizeof copy - 1;
    memcpy(copy, prefix, prefix_length);
    copy[prefix_length] = '\0';
    int rc = vesta_uuid_parse(text, length, uuid, &why);
    if (rc == VESTA_OK) rc = vesta_typeid_format(copy, uuid, buf, &why);
    return rc == VESTA_OK ? rc : sql_explained(rc, &why, err);
}

int vs_sql_explain(struct vesta_gen *gen, int64_t id, struct vs_sql_parts *out, struct vesta_error *err) {
    const struct vesta_layout *layout = vesta_gen_layout(gen);
    struct vesta_parts parts;
    struct vesta_error why;
    int64_t us;
    int rc = vesta_explain(layout, (uint64_t)id, &parts, &why);
    if (rc != VESTA_OK) return sql_explained(rc, &why, err);
    if (__builtin_mul_overflow(parts.time, layout->unit_us, &us) ||
        __builtin_add_overflow(us, layout->epoch_ms * 1000, &us))
        return sql_fail(err, VESTA_EEPOCH,
                        "the time of %lld is after the year 294000: no database stores it (epoch_end)", (long long)id);
    out->time_us = us;
    out->worker = layout->worker >= 0 ? (int64_t)parts.worker : -1;
    return VESTA_OK;
}

/* ------------------------------------------------------------------ ranges */

/* Lists the values of the fields above the time in ids of vs_sql_next.  They are the defaults, because the handle sets
 * no fields. */
static size_t sql_given(const struct vesta_layout *layout, struct vesta_value given[VESTA_FIELDS_MAX]) {
    size_t count = 0;
    for (int i = 0; i < layout->time; i++) {
        const struct vesta_field *field = &layout->field[i];
        bool is_method = strcmp(field->name, "method") == 0;
        if (field->fixed || i == layout->worker) continue;
        given[count++] = (struct vesta_value){field->name, is_method ? (field->max < 2 ? field->max : 2) : 0};
    }
    return count;
}

/* Rounds to milliseconds, down or up. */
static int64_t sql_ms(int64_t us, bool is_up) {
    int64_t rest = us % 1000;
    return us / 1000 + (is_up && rest > 0) - (!is_up && rest < 0);
}

/* Writes a time of an interval.  Databases have infinite times. */
static void sql_iso(int64_t us, char iso[VESTA_ISO_MAX]) {
    if (us == INT64_MIN || us == INT64_MAX)
        strcpy(iso, us < 0 ? "-infinity" : "infinity");
    else
        vesta_iso(sql_ms(us, false), iso);
}

static int sql_reversed(int64_t from_us, int64_t until_us, struct vesta_error *err) {
    char from[VESTA_ISO_MAX], until[VESTA_ISO_MAX];
    sql_iso(from_us, from);
    sql_iso(until_us, until);
    return sql_fail(err, VESTA_EFIELD, "the interval ends at %s, before it starts at %s (bad_field)", until, from);
}

int vs_sql_range(struct vesta_gen *gen, int64_t from_us, int64_t until_us, struct vs_sql_range *out,
                 struct vesta_error *err) {
    const struct vesta_layout *layout = vesta_gen_layout(gen);
    struct vesta_value given[VESTA_FIELDS_MAX];
    struct vesta_pair pair;
    struct vesta_pairs pairs = {.pair = &pair, .max = 1};
    struct vesta_error why;
    struct vesta_interval interval = {.given = given, .given_count = sql_given(layout, given)};
    int64_t end_ms = vesta_layout_end_ms(layout);
    if (until_us < from_us) return sql_reversed(from_us, until_us, err); /* before rounding, which could hide it */
    interval.from_ms = sql_ms(from_us, false);
    interval.until_ms = sql_ms(until_us, true);
    /* an open end is never on the wrong side of the other end, so that errors name that end */
    if (until_us == INT64_MAX) interval.until_ms = interval.from_ms < end_ms ? end_ms : interval.from_ms + 1;
    if (from_us == INT64_MIN)
        interval.from_ms = interval.until_ms > layout->epoch_ms ? layout->epoch_ms : interval.until_ms - 1;
    int rc = vesta_range(layout, &interval, &pairs, &why);
    if (rc == VESTA_EFULL)
        return sql_fail(err, rc,
                        "the ids of an interval are not contiguous, because the layout has the worker id above the "
                        "time: compute the pairs with `vesta range` (too_many)");
    if (rc != VESTA_OK) return sql_explained(rc, &why, err);
    if (pair.max > INT64_MAX) return sql_too_large(gen, pair.max, err);
    out->min = (int64_t)pair.min;
    out->max = (int64_t)pair.max;
    return VESTA_OK;
}

/* ------------------------------------------------------------------ times */

/* Reads digits, at most `max` of them.  Returns their count. */
static int sql_digits(const char **at, const char *end, int max, int *out) {
    int count = 0;
    for (*out = 0; *at < end && count < max && **at >= '0' && **at <= '9'; ++*at, count++)
        *out = *out * 10 + (**at - '0');
    return count;
}

static bool sql_sign(const char **at, const char *end, char sign) {
    bool found = *at < end && **at == sign;
    *at += found;
    return found;
}

static bool sql_read_date(const char **at, const char *end, struct tm *tm) {
    static const int days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool is_date = sql_digits(at, end, 4, &tm->tm_year) == 4 && sql_sign(at, end, '-') &&
                   sql_digits(at, end, 2, &tm->tm_mon) == 2 && sql_sign(at, end, '-') &&
                   sql_digits(at, end, 2, &tm->tm_mday) == 2;
    if (!is_date || tm->tm_mon < 1 || tm->tm_mon > 12 || tm->tm_mday < 1 || tm->tm_mday > days[tm->tm_mon - 1])
        return false;
    int year = tm->tm_year;
    if (tm->tm_mon == 2 && tm->tm_mday == 29 && (year % 4 || (year % 100 == 0 && year % 400))) return false;
    tm->tm_year -= 1900;
    tm->tm_mon -= 1;
    return true;
}

/* Reads hh:mm, with optional seconds and fraction.  The fraction is truncated to microseconds. */
static bool sql_read_clock(const char **at, const char *end, struct tm *tm, int *us) {
    int ignored;
    if (sql_digits(at, end, 2, &tm->tm_hour) != 2 || !sql_sign(at, end, ':') ||
        sql_digits(at, end, 2, &tm->tm_min) != 2)
        return false;
    bool has_seconds = sql_sign(at, end, ':');
    if (has_seconds && sql_digits(at, end, 2, &tm->tm_sec) != 2) return false;
    if (has_seconds && sql_sign(at, end, '.')) {
        int count = sql_digits(at, end, 6, us);
        if (count == 0) return false;
        for (; count < 6; count++)
            *us *= 10;
        while (sql_digits(at, end, 9, &ignored) > 0) {
        }
    }
    return tm->tm_hour < 24 && tm->tm_min < 60 && tm->tm_sec < 60;
}

/* Reads Z or +hh:mm. */
static bool sql_read_offset(const char **at, const char *end, int *offset_s) {
    int hours, minutes, sign = **at == '-' ? -1 : 1;
    *offset_s = 0;
    if (sql_sign(at, end, 'Z')) return true;
    if (!sql_sign(at, end, '+') && !sql_sign(at, end, '-')) return false;
    bool is_offset = sql_digits(at, end, 2, &hours) == 2 && sql_sign(at, end, ':') &&
                     sql_digits(at, end, 2, &minutes) == 2 && hours < 24 && minutes < 60;
    *offset_s = is_offset ? sign * (hours * 3600 + minutes * 60) : 0;
    return is_offset;
}

int vs_sql_time_parse(const char *text, size_t length, struct vs_sql_time *out, struct vesta_error *err) {
    const char *at = text, *end = text + length;
    struct tm tm = {0};
    int us = 0, offset_s = 0;
    bool is_time = sql_read_date(&at, end, &tm);
    if (is_time && (sql_sign(&at, end, ' ') || sql_sign(&at, end, 'T'))) is_time = sql_read_clock(&at, end, &tm, &us);
    out->has_offset = is_time && at < end;
    if (out->has_offset) is_time = sql_read_offset(&at, end, &offset_s);
    if (!is_time || at < end)
        return sql_fail(err, VESTA_EFIELD,
                        "'%s' is not a time: write 2026-11-26, 2026-11-26 12:30:00 or 2026-11-26T12:30:00Z (bad_field)",
                        sql_show(text, length).text);
    out->unix_us = ((int64_t)timegm(&tm) - offset_s) * 1000000 + us;
    return VESTA_OK;
}
