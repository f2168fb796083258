/* past.c -- the module `past`: leases a range of past ticks, and prints an id for each line with a row's time. */
#include "base/error.h"
#include "base/text.h"
#include "base/time.h"
#include "command/command.h"
#include "modules/host.h"
#include "modules/slow.h"
#include "modules/tables.h"
#include "id/id.h"
#include "os/clock.h"
#include "os/host.h"
#include "os/random.h"
#include "past/past.h"
#include "vesta_uuid.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PASTS_CLASS "vesta.past"
#define PASTS_TIME_MAX 48 /* bytes of a row's time */

/* The options of both functions: the place, and strings that the table at 1 keeps alive. */
struct pasts_place {
    struct vs_lineage at;
    struct vs_store_opts opts;
};

static struct pasts_place pasts_place(lua_State *L) {
    struct pasts_place place;
    luaL_checktype(L, 1, LUA_TTABLE);
    place.at = (struct vs_lineage){.uri = host_get_text(L, 1, "uri"),
                                   .secret = host_get_text(L, 1, "secret"),
                                   .name = host_get_text(L, 1, "namespace"),
                                   .clock = vs_clock_system(),
                                   .call_ms_max = vs_lease_preset("balanced")->call_ms};
    place.opts = (struct vs_store_opts){.namespace_ = place.at.name,
                                        .group = -1,
                                        .clock = place.at.clock,
                                        .secret = place.at.secret,
                                        .call_ms_max = place.at.call_ms_max};
    return place;
}

static uint64_t pasts_number(lua_State *L, const char *key) {
    lua_getfield(L, 1, key);
    uint64_t number = (uint64_t)lua_tointeger(L, -1);
    lua_pop(L, 1);
    return number;
}

/* ------------------------------------------------------------------ a range */

static struct vesta_past *pasts_self(lua_State *L) {
    struct vesta_past **past = luaL_checkudata(L, 1, PASTS_CLASS);
    luaL_argcheck(L, *past, 1, "the range is closed");
    return *past;
}

/* past.lease({ uri, namespace, secret, layout, fallback, fields, method, from_ms, until_ms, count, worker })
 *   -> range | nil, text, code
 * secret, layout, fields, method and worker may be nil. */
static int pasts_lease(lua_State *L) {
    struct pasts_place place = pasts_place(L);
    const char *wanted = host_get_text(L, 1, "layout");
    struct vesta_layout layout, fallback;
    struct vesta_error err;
    char host[64], holder[VS_HOLDER_MAX], shown[VS_URI_MAX];
    vs_host_name(host, sizeof host);
    snprintf(holder, sizeof holder, "%s pid %d: vesta range lease", host, (int)getpid());
    struct vs_past_ask ask = {
        .layout = wanted ? &layout : NULL,
        .fallback = &fallback,
        .span = {(int64_t)pasts_number(L, "from_ms"), (int64_t)pasts_number(L, "until_ms"), pasts_number(L, "count")},
        .has_worker = host_get_flag(L, 1, "worker"),
        .worker = pasts_number(L, "worker"),
        .fields = host_get_text(L, 1, "fields"),
        .method = host_get_text(L, 1, "method"),
        .holder = holder};
    if (vesta_layout_parse(wanted ? wanted : host_get_text(L, 1, "fallback"), wanted ? &layout : &fallback, &err) !=
        VESTA_OK)
        return host_fail(L, &err);
    struct vesta_past **past = lua_newuserdatauv(L, sizeof *past, 0);
    *past = NULL;
    luaL_setmetatable(L, PASTS_CLASS);
    vs_slow_begin(vs_store_public(place.at.uri, shown));
    int rc = vs_past_open_at(&place.at, &ask, past, &err);
    vs_slow_end();
    return rc == VESTA_OK ? 1 : host_fail(L, &err);
}

/* range:info() -> { layout, worker, from_ms, until_ms, count, left, others, lease, base, first, min, max }
 * min, max: the smallest and the largest id. */
static int pasts_info(lua_State *L) {
    struct vesta_past_info info;
    char text[VESTA_LAYOUT_TEXT_MAX];
    vesta_past_get_info(pasts_self(L), &info);
    vesta_layout_text(&info.layout, text);
    lua_createtable(L, 0, 12);
    host_set_text(L, "layout", text);
    host_set_text(L, "lease", info.text);
    host_set_integer(L, "worker", (int64_t)info.worker);
    host_set_integer(L, "from_ms", info.from_ms);
    host_set_integer(L, "until_ms", info.until_ms);
    host_set_integer(L, "count", (int64_t)info.block.count);
    host_set_integer(L, "left", (int64_t)info.left);
    host_set_integer(L, "others", (int64_t)info.others);
    host_set_integer(L, "base", (int64_t)info.block.base);
    host_set_integer(L, "first", (int64_t)info.block.first);
    host_set_integer(L, "min", (int64_t)vesta_block_id(&info.layout, &info.block, 0));
    host_set_integer(L, "max", (int64_t)vesta_block_id(&info.layout, &info.block, info.block.count - 1));
    return 1;
}

