/* screen.c -- what `vesta top` shows around its views.  Lines are cut at the terminal's edge; what has no room below
 * can be scrolled to. */
#include "cli/top/screen.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#define ROWS_UNLESS_KNOWN 24
#define STALE_MS 3000 /* an event comes each second */

/* ------------------------------------------------------------------ the terminal */

static struct termios before;
static bool is_ours;

/* Lines that are too wide all the same, for letters of two columns, are not continued below. */
void vs_screen_begin(void) {
    struct termios now;
    if (tcgetattr(STDIN_FILENO, &before) == 0) {
        now = before;
        now.c_lflag &= ~(tcflag_t)(ICANON | ECHO); /* Ctrl-C still is a signal */
        now.c_cc[VSUSP] = _POSIX_VDISABLE;         /* who is stopped would leave the terminal like this */
        is_ours = tcsetattr(STDIN_FILENO, TCSANOW, &now) == 0;
    }
    vs_outf("\033[?1049h\033[?25l\033[?7l\n"); /* another screen, no cursor */
    vs_out_flush();
}

void vs_screen_end(void) {
    vs_outf("\033[?7h\033[?25h\033[?1049l\r\033[K\n");
    vs_out_flush();
    if (is_ours) tcsetattr(STDIN_FILENO, TCSANOW, &before);
}

static size_t rows_of_terminal(void) {
    struct winsize size;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row ? size.ws_row : ROWS_UNLESS_KNOWN;
}

/* ------------------------------------------------------------------ keys */

/* What an arrow and its like send: ESC [ or ESC O, digits, and a letter or '~'. */
static int key_of_sequence(const char *at, size_t length, size_t *took) {
    static const struct {
        const char *text;
        int key;
    } keys[] = {{"A", VS_KEY_UP},       {"B", VS_KEY_DOWN},       {"C", VS_KEY_RIGHT},   {"D", VS_KEY_LEFT},
                {"5~", VS_KEY_PAGE_UP}, {"6~", VS_KEY_PAGE_DOWN}, {"H", VS_KEY_HOME},    {"F", VS_KEY_END},
                {"1~", VS_KEY_HOME},    {"4~", VS_KEY_END},       {"Z", VS_KEY_BACK_TAB}};
    size_t end = 2;
    while (end < length && ((at[end] >= '0' && at[end] <= '9') || at[end] == ';'))
        end++;
    *took = end < length ? end + 1 : length;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strlen(keys[i].text) == *took - 2 && memcmp(keys[i].text, at + 2, *took - 2) == 0) return keys[i].key;
    return VS_KEY_OTHER;
}

int vs_screen_key(bool has_more) {
    static char typed[256];
    static size_t at, length;
    size_t took = 1;
    if (at == length) {
        at = length = 0;
        if (!has_more) return VS_KEY_NONE;
        ssize_t n = read(STDIN_FILENO, typed, sizeof typed);
        if (n <= 0) return VS_KEY_GONE;
        length = (size_t)n;
    }
    int key = (unsigned char)typed[at];
    if (key == '\033' && length - at > 2 && (typed[at + 1] == '[' || typed[at + 1] == 'O'))
        key = key_of_sequence(typed + at, length - at, &took);
    at += took;
    return key == 0 ? VS_KEY_OTHER : key;
}

/* ------------------------------------------------------------------ parts */

static void draw_head(struct vs_lines *lines, const struct vs_top_frame *frame) {
    const struct vs_top_state *s = frame->seen.state;
    char iso[VESTA_ISO_MAX], up[VS_AGO_MAX];
    vs_line(lines, "", "vesta top  %s  %s pid %" PRId64 ", up %s", frame->address, s->version, s->pid,
            vs_span((uint64_t)s->uptime_s * 1000, up));
    int64_t ahead_ms = s->unix_ms - s->seen_ms;
    vs_line(lines, "", "clock %s, %" PRId64 " ms %s ours   connections %" PRId64 "   waiting %" PRId64,
            vs_iso(s->unix_ms - s->unix_ms % 1000, iso), ahead_ms < 0 ? -ahead_ms : ahead_ms,
            ahead_ms < 0 ? "behind" : "ahead of", s->connections, s->waiting);
    if (frame->polls) vs_line(lines, "", "it has no stream, or none to spare: it is asked each second");
    if (s->is_draining) vs_line(lines, VS_YELLOW, "draining: requests in flight are answered, then it ends");
}

