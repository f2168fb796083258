/* fast.c -- what lua/vesta/fast.lua calls through LuaJIT's FFI: one call for one id, or for as many as there are at once.
 * No pause is told of: the caller asks again on the way that knows how to wait, and what to say. */
#include "base/text.h"
#include "rock/border.h"

#include <string.h>

#define PIECE 512    /* ids that a larger batch is taken by: the room for them, which Lua counts, stays small */
#define TEXT_ROOM 32 /* of a text in a row of them; its last byte is the text's length */
_Static_assert(TEXT_ROOM > VESTA_FORMAT_MAX, "the length has a byte of its own");

/* In a register, so that no memory is shared with who else asks in between.  0: there is none at once; an id that is 0
 * is passed over. */
static uint64_t next_int(struct vesta_gen *gen) {
    struct vesta_pause pause;
    uint64_t id;
    return vesta_next(gen, &id, &pause) == VESTA_OK ? id : 0;
}

/* Its length.  0: there is none at once. */
static int next_text(struct vesta_gen *gen, char *text) {
    struct vesta_pause pause;
    uint64_t id;
    return vesta_next(gen, &id, &pause) == VESTA_OK ? (int)vesta_format(VESTA_DECIMAL, id, text) : 0;
}

/* How many of n, which is at most PIECE, are in ids. */
static int next_ints(struct vesta_gen *gen, int n, uint64_t *ids) {
    struct vesta_pause pause;
    size_t got;
    return vesta_next_n(gen, ids, (size_t)n, &got, &pause) == VESTA_OK ? (int)got : 0;
}

static int next_texts(struct vesta_gen *gen, int n, char *texts) {
    uint64_t ids[PIECE];
    struct vs_digits digits = {0};
    int got = next_ints(gen, n, ids);
    for (int i = 0; i < got; i++, texts += TEXT_ROOM)
        texts[TEXT_ROOM - 1] = (char)vs_digits_put(&digits, ids[i], texts);
    return got;
}

static int fast_format(uint64_t id, char *text) {
    return (int)vesta_format(VESTA_DECIMAL, id, text);
}

/* Of a text that is an id. */
static uint64_t fast_parse(const char *text) {
    uint64_t id = 0;
    (void)vesta_parse(VESTA_DECIMAL, text, strlen(text), &id);
    return id;
}

/* Addresses as numbers (exact below 2^53): no second dlopen to find this very file again, and no C declaration that a
 * second load, or another library's, could contradict. */
void vs_lua_open_fast(lua_State *L) {
    lua_newtable(L);
    vs_lua_set_integer(L, "next_int", (int64_t)(uintptr_t)next_int);
    vs_lua_set_integer(L, "next_text", (int64_t)(uintptr_t)next_text);
    vs_lua_set_integer(L, "next_ints", (int64_t)(uintptr_t)next_ints);
    vs_lua_set_integer(L, "next_texts", (int64_t)(uintptr_t)next_texts);
    vs_lua_set_integer(L, "format", (int64_t)(uintptr_t)fast_format);
    vs_lua_set_integer(L, "parse", (int64_t)(uintptr_t)fast_parse);
    vs_lua_set_integer(L, "piece", PIECE);
    vs_lua_set_integer(L, "text_room", TEXT_ROOM);
    lua_setfield(L, -2, "calls");
}
