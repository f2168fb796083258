/* vm.c -- a Lua state with limits: its allocator, and the budget of a run.  Does not depend on policies.
 *
 * A hook counts the budget at every call and after every STEP instructions.  Once the budget is spent, the hook runs at
 * each instruction and each call, and raises an error every time.  So nothing continues to run, even if the error is
 * caught.  The main limit is the number of instructions, because it does not depend on the machine.  Work in C is also
 * counted as instructions: allocated memory, strings passed to a function, moved elements, forced collections.  The
 * time limit is far higher, and ends work that costs more than its count.  For example, comparing two long strings is
 * one instruction.
 *
 * The hook cannot interrupt a single instruction or a single C function.  Their time is bounded in other ways:
 * - patterns, xpcall, load, coroutines and metatables (__gc, __close, __mode) are not available (lua/vesta/engine.lua)
 * - a C function that calls back, such as sort with a comparator, reaches the hook at each call
 * - a C function that loops over a string or a table is bounded by VS_BLOCK_BYTES_MAX, about a millisecond
 * - if memory runs short, the collector may run at every allocation, so the allocator reads the clock
 * - the compiler reads at most VS_SOURCE_BYTES_MAX, which takes a fifth of a second for the worst known source
 * No known code runs for ever.  The watchdog (control.c) handles unknown cases. */
#include "host/vm.h"

#include "base/error.h"
#include "os/thread.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEP 100     /* number of instructions between two hooks */
#define CALL_STEP 10 /* a call counts as this many instructions */
/* Bytes allocated, or visited by a collection, that count as one instruction. */
#define MADE_BYTES 64
#define READ_BYTES 16 /* bytes of a string argument that count as one instruction */
/* instructions between two reads of the clock, each of which is a system call */
#define CLOCK_STEP 1000
#define MEMORY_BYTES_MIN ((size_t)64 * 1024) /* an empty state needs part of this */

struct vs_lua {
    lua_State *L;
    struct vs_vm_limits limits;
    size_t used_bytes;
    size_t own_bytes; /* memory in use after vs_lua_boot, which is not charged to the policy */
    bool is_booting;  /* true during vs_lua_boot, when no limits apply */
    /* state of the current run */
    bool running;
    bool is_trusted; /* see vs_lua_trust */
    /* the last allocation failed because the machine has no memory, not because of the limit */
    bool exhausted;
    enum vs_call_result spent;   /* the limit that ended the run.  VS_CALL_OK: budget not spent */
    char where[LUA_IDSIZE + 24]; /* "file:line: " at which the budget was spent */
    uint64_t instructions;
    uint64_t work;   /* work in C, added to the instructions at the next hook */
    uint64_t unseen; /* instructions counted since the last read of the clock */
    int64_t deadline_us;
};

static void vm_on_hook(lua_State *L, lua_Debug *ar);

static struct vs_lua *vm_of(lua_State *L) {
    void *lua;
    lua_getallocf(L, &lua);
    return lua;
}

/* ------------------------------------------------------------------ the budget */

static void vm_spend(struct vs_lua *lua, enum vs_call_result what) {
    if (lua->spent != VS_CALL_OK) return; /* keep the first reason */
    lua->spent = what;
    lua_sethook(lua->L, vm_on_hook, LUA_MASKCALL | LUA_MASKCOUNT, 1);
}

static void vm_look_at_clock(struct vs_lua *lua) {
    const struct vesta_clock *clock = lua->limits.clock;
    lua->unseen = 0;
    bool is_cancelled = lua->limits.cancel && atomic_load(lua->limits.cancel);
    if (is_cancelled || clock->boot_us(clock->self) >= lua->deadline_us) vm_spend(lua, VS_CALL_TIME);
}

/* Records the innermost running line of Lua. */
static void vm_note_where(struct vs_lua *lua) {
    lua_Debug ar;
    for (int level = 0; lua->where[0] == 0 && lua_getstack(lua->L, level, &ar); level++) {
        lua_getinfo(lua->L, "Sl", &ar);
        if (ar.currentline > 0 && strcmp(ar.source, VS_LUA_OWN_CHUNK) != 0)
            snprintf(lua->where, sizeof lua->where, "%s:%d: ", ar.short_src, ar.currentline);
    }
}

