/* top.c -- `vesta top`: a server as it is just now, read from its admin listener's stream of events. */
#include "cli/cli.h"
#include "cli/top/feed.h"
#include "cli/top/look.h"
#include "cli/top/screen.h"
#include "cli/where.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ONCE_MS 5000   /* --once waits as long for two events, which tell a rate; and for an answer */
#define SAID_MS 5000   /* what came of an action stays in the last line */
#define PAGE_LINES 10  /* that PgDn goes on */
#define PAGES_MAX 1000 /* of tags */

/* What somebody at the keyboard may do to a server; asked first. */
static const struct action {
    char key;
    const char *request, *question, *done;
} actions[] = {
    {'r', "POST /admin/reload", "Reload policies and tables of tags?  y: yes, any other key: no", "it reloads"},
    {'d', "POST /admin/drain", "Drain: answer what is in flight, and END the server?  y: yes, any other key: no",
     "it drains"},
};

struct top {
    const char *config_path, *admin, *token_file;
    int once, json, effective, view;
    struct vs_config *config;
    struct vs_feed feed;
    struct vs_top_state state;
    struct vs_slice event;
    struct vs_look look;
    uint64_t events;
    bool helps;
    const struct action *asks, *acts; /* a question that is open; what was said yes to */
    struct vs_ask act;
    char foot[300];
    int64_t foot_until_ms;
};

static volatile sig_atomic_t interrupted;

static void on_signal(int number) {
    if (number != SIGWINCH) interrupted = 1;
}

static void catch_signals(void) {
    const struct sigaction act = {.sa_handler = on_signal}; /* without SA_RESTART: a poll ends */
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
    sigaction(SIGHUP, &act, NULL);
    sigaction(SIGWINCH, &act, NULL);
}

/* ------------------------------------------------------------------ looking */

static bool take_events(struct top *top) {
    struct vs_slice event;
    int64_t pid = top->state.pid;
    vs_feed_connect(&top->feed);
    if (top->feed.wire.fd < 0 || !vs_feed_read(&top->feed, &event)) return false;
    top->event = event;
    vs_top_take(&top->state, event, vs_now_ms());
    if (top->state.pid != pid) top->look.next_ms = 0; /* another server may know what the one before did not */
    top->events++;
    return true;
}

static void draw(struct top *top, bool is_screen, bool goes_on) {
    bool is_said = vs_wire_now_ms() < top->foot_until_ms;
    vs_top_draw(&(struct vs_top_frame){.seen = vs_look_seen(&top->look, &top->state, top->event),
                                       .view = top->look.view,
                                       .address = top->feed.to.address,
                                       .trouble = top->feed.trouble,
                                       .polls = top->feed.polls,
                                       .is_screen = is_screen,
                                       .goes_on = goes_on,
                                       .helps = top->helps,
                                       .foot = top->asks ? top->asks->question
                                               : is_said ? top->foot
                                                         : "",
                                       .scroll = &top->look.scroll});
}

/* More came, a key was pressed, or `ms` passed.  false: a signal says that it is to end. */
static bool wait_for_more(const struct top *top, bool reads_keys, int ms, bool *has_key) {
    struct pollfd at[4] = {{.fd = top->feed.wire.fd, .events = POLLIN},
                           {.fd = reads_keys ? STDIN_FILENO : -1, .events = POLLIN},
                           {.fd = top->look.ask.wire.fd, .events = POLLIN},
                           {.fd = top->act.wire.fd, .events = POLLIN}};
    *has_key = false;
    if (poll(at, 4, ms) < 0) return errno == EINTR && !interrupted;
    *has_key = at[1].revents != 0;
    return !interrupted;
}

/* A trouble that names the address itself is not named twice. */
static int fail(const struct top *top, const char *why) {
    char clean[512];
    size_t length = strlen(top->feed.to.address);
    snprintf(clean, sizeof clean, "%s", why);
    if (strncmp(why, top->feed.to.address, length) == 0 && why[length] == ':')
        vs_say("%s", vs_clean(clean));
    else
        vs_say("%s: %s", top->feed.to.address, vs_clean(clean));
    return VS_FAILED;
}

