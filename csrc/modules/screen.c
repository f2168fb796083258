/* screen.c -- the module `screen`: a terminal's second screen for as long as a command needs it, and its keys. */
#include "command/command.h"
#include "modules/host.h"

#include <errno.h>
#include <lauxlib.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#define SCREEN_ROWS_UNLESS_KNOWN 24
#define SCREEN_CLASS "vesta.screen"

static struct termios screen_before;
static bool screen_is_open, screen_is_raw;

static void screen_restore(void) {
    if (!screen_is_open) return;
    screen_is_open = false;
    vs_outf("\033[?7h\033[?25h\033[?1049l\r\033[K\n");
    vs_out_flush();
    if (screen_is_raw) tcsetattr(STDIN_FILENO, TCSANOW, &screen_before);
    screen_is_raw = false;
}

static int screen_close(lua_State *L) {
    (void)L;
    screen_restore();
    return 0;
}

/* screen.open() -> a value for `local screen <close>`, whose end restores the terminal; so does the program's.
 * Keys arrive at once and without echo.  Ctrl-C still is a signal.  Lines that are too wide are not wrapped. */
static int screen_open(lua_State *L) {
    static bool has_exit;
    struct termios now;
    lua_newuserdatauv(L, 0, 0);
    luaL_setmetatable(L, SCREEN_CLASS);
    if (!has_exit && atexit(screen_restore) == 0) has_exit = true;
    if (tcgetattr(STDIN_FILENO, &screen_before) == 0) {
        now = screen_before;
        now.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        now.c_cc[VSUSP] = _POSIX_VDISABLE; /* a stopped program would leave the terminal like this */
        screen_is_raw = tcsetattr(STDIN_FILENO, TCSANOW, &now) == 0;
    }
    screen_is_open = true;
    vs_outf("\033[?1049h\033[?25l\033[?7l\n"); /* the second screen, no cursor, no wrapping */
    vs_out_flush();
    return 1;
}

/* screen.keys() -> the bytes that were typed; nil if no more can follow.  Blocks unless wire.wait told of a key. */
static int screen_keys(lua_State *L) {
    char typed[256];
    ssize_t n = read(STDIN_FILENO, typed, sizeof typed);
    if (n > 0)
        lua_pushlstring(L, typed, (size_t)n);
    else if (n < 0 && (errno == EINTR || errno == EAGAIN))
        lua_pushliteral(L, "");
    else
        lua_pushnil(L);
    return 1;
}

static int screen_rows(lua_State *L) {
    struct winsize size;
    bool is_known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row;
    lua_pushinteger(L, is_known ? size.ws_row : SCREEN_ROWS_UNLESS_KNOWN);
    return 1;
}

/* screen.has_keys(), screen.is_shown(): whether stdin and stdout are a terminal. */
static int screen_has_keys(lua_State *L) {
    lua_pushboolean(L, isatty(STDIN_FILENO));
    return 1;
}

static int screen_is_shown(lua_State *L) {
    lua_pushboolean(L, isatty(STDOUT_FILENO));
    return 1;
}

/* screen.is_gone(): stdout cannot be written any more. */
static int screen_is_gone(lua_State *L) {
    lua_pushboolean(L, vs_out_gone());
    return 1;
}

int host_open_screen(lua_State *L) {
    static const luaL_Reg functions[] = {{"open", screen_open},
                                         {"keys", screen_keys},
                                         {"rows", screen_rows},
                                         {"has_keys", screen_has_keys},
                                         {"is_shown", screen_is_shown},
                                         {"is_gone", screen_is_gone},
                                         {NULL, NULL}};
    luaL_newmetatable(L, SCREEN_CLASS);
    lua_pushcfunction(L, screen_close);
    lua_setfield(L, -2, "__close");
    lua_pop(L, 1);
    luaL_newlib(L, functions);
    return 1;
}