/* Returns the cost of a call.  A C function may read its first two arguments if they are strings. */
static uint64_t vm_call_work(lua_State *L, lua_Debug *ar) {
    uint64_t bytes = 0;
    for (int i = 1; i <= 2 && lua_getlocal(L, ar, i); i++) {
        if (lua_type(L, -1) == LUA_TSTRING) bytes += lua_rawlen(L, -1);
        lua_pop(L, 1);
    }
    return CALL_STEP + bytes / READ_BYTES;
}

void vs_lua_work(lua_State *L, uint64_t elements) {
    vm_of(L)->work += elements;
}

static void vm_count(struct vs_lua *lua, uint64_t step) {
    step += lua->work;
    lua->work = 0;
    lua->instructions += step;
    lua->unseen += step;
    if (lua->instructions > lua->limits.instructions)
        vm_spend(lua, VS_CALL_INSTRUCTIONS);
    else if (lua->unseen >= CLOCK_STEP)
        vm_look_at_clock(lua);
}

static void vm_on_hook(lua_State *L, lua_Debug *ar) {
    struct vs_lua *lua = vm_of(L);
    if (lua->spent == VS_CALL_OK) vm_count(lua, ar->event == LUA_HOOKCOUNT ? STEP : vm_call_work(L, ar));
    if (lua->spent == VS_CALL_OK) return;
    vm_note_where(lua);
    lua_pushnil(L); /* vs_lua_run writes the message, because there may be no memory for it here */
    lua_error(L);
}

void vs_lua_go_on(lua_State *L, int status) {
    struct vs_lua *lua = vm_of(L);
    if (status == LUA_ERRMEM) vm_spend(lua, VS_CALL_MEMORY);
    if (lua->spent == VS_CALL_OK) return;
    vm_note_where(lua);
    lua_pushnil(L);
    lua_error(L);
}

/* ------------------------------------------------------------------ the allocator */

static void *vm_allocate(void *self, void *block, size_t old_bytes, size_t bytes) {
    struct vs_lua *lua = self;
    if (!block) old_bytes = 0; /* for a new block, Lua passes the object's type in this argument */
    if (bytes == 0) {
        free(block);
        lua->used_bytes -= old_bytes;
        return NULL;
    }
    bool grows = bytes > old_bytes;
    size_t left = lua->limits.memory_bytes + lua->own_bytes - lua->used_bytes;
    bool is_too_large = bytes > VS_BLOCK_BYTES_MAX && !lua->is_trusted;
    if (grows && !lua->is_booting && (is_too_large || bytes - old_bytes > left)) {
        lua->exhausted = false;
        /* Lua runs a full collection at each failed allocation, and there may be many */
        lua->work += lua->used_bytes / MADE_BYTES;
        if (lua->running && !lua->is_trusted) vm_look_at_clock(lua);
        return NULL;
    }
    if (grows) lua->work += (bytes - old_bytes) / MADE_BYTES;
    void *made = realloc(block, bytes);
    if (!made && !grows) made = block; /* Lua requires that shrinking a block never fails */
    if (grows) lua->exhausted = !made;
    if (made) lua->used_bytes = lua->used_bytes - old_bytes + bytes;
    return made;
}

/* ------------------------------------------------------------------ open, run, close */

static int vm_take_limits(const struct vs_vm_limits *given, struct vs_vm_limits *out, struct vesta_error *err) {
    *out = given ? *given : (struct vs_vm_limits){0};
    if (out->call_ms == 0) out->call_ms = VS_CALL_MS;
    if (out->instructions == 0) out->instructions = 10 * 1000 * 1000;
    if (out->memory_bytes == 0) out->memory_bytes = (size_t)16 * 1024 * 1024;
    if (!out->clock) out->clock = vs_clock_thread();
    if (out->call_ms < 1 || out->call_ms > VS_CALL_MS_MAX)
        return vs_fail(err, VESTA_EOPTION, "a policy's time limit of %lld ms is out of range: use 1 to %d",
                       (long long)out->call_ms, VS_CALL_MS_MAX);
    if (out->memory_bytes < MEMORY_BYTES_MIN)
        return vs_fail(err, VESTA_EOPTION,
                       "a policy's memory limit of %zu bytes is less than %zu, which Lua needs itself",
                       out->memory_bytes, MEMORY_BYTES_MIN);
    return VESTA_OK;
}

