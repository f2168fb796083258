/* screen.c -- the module `screen`: uses a terminal's alternate screen while a command needs it, and reads keys. */
#include "base/array.h"
#include "command/command.h"
#include "modules/host.h"

#include <errno.h>
#include <lauxlib.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#define SCREEN_ROWS_UNLESS_KNOWN 24
#define SCREEN_CLASS "vesta.screen"

#define SCREEN_ENTER "\033[?1049h\033[?25l\033[?7l\n" /* alternate screen on, cursor off, wrapping off */
#define SCREEN_LEAVE "\033[?7h\033[?25h\033[?1049l\r\033[K\n"

static struct termios screen_before;
static volatile sig_atomic_t screen_is_open, screen_is_raw;

/* Signal handlers also call the next three functions.  Therefore these functions use no buffer and no lock. */

static void screen_put(const char *codes, size_t length) {
    ssize_t put = write(STDOUT_FILENO, codes, length);
    (void)put; /* if the write fails, the terminal is gone */
}

static void screen_enter(void) {
    struct termios now;
    if (tcgetattr(STDIN_FILENO, &now) == 0) {
        if (now.c_lflag & ICANON) screen_before = now; /* otherwise the mode has already been changed */
        now.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        screen_is_raw = tcsetattr(STDIN_FILENO, TCSANOW, &now) == 0;
    }
    screen_put(SCREEN_ENTER, sizeof SCREEN_ENTER - 1);
}

static void screen_leave(void) {
    screen_put(SCREEN_LEAVE, sizeof SCREEN_LEAVE - 1);
    if (screen_is_raw) tcsetattr(STDIN_FILENO, TCSANOW, &screen_before);
    screen_is_raw = false;
}

static void screen_restore(void) {
    if (!screen_is_open) return;
    vs_out_flush();
    screen_is_open = false;
    screen_leave();
}

/* Raises the signal again.  The handler runs only once, so this time the default action follows. */
static void screen_on_end(int number) {
    if (screen_is_open) screen_leave();
    screen_is_open = false;
    raise(number);
}

/* Restores the terminal while the program is stopped. */
static void screen_on_stop(int number) {
    const struct sigaction stop = {.sa_handler = SIG_DFL};
    struct sigaction own;
    sigset_t all, before;
    int why = errno;
    if (screen_is_open) screen_leave();
    sigaction(number, &stop, &own);
    sigemptyset(&all);
    sigaddset(&all, number);
    raise(number);
    pthread_sigmask(SIG_UNBLOCK, &all, &before); /* the program stops here */
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    sigaction(number, &own, NULL);
    errno = why;
}

static void screen_on_continue(int number) {
    (void)number;
    int why = errno;
    if (screen_is_open) screen_enter();
    errno = why;
}

static void screen_catch(int number, void (*handler)(int), int flags) {
    const struct sigaction act = {.sa_handler = handler, .sa_flags = flags};
    struct sigaction before;
    if (sigaction(number, NULL, &before) == 0 && before.sa_handler == SIG_DFL) sigaction(number, &act, NULL);
}

/* Catches the signals that end the program.  wire.catch_signals handles the signals that end a wait. */
static void screen_catch_all(void) {
    static const int ends[] = {SIGQUIT, SIGABRT, SIGALRM, SIGUSR1, SIGUSR2,   SIGSEGV, SIGBUS, SIGFPE,
                               SIGILL,  SIGTRAP, SIGSYS,  SIGXCPU, SIGXFSZ,   SIGPIPE, SIGVTALRM, SIGPROF,
                               SIGINT,  SIGTERM, SIGHUP};
    for (size_t i = 0; i < VS_COUNT(ends); i++)
        screen_catch(ends[i], screen_on_end, (int)SA_RESETHAND);
    screen_catch(SIGTSTP, screen_on_stop, 0);
    screen_catch(SIGCONT, screen_on_continue, 0);
}

static int screen_close(lua_State *L) {
    (void)L;
    screen_restore();
    return 0;
}

/* screen.open() -> a value for `local screen <close>`
 * The terminal is restored when that value goes out of scope, when the program ends, and when a signal ends or stops
 * the program.  Keys arrive at once and without echo.  Ctrl-C and Ctrl-Z remain signals.  Lines that are too wide are
 * not wrapped. */
static int screen_open(lua_State *L) {
    static bool has_exit;
    lua_newuserdatauv(L, 0, 0);
    luaL_setmetatable(L, SCREEN_CLASS);
    if (!has_exit && atexit(screen_restore) == 0) has_exit = true;
    vs_out_flush();
    screen_is_open = true;
    screen_catch_all();
    screen_enter();
    return 1;
}

/* screen.keys() -> the typed bytes, or nil if no more keys can follow.  Blocks unless wire.wait has reported a key. */
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

/* screen.has_keys() -> whether stdin is a terminal.  screen.is_shown() -> whether stdout is a terminal. */
static int screen_has_keys(lua_State *L) {
    lua_pushboolean(L, isatty(STDIN_FILENO));
    return 1;
}

static int screen_is_shown(lua_State *L) {
    lua_pushboolean(L, isatty(STDOUT_FILENO));
    return 1;
}

/* screen.is_gone() -> whether nothing more can be written to stdout */
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