/* ------------------------------------------------------------------ once */

static int wait_for_events(struct top *top) {
    int64_t until_ms = vs_wire_now_ms() + ONCE_MS;
    uint64_t wanted = top->json ? 1 : 2;
    bool has_key;
    while (top->events < wanted && !top->feed.is_refused && vs_wire_now_ms() < until_ms && !interrupted) {
        if (take_events(top)) continue;
        if (top->feed.wire.fd < 0 && *top->feed.trouble) break; /* nobody is there */
        if (!wait_for_more(top, false, 200, &has_key)) break;
    }
    if (top->events) return VS_DONE;
    return fail(top, *top->feed.trouble ? top->feed.trouble : "no event came within 5 s");
}

/* The first question about a store has it read; what was read is told by the next. */
static bool is_read(const struct top *top) {
    struct vs_slice said = vs_look_seen(&top->look, &top->state, top->event).said;
    return top->look.view != VS_SEES_WORKERS || vs_value_member(said, "held").length > 0 ||
           vs_value_member(said, "read_unix_ms").length > 0;
}

static void wait_for_answer(struct top *top) {
    int64_t until_ms = vs_wire_now_ms() + ONCE_MS;
    bool has_key;
    while (vs_wire_now_ms() < until_ms) {
        take_events(top);
        if (vs_look_step(&top->look, &top->feed.to, &top->state) && (*top->look.trouble || is_read(top))) return;
        if (!wait_for_more(top, false, 100, &has_key)) return;
    }
}

/* Whether a view with a question of its own has another: the next namespace, the next page of tags. */
static bool has_another(struct top *top, size_t done) {
    struct vs_slice said = vs_look_seen(&top->look, &top->state, top->event).said;
    bool is_page = top->look.view == VS_SEES_SEGMENTS;
    if (is_page ? vs_value_member(said, "next").length == 0 : top->look.view != VS_SEES_WORKERS) return false;
    return !*top->look.trouble && !interrupted && done < (is_page ? PAGES_MAX : top->state.ns_count);
}

static int tell_answers(struct top *top) {
    int rc = VS_DONE;
    size_t done = 0;
    do {
        if (done > 0) vs_look_pick(&top->look, &top->state, 1);
        wait_for_answer(top);
        struct vs_slice said = vs_look_seen(&top->look, &top->state, top->event).said;
        if (*top->look.trouble) rc = VS_FAILED;
        if (top->json && rc != VS_DONE) return fail(top, top->look.trouble);
        if (top->json)
            vs_outf("%.*s\n", (int)strcspn(said.at, "\n"), said.at);
        else
            draw(top, false, done > 0);
    } while (has_another(top, ++done));
    return rc;
}

static int look_once(struct top *top) {
    int rc = wait_for_events(top);
    if (rc != VS_DONE) return rc;
    if (vs_top_views[top->look.view].path) return tell_answers(top);
    if (top->json)
        vs_outf("%.*s\n", (int)top->event.length, top->event.at);
    else
        draw(top, false, false);
    return VS_DONE;
}

/* ------------------------------------------------------------------ at the keyboard */

static void say_below(struct top *top, const char *text) {
    snprintf(top->foot, sizeof top->foot, "%s", text);
    top->foot_until_ms = vs_wire_now_ms() + SAID_MS;
}

static void answer_question(struct top *top, int key) {
    const struct action *asks = top->asks;
    top->asks = NULL;
    if (key != 'y' && key != 'Y') return;
    top->acts = asks;
    vs_ask_begin(&top->act, &top->feed.to, asks->request);
}

static void hear_action(struct top *top) {
    if (!top->acts || !vs_ask_read(&top->act)) return;
    say_below(top, *top->act.trouble ? top->act.trouble : top->acts->done);
    top->acts = NULL;
}