int vs_lua_open(const struct vs_vm_limits *limits, struct vs_lua **out, struct vesta_error *err) {
    struct vs_vm_limits taken;
    int rc = vm_take_limits(limits, &taken, err);
    if (rc != VESTA_OK) return rc;
    struct vs_lua *lua = calloc(1, sizeof *lua);
    if (!lua) return vs_fail(err, VESTA_ENOMEM, "no memory");
    lua->limits = taken;
    lua->L = lua_newstate(vm_allocate, lua);
    if (!lua->L) {
        free(lua);
        return vs_fail(err, VESTA_ENOMEM, "no memory");
    }
    *out = lua;
    return VESTA_OK;
}

void vs_lua_trust(struct vs_lua *lua, size_t memory_bytes) {
    assert(!lua->running);
    lua->is_trusted = true;
    lua->limits.memory_bytes = memory_bytes;
}

void vs_lua_close(struct vs_lua *lua) {
    if (!lua) return;
    lua_close(lua->L);
    assert(lua->used_bytes == 0);
    free(lua);
}

lua_State *vs_lua_state(const struct vs_lua *lua) {
    return lua->L;
}

int vs_lua_boot(struct vs_lua *lua, lua_CFunction body, void *arg, struct vesta_error *err) {
    lua_State *L = lua->L;
    lua->spent = VS_CALL_OK;
    lua->is_booting = true;
    lua_pushcfunction(L, body);
    lua_pushlightuserdata(L, arg);
    int rc = lua_pcall(L, 1, 0, 0);
    if (rc == LUA_OK) lua_gc(L, LUA_GCCOLLECT);
    lua->is_booting = false;
    lua->own_bytes = lua->used_bytes;
    if (rc == LUA_ERRMEM || lua->spent == VS_CALL_MEMORY)
        rc = vs_fail(err, VESTA_ENOMEM, "no memory");
    else if (rc != LUA_OK)
        rc = vs_fail(err, VESTA_EOPTION, "%s", lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "no text");
    lua_settop(L, 0);
    return rc;
}

/* Writes the message for a failed run.  The error value is at the top of the stack. */
static void vm_explain(const struct vs_lua *lua, enum vs_call_result result, struct vesta_error *err) {
    int code = lua->exhausted ? VESTA_ENOMEM : VESTA_EOPTION;
    size_t length = 0;
    const char *text = NULL;
    switch (result) {
    case VS_CALL_INSTRUCTIONS:
        vs_fail(err, code, "%sended after %llu instructions, which is the limit of a call", lua->where,
                (unsigned long long)lua->limits.instructions);
        return;
    case VS_CALL_TIME:
        vs_fail(err, code, "%sended after %lld ms, which is the limit of a call", lua->where,
                (long long)lua->limits.call_ms);
        return;
    case VS_CALL_MEMORY:
        if (lua->exhausted)
            vs_fail(err, code, "no memory");
        else
            vs_fail(err, code,
                    "%sended for using too much memory: it may have %zu KiB, and no string or table more than %zu KiB",
                    lua->where, lua->limits.memory_bytes / 1024, VS_BLOCK_BYTES_MAX / 1024);
        return;
    default: break;
    }
    /* Reads the error only if it is a string, because converting another type could allocate memory. */
    if (lua_type(lua->L, -1) == LUA_TSTRING) text = lua_tolstring(lua->L, -1, &length);
    vs_fail(err, code, "the error it raised is a %s, not a string", luaL_typename(lua->L, -1));
    if (text && err) vs_calm(err->text, sizeof err->text, text, length);
}