static void draw_age(struct vs_lines *lines, const struct vs_top_frame *frame) {
    const struct vs_top_state *s = frame->seen.state;
    char iso[VESTA_ISO_MAX];
    int64_t old_ms = frame->seen.now_ms - s->seen_ms;
    if (!s->is_known)
        vs_line(lines, VS_YELLOW, "vesta top  %s: nothing is known yet; %s", frame->address,
                *frame->trouble ? frame->trouble : "it is asked");
    if (!s->is_known || (!*frame->trouble && old_ms <= STALE_MS)) return;
    vs_line(lines, VS_RED, "STALE: of %s, %" PRId64 " s ago; tried again each second",
            vs_iso(s->seen_ms - s->seen_ms % 1000, iso), old_ms / 1000);
    vs_line_fact(lines, VS_RED, "", "%s", *frame->trouble ? frame->trouble : "the server is silent");
}

/* The views by their keys; as many as there is room for. */
static void draw_tabs(struct vs_lines *lines, int view) {
    char text[256] = "";
    size_t used = 0;
    for (int i = 0; i < VS_TOP_VIEWS; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%c%d %s%c ", i == view ? '[' : ' ', i + 1,
                                 vs_top_views[i].name, i == view ? ']' : ' ');
    vs_line(lines, "", "%s", text);
}

static void draw_help(struct vs_lines *lines) {
    vs_line(lines, "", "%s", "");
    vs_line(lines, VS_CYAN, "VIEWS");
    for (int i = 0; i < VS_TOP_VIEWS; i++)
        vs_line(lines, "", "  %d  %-12s %s", i + 1, vs_top_views[i].name, vs_top_views[i].about);
    vs_line(lines, "", "%s", "");
    vs_line(lines, VS_CYAN, "KEYS");
    vs_line(lines, "", "  Tab, right     the next view; Shift-Tab, left: the one before");
    vs_line(lines, "", "  up, down       what has no room; PgUp, PgDn, Home, End, too");
    vs_line(lines, "", "  n, p           the next namespace, the one before; pages of tags");
    vs_line(lines, "", "  r              reload policies and tables of tags, after a question");
    vs_line(lines, "", "  d              drain and end the server, after a question");
    vs_line(lines, "", "  q, Ctrl-C      end this, not the server");
    vs_line(lines, "", "%s", "");
    vs_line(lines, "", "An id is taken apart by vesta explain.  Any key goes back.");
}

static void draw_foot(const struct vs_top_frame *frame, const struct vs_lines *lines, size_t room) {
    static const char *const picks[] = {"", "  n next namespace", "  n next namespace", "  n next page"};
    enum vs_top_pick pick = vs_top_views[frame->view].picks;
    bool has_page = *frame->seen.after || vs_value_member(frame->seen.said, "next").length > 0;
    char where[80] = "";
    size_t last = lines->passed + room < lines->told ? lines->passed + room : lines->told;
    struct vs_lines foot = {.columns = lines->columns, .rows = 1, .is_screen = true};
    if (lines->told > room)
        snprintf(where, sizeof where, "  lines %zu-%zu of %zu", lines->passed + 1, last, lines->told);
    if (*frame->foot)
        vs_line(&foot, VS_YELLOW, "%s", frame->foot);
    else
        vs_line(&foot, "", "q ends  ? help  Tab next view%s%s",
                frame->helps || (pick == VS_PICKS_A_PAGE && !has_page) ? "" : picks[pick], frame->helps ? "" : where);
}

/* ------------------------------------------------------------------ the whole */

static void draw_view(const struct vs_top_frame *frame, struct vs_lines *lines) {
    bool is_known = frame->seen.state->is_known;
    if (!frame->goes_on) draw_age(lines, frame);
    if (is_known && !frame->goes_on) draw_head(lines, frame);
    if (is_known && frame->is_screen)
        draw_tabs(lines, frame->helps ? -1 : frame->view);
    else if (is_known)
        vs_line(lines, "", "%s", "");
    if (frame->helps)
        draw_help(lines);
    else if (is_known)
        vs_top_views[frame->view].draw(lines, &frame->seen);
}

/* false: more lines are passed over than there are to pass over. */
static bool draw_screen(const struct vs_top_frame *frame) {
    size_t rows = rows_of_terminal() > 2 ? rows_of_terminal() - 2 : 1;
    struct vs_lines lines = {.columns = vs_out_columns(), .rows = rows, .is_screen = true, .passed = *frame->scroll};
    vs_outf("\033[H");
    draw_view(frame, &lines);
    size_t room = rows - lines.fixed, most = lines.told > room ? lines.told - room : 0;
    if (*frame->scroll > most) {
        *frame->scroll = most;
        return false;
    }
    vs_outf("\033[J");
    draw_foot(frame, &lines, room);
    return true;
}

void vs_top_draw(const struct vs_top_frame *frame) {
    struct vs_lines lines = {.columns = vs_out_columns(), .rows = SIZE_MAX};
    if (!frame->is_screen)
        draw_view(frame, &lines);
    else
        while (!draw_screen(frame))
            ;
    vs_out_flush();
}