static void scroll_or_ask(struct top *top, int key) {
    size_t *at = &top->look.scroll, by = key == VS_KEY_UP || key == VS_KEY_DOWN ? 1 : PAGE_LINES;
    if (key == VS_KEY_DOWN || key == VS_KEY_PAGE_DOWN) *at += by;
    if (key == VS_KEY_UP || key == VS_KEY_PAGE_UP) *at -= *at < by ? *at : by;
    if (key == VS_KEY_HOME) *at = 0;
    if (key == VS_KEY_END) *at = SIZE_MAX / 2;
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        if (key == actions[i].key && !top->acts) top->asks = &actions[i];
}

/* false: it is to end. */
static bool take_key(struct top *top, int key) {
    int view = top->look.view;
    if (key == 'q' || key == 'Q' || key == 4 || key == VS_KEY_GONE) return false;
    if (top->asks)
        answer_question(top, key);
    else if (top->helps)
        top->helps = false;
    else if (key == '?' || key == 'h')
        top->helps = true;
    else if (key >= '1' && key < '1' + VS_TOP_VIEWS)
        vs_look_at(&top->look, key - '1');
    else if (key == VS_KEY_TAB || key == VS_KEY_RIGHT)
        vs_look_at(&top->look, (view + 1) % VS_TOP_VIEWS);
    else if (key == VS_KEY_BACK_TAB || key == VS_KEY_LEFT)
        vs_look_at(&top->look, (view + VS_TOP_VIEWS - 1) % VS_TOP_VIEWS);
    else if (key == 'n' || key == 'p')
        vs_look_pick(&top->look, &top->state, key == 'n' ? 1 : -1);
    else
        scroll_or_ask(top, key);
    return true;
}

static int watch(struct top *top) {
    bool reads_keys = isatty(STDIN_FILENO), has_key = false, goes_on = true;
    vs_screen_begin();
    do {
        for (int key; goes_on && (key = vs_screen_key(has_key)) != VS_KEY_NONE; has_key = false)
            goes_on = take_key(top, key);
        take_events(top);
        if (top->feed.is_refused || !goes_on) break;
        bool is_there = top->feed.wire.fd >= 0 || top->feed.polls; /* who is away is not asked */
        vs_look_step(&top->look, is_there ? &top->feed.to : NULL, &top->state);
        hear_action(top);
        draw(top, true, false);
    } while (!vs_out_gone() && wait_for_more(top, reads_keys, 1000, &has_key));
    vs_screen_end();
    return top->feed.is_refused ? fail(top, top->feed.trouble) : VS_DONE;
}

/* ------------------------------------------------------------------ the command */

static void print_row(void *self, const struct vs_conf_value *value) {
    const struct top *top = self;
    struct vs_conf_value row = *value;
    if (strcmp(row.path, "admin.listen") != 0 && strcmp(row.path, "admin.token") != 0) return;
    if (row.origin == VS_FROM_FLAG) row.by = strcmp(row.path, "admin.listen") == 0 ? "--admin" : "--token-file";
    vs_effective_print(&row, top->json);
}

/* The server's own words for it: flag, variable, config. */
static int find_server(struct top *top) {
    struct vs_conf_flag flag[2];
    struct vs_conf_opts opts = {.path = top->config_path, .flag = flag};
    struct vesta_error err;
    const char *token = NULL;
    int rc = top->token_file ? vs_read_secret("--token-file", top->token_file, &token) : VS_GO;
    if (rc != VS_GO) return rc;
    if (!opts.path && !top->admin) opts.path = vs_where_config();
    if (top->admin) flag[opts.flag_count++] = (struct vs_conf_flag){"--admin", "admin.listen", top->admin};
    if (token) flag[opts.flag_count++] = (struct vs_conf_flag){"--token-file", "admin.token", token};
    if (vs_config_read(&opts, &top->config, &err) != VESTA_OK) return vs_report(&err);
    if (top->effective && opts.path)
        vs_effective_print(&(struct vs_conf_value){.path = "config",
                                                   .text = opts.path,
                                                   .origin = top->config_path ? VS_FROM_FLAG : VS_FROM_ENV,
                                                   .variable = "VESTA_CONFIG",
                                                   .by = top->config_path ? "--config" : "VESTA_CONFIG"},
                           top->json);
    if (top->effective) return vs_config_each(top->config, print_row, top) == VESTA_OK ? VS_DONE : VS_FAILED;
    if (top->config->admin.count == 0)
        return vs_usage("no admin listener is named: --admin ADDR, VESTA_ADMIN, or -c FILE with admin.listen");
    top->feed.to = (struct vs_wire_to){top->config->admin.text[0], top->config->admin_token};
    return VS_GO;
}