enum vs_call_result vs_lua_run(struct vs_lua *lua, lua_CFunction body, void *arg, struct vesta_error *err) {
    lua_State *L = lua->L;
    const struct vesta_clock *clock = lua->limits.clock;
    assert(!lua->running && lua_gettop(L) == 0);
    lua->running = true;
    lua->exhausted = false;
    lua->spent = VS_CALL_OK;
    lua->where[0] = 0;
    lua->instructions = 0;
    lua->work = 0;
    lua->unseen = 0;
    lua->deadline_us = clock->boot_us(clock->self) + lua->limits.call_ms * 1000;
    if (!lua->is_trusted) lua_sethook(L, vm_on_hook, LUA_MASKCALL | LUA_MASKCOUNT, STEP);
    lua_pushcfunction(L, body);
    lua_pushlightuserdata(L, arg);
    int rc = lua_pcall(L, 1, 0, 0);
    lua_sethook(L, NULL, 0, 0);
    lua->running = false;
    enum vs_call_result result = lua->spent;
    if (result == VS_CALL_OK && rc != LUA_OK) result = rc == LUA_ERRMEM ? VS_CALL_MEMORY : VS_CALL_ERROR;
    if (result != VS_CALL_OK) vm_explain(lua, result, err);
    lua_settop(L, 0);
    return result;
}

/* Each message starts with the chunk's name.  luaL_error would prepend the position in the engine instead. */
void vs_lua_compile(lua_State *L, const char *text, size_t length, const char *chunk) {
    int rc = LUA_OK;
    if (length > VS_SOURCE_BYTES_MAX)
        lua_pushfstring(L, "%s: more than %d bytes", chunk + 1, (int)VS_SOURCE_BYTES_MAX), rc = LUA_ERRSYNTAX;
    else if (length > 0 && text[0] == LUA_SIGNATURE[0])
        lua_pushfstring(L, "%s: this is compiled Lua. Pass its source", chunk + 1), rc = LUA_ERRSYNTAX;
    else
        vs_lua_go_on(L, rc = luaL_loadbufferx(L, text, length, chunk, "t"));
    if (rc == LUA_ERRRUN) lua_pushfstring(L, "%s: it nests too deep (%s)", chunk + 1, lua_tostring(L, -1));
    if (rc != LUA_OK) lua_error(L);
    lua_insert(L, -2);
    lua_setupvalue(L, -2, 1); /* the only upvalue of a chunk is _ENV */
}

const struct vs_shipped *vs_shipped_in(const struct vs_shipped *list, const char *name) {
    for (; list->name; list++)
        if (strcmp(list->name, name) == 0) return list;
    return NULL;
}

/* ------------------------------------------------------------------ text from outside */

/* Returns the length of the UTF-8 character at `at`, or 0 for an invalid or a control character. */
static size_t vm_utf8_length(const unsigned char *at, size_t length) {
    static const uint32_t least[] = {0, 0, 0xa0, 0x800, 0x10000}; /* 0x80 to 0x9f are control characters */
    if (at[0] < 0x80) return at[0] >= ' ' && at[0] != 0x7f ? 1 : 0;
    size_t n = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
    if (at[0] < 0xc0 || at[0] >= 0xf8 || n > length) return 0;
    uint32_t point = at[0] & (0x7fU >> n);
    for (size_t i = 1; i < n; i++) {
        if ((at[i] & 0xc0) != 0x80) return 0;
        point = point << 6 | (at[i] & 0x3f);
    }
    bool surrogate = point >= 0xd800 && point < 0xe000, separator = point == 0x2028 || point == 0x2029;
    return point >= least[n] && point <= 0x10ffff && !surrogate && !separator ? n : 0;
}

void vs_calm(char *buf, size_t size, const char *text, size_t length) {
    size_t used = 0, room = size - sizeof "...";
    for (size_t i = 0; i < length;) {
        char escaped[5];
        size_t n = vm_utf8_length((const unsigned char *)text + i, length - i);
        size_t adds = n > 0 ? n : 4;
        if (used + adds > room) {
            memcpy(buf + used, "...", 3);
            used += 3;
            break;
        }
        if (n == 0) snprintf(escaped, sizeof escaped, "\\x%02x", (unsigned char)text[i]);
        memcpy(buf + used, n > 0 ? text + i : escaped, adds);
        used += adds;
        i += n > 0 ? n : 1;
    }
    buf[used] = 0;
}
