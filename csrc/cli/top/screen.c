/* screen.c -- what `vesta top` shows.  Lines are cut at the terminal's edge, and what has no room below is left out. */
#include "cli/top/screen.h"

#include <inttypes.h>
#include <stdarg.h>
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

void vs_screen_begin(void) {
    struct termios now;
    if (tcgetattr(STDIN_FILENO, &before) == 0) {
        now = before;
        now.c_lflag &= ~(tcflag_t)(ICANON | ECHO); /* Ctrl-C still is a signal */
        now.c_cc[VSUSP] = _POSIX_VDISABLE;         /* who is stopped would leave the terminal like this */
        is_ours = tcsetattr(STDIN_FILENO, TCSANOW, &now) == 0;
    }
    vs_outf("\033[?1049h\033[?25l\n"); /* another screen, no cursor */
    vs_out_flush();
}

void vs_screen_end(void) {
    vs_outf("\033[?25h\033[?1049l\r\033[K\n");
    vs_out_flush();
    if (is_ours) tcsetattr(STDIN_FILENO, TCSANOW, &before);
}

/* ------------------------------------------------------------------ lines */

struct page {
    size_t columns, rows, used; /* rows: how many may be used */
    bool is_screen;
};

static size_t rows_of_terminal(void) {
    struct winsize size;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row ? size.ws_row : ROWS_UNLESS_KNOWN;
}

/* The bytes of the first `columns` letters. */
static size_t bytes_of(const char *text, size_t columns) {
    size_t at = 0;
    for (size_t letters = 0; text[at]; at++)
        if (((unsigned char)text[at] & 0xc0) != 0x80 && letters++ == columns) break;
    return at;
}