static int run_top(int argc, char **argv) {
    static struct top top = {.feed.wire.fd = -1, .look.ask.wire.fd = -1, .act.wire.fd = -1};
    const struct vs_option table[] = {
        {"config", 'c', VS_OPT_TEXT, &top.config_path, "FILE",
         "the server's config, which has the listener and its token", 0, 0, NULL},
        VS_TEXT("admin", &top.admin, "ADDR", "the server's admin listener: HOST:PORT, [v6]:PORT or unix:PATH"),
        VS_TEXT("token-file", &top.token_file, "FILE",
                "its token, alone on a line (default: VESTA_ADMIN_TOKEN, or none)"),
        VS_SWITCH("once", &top.once, "one look, and the end; as where stdout is no terminal"),
        VS_EFFECTIVE(&top.effective),
        VS_SWITCH("json", &top.json, "one look: what the server said, as it came"),
        VS_CHOICE("view", &top.look.view, VS_TOP_VIEW_NAMES, "what is shown first (default: overview)"),
        {0},
    };
    int rc = vs_options(table, &argc, argv);
    if (rc != VS_GO) return rc;
    if (argc) return vs_usage("unexpected operand %s; the server is named by --admin or -c", vs_shown_text(argv[0]));
    if ((rc = find_server(&top)) == VS_GO) {
        catch_signals();
        rc = top.once || top.json || !isatty(STDOUT_FILENO) ? look_once(&top) : watch(&top);
    }
    vs_look_close(&top.look);
    vs_ask_close(&top.act);
    vs_feed_close(&top.feed);
    vs_config_free(top.config);
    return rc;
}

const struct vs_command vs_top_command = {
    "top", run_top, "watch a server: ids, refusals, leases, as they go", "top [--admin ADDR | -c FILE] [OPTION...]",
    "Shows a server as it is just now, by its admin listener, as its page does.  Views, by their keys:\n"
    "1 overview: ids a second of each namespace and their last seconds, worker numbers and for how long they are\n"
    "held, how long layouts last, pauses, requests that were refused and why; 2 namespaces: all of each, with its\n"
    "clock, and what policies in shadow would have said; 3 workers: who holds which number until when, by the\n"
    "store; 4 segments: tags and their buffers; 5 policies: what they said, and answers by their code; 6 hour.\n"
    "\n"
    "? tells the keys; q ends.  r reloads and d drains the server, after a question.  A server that is away is\n"
    "looked for again; until it is back the screen says how old it is.\n"
    "\n"
    "  $ vesta top --admin unix:/run/vesta/admin.sock\n"
    "  vesta top  unix:/run/vesta/admin.sock  0.1.0 pid 812, up 3 days\n"
    "  ...\n"
    "  NAMESPACE             IDS/S LAST SECONDS      WORKER   LEASE    LIFE STATE\n"
    "  orders               12,345 ▁▁▂▃▃▄▅▆▇█▇▇▆▅▅▄       7    9:58  22.1 y ready\n"
    "  ...\n"
    "\n"
    "  $ vesta top -c /etc/vesta/vesta.lua --once --view workers\n"
    "  ...\n"
    "  orders: 3 held, 0 expired, 0 free; the store was read 2 seconds ago\n"
    "  ...\n"};