/* range:release() -> true | nil, text, code */
static int pasts_release(lua_State *L) {
    struct vesta_error err;
    if (vesta_past_release(pasts_self(L), &err) != VESTA_OK) return host_fail(L, &err);
    lua_pushboolean(L, 1);
    return 1;
}

static int pasts_close(lua_State *L) {
    struct vesta_past **past = luaL_checkudata(L, 1, PASTS_CLASS);
    vesta_past_close(*past);
    *past = NULL;
    return 0;
}

/* ------------------------------------------------------------------ lines */

/* Reads a row's time: Unix milliseconds, a day, or a date and time as databases write it.  A time without a zone is
 * UTC, and a fraction is rounded down to milliseconds. */
static int pasts_time(struct vs_slice text, int64_t *unix_ms, struct vesta_error *err) {
    char buf[PASTS_TIME_MAX];
    size_t used = text.length < 19 ? text.length : 19, at = used;
    if (text.length < 10 || text.length > 40 || memchr("0123456789", text.at[4], 10))
        return vs_time_read(text, unix_ms, err); /* digits, or an error */
    memcpy(buf, text.at, used);
    if (text.length == 10) {
        memcpy(buf + used, "T00:00:00", 9);
        used += 9;
    }
    if (at < text.length && text.at[at] == '.') {
        for (size_t digits = 0; at < text.length && (digits == 0 || (text.at[at] >= '0' && text.at[at] <= '9'));
             digits++)
            if (digits <= 3)
                buf[used++] = text.at[at++];
            else
                at++;
    }
    size_t zone = text.length - at;
    memcpy(buf + used, text.at + at, zone);
    used += zone;
    if (zone == 0) buf[used++] = 'Z';
    if (zone == 3) used += (size_t)snprintf(buf + used, sizeof buf - used, ":00"); /* PostgreSQL's +00 */
    return vs_time_read((struct vs_slice){buf, used}, unix_ms, err);
}

struct pasts_run {
    struct vesta_past *past;
    int base;
    enum vesta_shape shape; /* of the ids to print (0: 64 bits) */
    uint8_t key[VESTA_UUID_KEY_BYTES];
    struct vesta_layout layout;
    uint64_t count, line;
    struct vs_digits digits;
};

/* Returns the end of the id's text. */
static char *pasts_put(struct pasts_run *run, uint64_t id, char *at) {
    uint8_t uuid[VESTA_UUID_BYTES];
    if (!run->shape)
        return at + (run->base == VESTA_DECIMAL ? vs_digits_put(&run->digits, id, at)
                                                : vesta_format((enum vesta_base)run->base, id, at));
    int rc = vesta_uuid_make(&run->layout, run->shape, id, run->key, uuid, NULL);
    assert(rc == VESTA_OK); /* pasts_begin_shape has checked the layout, and no past time exceeds 48 bits */
    (void)rc;
    return at + vesta_uuid_format(run->shape, uuid, at);
}

/* Prints the id of a row.  The text after the line's first tab follows it. */
static int pasts_row(struct pasts_run *run, struct vs_slice line, struct vesta_error *err) {
    struct vs_slice time = line, rest = {NULL, 0};
    int64_t unix_ms;
    uint64_t id;
    bool has_rest = vs_slice_split(line, '\t', &time, &rest);
    int rc = pasts_time(time, &unix_ms, err);
    if (rc == VESTA_OK) rc = vesta_past_next(run->past, unix_ms, &id, err);
    if (rc != VESTA_OK) return rc;
    char *begin = vs_out_room(VESTA_UUID_TEXT_MAX + 2), *end = pasts_put(run, id, begin);
    *end++ = has_rest ? '\t' : '\n';
    vs_out_took((size_t)(end - begin));
    if (has_rest) {
        vs_out_write(rest.at, rest.length);
        vs_out_write("\n", 1);
    }
    run->count++;
    return VESTA_OK;
}

static int pasts_rows(struct pasts_run *run, FILE *file, struct vesta_error *err) {
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    int rc = VESTA_OK;
    while (rc == VESTA_OK && !vs_out_gone() && (length = getline(&line, &room, file)) >= 0) {
        run->line++;
        if (length > 0 && line[length - 1] == '\n') length--;
        if (length > 0 && line[length - 1] == '\r') length--;
        rc = pasts_row(run, (struct vs_slice){line, (size_t)length}, err);
    }
    if (rc == VESTA_OK && ferror(file)) rc = vs_fail(err, VESTA_EIO, "cannot read the times: %s", strerror(errno));
    free(line);
    return rc;
}

