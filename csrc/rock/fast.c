/* fast.c -- functions that lua/vesta/fast.lua calls through LuaJIT's FFI, for one id or for several.  They do not
 * report pauses.  In a pause, the Lua code calls the normal method instead, which can wait and returns the reason. */
#include "base/text.h"
#include "rock/border.h"

#include <string.h>

#define PIECE 512    /* ids per call for a larger batch.  A limit keeps the buffer that Lua allocates small */
#define TEXT_ROOM 32 /* bytes per string in an array of strings.  The last byte is the string's length */
_Static_assert(TEXT_ROOM > VESTA_FORMAT_MAX, "the length has a byte of its own");

/* Returns an id in a register, so that no buffer is shared between callers.  Returns 0 if no id is available at once.
 * If the id itself is 0, it is lost. */
static uint64_t next_int(struct vesta_gen *gen) {
    struct vesta_pause pause;
    uint64_t id;
    return vesta_next(gen, &id, &pause) == VESTA_OK ? id : 0;
}

/* Writes an id as a string and returns its length, or 0 if no id is available at once. */
static int next_text(struct vesta_gen *gen, char *text) {
    struct vesta_pause pause;
    uint64_t id;
    return vesta_next(gen, &id, &pause) == VESTA_OK ? (int)vesta_format(VESTA_DECIMAL, id, text) : 0;
}

/* Returns the number of ids taken.  Range: n is at most PIECE. */
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

/* Converts the string of a valid id to the id. */
static uint64_t fast_parse(const char *text) {
    uint64_t id = 0;
    (void)vesta_parse(VESTA_DECIMAL, text, strlen(text), &id);
    return id;
}

/* Passes the functions' addresses as numbers, which are exact below 2^53.  Therefore, fast.lua needs neither a dlopen
 * of this file nor C declarations.  A declaration could conflict with one in another library, or with itself if
 * fast.lua is loaded twice. */
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