static void line(struct page *page, const char *paint, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void line(struct page *page, const char *paint, const char *format, ...) {
    char text[1024];
    va_list args;
    if (page->is_screen && page->used >= page->rows) return;
    page->used++;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    size_t length = page->columns ? bytes_of(text, page->columns) : strlen(text);
    vs_outf("%s%.*s%s%s\n", paint, (int)length, text, *paint ? VS_PLAIN : "", page->is_screen ? "\033[K" : "");
}

static const char *many(double n, char buf[VS_GROUPED_MAX]) {
    if (n > 0 && n < 10)
        snprintf(buf, VS_GROUPED_MAX, "%.1f", n);
    else
        vs_grouped((uint64_t)(n + 0.5), buf);
    return buf;
}

/* ------------------------------------------------------------------ parts */

static void draw_head(struct page *page, const struct vs_top_view *view) {
    const struct vs_top_state *s = view->state;
    char iso[VESTA_ISO_MAX], up[VS_AGO_MAX];
    line(page, "", "vesta top  %s  %s pid %" PRId64 ", up %s", view->address, s->version, s->pid,
         vs_span((uint64_t)s->uptime_s * 1000, up));
    int64_t ahead_ms = s->unix_ms - s->seen_ms;
    line(page, "", "clock %s, %" PRId64 " ms %s ours   connections %" PRId64 "   waiting %" PRId64,
         vs_iso(s->unix_ms - s->unix_ms % 1000, iso), ahead_ms < 0 ? -ahead_ms : ahead_ms,
         ahead_ms < 0 ? "behind" : "ahead of", s->connections, s->waiting);
    if (s->is_draining) line(page, VS_YELLOW, "draining: requests in flight are answered, then it ends");
}

static void draw_age(struct page *page, const struct vs_top_view *view) {
    const struct vs_top_state *s = view->state;
    char iso[VESTA_ISO_MAX];
    if (!s->is_known)
        line(page, VS_YELLOW, "vesta top  %s: nothing is known yet; %s", view->address,
             *view->trouble ? view->trouble : "it is asked");
    else if (*view->trouble || view->now_ms - s->seen_ms > STALE_MS)
        line(page, VS_RED, "STALE: of %s, %" PRId64 " s ago; tried again each second: %s",
             vs_iso(s->seen_ms - s->seen_ms % 1000, iso), (view->now_ms - s->seen_ms) / 1000,
             *view->trouble ? view->trouble : "the server is silent");
}

/* Ids a second of the last seconds, each against the most of them. */
static void draw_bars(const struct vs_top_namespace *ns, char *buf) {
    static const char *const bars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    float most = 1;
    for (int i = 0; i < VS_TOP_HISTORY; i++)
        if (ns->history[i] > most) most = ns->history[i];
    for (int i = 0; i < VS_TOP_HISTORY; i++)
        buf = stpcpy(buf, ns->history[i] < 0 ? " " : bars[(int)(ns->history[i] / most * 7)]);
}

static const char *lease_of(const struct vs_top_state *s, const struct vs_top_namespace *ns, char buf[32]) {
    int64_t left_s = (ns->lease_end_ms - s->unix_ms) / 1000;
    if (!ns->has_lease)
        snprintf(buf, 32, "none");
    else
        snprintf(buf, 32, "%" PRId64 ":%02d", left_s > 0 ? left_s / 60 : 0, left_s > 0 ? (int)(left_s % 60) : 0);
    return buf;
}

static void draw_namespace(struct page *page, const struct vs_top_state *s, const struct vs_top_namespace *ns) {
    char ids[VS_GROUPED_MAX], bars[4 * VS_TOP_HISTORY + 1], worker[24] = "-", lease[32], life[24] = "-";
    draw_bars(ns, bars);
    if (ns->has_lease) snprintf(worker, sizeof worker, "%" PRIu64, ns->worker);
    if (ns->years >= 0) snprintf(life, sizeof life, "%.*f y", ns->years < 100 ? 1 : 0, ns->years);
    const char *paint = !ns->is_ready ? VS_RED : ns->pauses_s > 0 || (ns->years >= 0 && ns->years < 1) ? VS_YELLOW : "";
    line(page, paint, "%-15.15s %11s %s %7s %7s %7s %s", ns->name, many(ns->ids_s, ids), bars, worker,
         lease_of(s, ns, lease), life, ns->is_ready ? "ready" : ns->why);
    if (!ns->is_ready && *ns->detail) line(page, VS_RED, "  %s", ns->detail);
    if (*ns->pausing) line(page, VS_YELLOW, "  pauses: %s", ns->pausing);
    if (*ns->warning) line(page, VS_YELLOW, "  %s", ns->warning);
    if (*ns->keeper && !ns->is_ready) line(page, "", "  its keeper: %s", ns->keeper);
}

static void draw_refused(struct page *page, const struct vs_top_state *s) {
    char text[512] = "", a[VS_GROUPED_MAX], b[VS_GROUPED_MAX];
    size_t used = 0;
    bool is_now = false;
    for (size_t i = 0; i < s->code_count && used + 100 < sizeof text; i++) {
        const struct vs_top_code *code = &s->code[i];
        is_now |= code->a_second > 0;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %s/s of %s", i ? ", " : "", code->name,
                                 many(code->a_second, a), vs_grouped(code->count, b));
    }
    line(page, "", "answered     %s/s of %s", many(s->answered_s, a), vs_grouped(s->answered, b));
    line(page, is_now ? VS_YELLOW : "", "refused      %s", *text ? text : "nothing since the start");
}

static void draw_policies(struct page *page, const struct vs_top_state *s) {
    if (!s->has_policies) return;
    bool is_wrong = s->is_stuck || !s->has_reloaded || *s->policy_error;
    line(page, is_wrong ? VS_YELLOW : "", "policies     generation %" PRId64 "%s%s%s%s", s->generation,
         s->is_stuck ? ", one does not come back" : "", s->has_reloaded ? "" : ", the last reload failed",
         *s->policy_error ? ": " : "", s->policy_error);
}

void vs_top_draw(const struct vs_top_view *view) {
    const struct vs_top_state *s = view->state;
    struct page page = {.columns = vs_out_columns(), .rows = SIZE_MAX, .is_screen = view->is_screen};
    if (view->is_screen) page.rows = rows_of_terminal() > 2 ? rows_of_terminal() - 2 : 1;
    if (view->is_screen) vs_outf("\033[H");
    draw_age(&page, view);
    if (s->is_known) {
        draw_head(&page, view);
        line(&page, "", "%s", "");
        line(&page, "", "%-15s %11s %-*s %7s %7s %7s %s", "NAMESPACE", "IDS/S", VS_TOP_HISTORY, "LAST SECONDS",
             "WORKER", "LEASE", "LIFE", "STATE");
        for (size_t i = 0; i < s->ns_count; i++)
            draw_namespace(&page, s, &s->ns[i]);
        line(&page, "", "%s", "");
        draw_refused(&page, s);
        draw_policies(&page, s);
    }
    if (view->is_screen) vs_outf("\033[Jq ends\n");
    vs_out_flush();
}