static int pasts_begin_shape(struct pasts_run *run, const char *name, struct vesta_error *err) {
    struct vesta_past_info info;
    vesta_past_get_info(run->past, &info);
    run->layout = info.layout;
    run->shape = (enum vesta_shape)vesta_shape_find(name, strlen(name));
    if (vs_random(run->key, sizeof run->key) != 0)
        return vs_fail(err, VESTA_EIO, "the kernel returned no random bytes");
    return vesta_shape_check(&run->layout, run->shape, err);
}

/* range:fill(path, base, shape) -> how many ids were printed | nil, text, code, how many
 * Reads a row's time from each line of a file ("-": stdin), and prints its id.  shape may be nil. */
static int pasts_fill(lua_State *L) {
    static const char *const bases[] = {"dec", "hex", "base32", "base62", NULL};
    struct pasts_run run = {.past = pasts_self(L)};
    const char *path = luaL_checkstring(L, 2);
    struct vesta_error err, why;
    run.base = luaL_checkoption(L, 3, "dec", bases);
    bool is_stdin = strcmp(path, "-") == 0;
    FILE *file = is_stdin ? stdin : fopen(path, "re");
    int rc = file ? VESTA_OK : vs_fail(&why, VESTA_EIO, "cannot open %s: %s", vs_shown_text(path), strerror(errno));
    if (rc == VESTA_OK && lua_isstring(L, 4)) rc = pasts_begin_shape(&run, lua_tostring(L, 4), &why);
    if (rc == VESTA_OK) rc = pasts_rows(&run, file, &why);
    if (file && !is_stdin) fclose(file);
    if (rc != VESTA_OK && run.line)
        vs_fail(&err, rc, "line %" PRIu64 ": %s", run.line, why.text);
    else
        err = why;
    lua_pushinteger(L, (lua_Integer)run.count);
    if (rc == VESTA_OK) return 1;
    int count = host_fail(L, &err);
    lua_pushinteger(L, (lua_Integer)run.count);
    return count + 1;
}

/* ------------------------------------------------------------------ a range of another process */

/* past.release({ uri, namespace, secret, lease, last }) -> true | nil, text, code
 * lease: the text of a range.  last: the largest id that was made of it, as digits, or nil if none was made. */
static int pasts_give_back(lua_State *L) {
    struct pasts_place place = pasts_place(L);
    const char *text = host_get_text(L, 1, "lease"), *last = host_get_text(L, 1, "last");
    struct vs_past_range range = {.worker = 0};
    struct vesta_error err;
    struct vs_reply reply;
    uint64_t id = 0, next;
    int rc = vs_past_read(text, &range)
                 ? VESTA_OK
                 : vs_fail(&err, VESTA_EOPTION, "%s is not a lease: use the text that vesta range lease printed",
                           vs_shown_text(text));
    if (rc == VESTA_OK && last && vesta_parse(VESTA_DECIMAL, last, strlen(last), &id) != VESTA_OK)
        rc = vs_fail(&err, VESTA_EOPTION, "--last is %s, which must be an id in decimal digits", vs_shown_text(last));
    if (rc == VESTA_OK) rc = vs_store_open(place.at.uri, &place.opts, &place.at.store, &err);
    if (rc != VESTA_OK) return host_fail(L, &err);
    struct vs_store *store = place.at.store;
    store->leases->ns_read(store, &reply);
    if (reply.outcome != VS_STORE_OK || reply.ns.ver == 0)
        rc = vs_fail(&err, VESTA_EIO, "cannot read the namespace %s: %.300s", place.at.name,
                     reply.outcome == VS_STORE_OK ? "it is not in the store" : reply.text);
    if (rc == VESTA_OK) rc = vesta_layout_parse(reply.ns.layout, &range.layout, &err);
    if (rc == VESTA_OK && range.worker > vs_worker_max(&range.layout))
        rc = vs_fail(&err, VESTA_EOPTION, "the namespace has no worker id %" PRIu64 ": check its name", range.worker);
    next = range.from;
    if (rc == VESTA_OK && last && (rc = vs_past_tick_of(&range, id, &next, &err)) == VESTA_OK) next++;
    if (rc == VESTA_OK) rc = vs_past_give_back(store, &range, next, &err);
    store->backend->close(store);
    if (rc != VESTA_OK) return host_fail(L, &err);
    lua_pushboolean(L, 1);
    return 1;
}

int host_open_past(lua_State *L) {
    static const luaL_Reg functions[] = {{"lease", pasts_lease}, {"release", pasts_give_back}, {NULL, NULL}};
    static const luaL_Reg methods[] = {{"info", pasts_info},
                                       {"fill", pasts_fill},
                                       {"release", pasts_release},
                                       {"close", pasts_close},
                                       {"__gc", pasts_close},
                                       {"__close", pasts_close},
                                       {NULL, NULL}};
    host_class(L, PASTS_CLASS, methods);
    luaL_newlib(L, functions);
    return 1;
}
