/* top.c -- `vesta top`: a server as it is just now, read from its admin listener's stream of events. */
#include "cli/cli.h"
#include "cli/top/feed.h"
#include "cli/top/screen.h"
#include "cli/where.h"
#include "os/clock.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ONCE_MS 5000 /* --once waits as long for two events, which tell a rate */

struct top {
    const char *config_path, *admin, *token_file;
    int once, json, effective;
    struct vs_config *config;
    struct vs_feed feed;
    struct vs_top_state state;
    uint64_t events;
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

static int64_t boot_ms(void) {
    const struct vesta_clock *clock = vs_clock_system();
    return clock->boot_us(clock->self) / 1000;
}

/* ------------------------------------------------------------------ looking */

static bool take_events(struct top *top) {
    struct vs_slice event;
    vs_feed_connect(&top->feed);
    if (top->feed.fd < 0 || !vs_feed_read(&top->feed, &event)) return false;
    if (top->json) vs_outf("%.*s\n", (int)event.length, event.at);
    vs_top_take(&top->state, event, vs_now_ms());
    top->events++;
    return true;
}

static void draw(const struct top *top, bool is_screen) {
    vs_top_draw(&(struct vs_top_view){.state = &top->state,
                                      .address = top->feed.address,
                                      .trouble = top->feed.trouble,
                                      .now_ms = vs_now_ms(),
                                      .is_screen = is_screen});
}

/* One more look, at a change, a key, or after `ms`.  False: it is to end. */
static bool wait_for_more(struct top *top, bool reads_keys, int ms) {
    struct pollfd at[2] = {{.fd = top->feed.fd, .events = POLLIN},
                           {.fd = reads_keys ? STDIN_FILENO : -1, .events = POLLIN}};
    char key;
    if (poll(at, 2, ms) < 0) return errno == EINTR && !interrupted;
    if (at[1].revents && (read(STDIN_FILENO, &key, 1) != 1 || key == 'q' || key == 'Q' || key == 4)) return false;
    return !interrupted;
}

/* A trouble that names the address itself is not named twice. */
static int fail(const struct top *top, const char *why) {
    size_t length = strlen(top->feed.address);
    if (strncmp(why, top->feed.address, length) == 0 && why[length] == ':')
        vs_say("%s", why);
    else
        vs_say("%s: %s", top->feed.address, why);
    return VS_FAILED;
}

static int look_once(struct top *top) {
    int64_t until_ms = boot_ms() + ONCE_MS;
    uint64_t wanted = top->json ? 1 : 2;
    while (top->events < wanted && !top->feed.is_refused && boot_ms() < until_ms && !interrupted) {
        if (take_events(top)) continue;
        if (top->feed.fd < 0 && *top->feed.trouble) break; /* nobody is there */
        if (!wait_for_more(top, false, 200)) break;
    }
    if (top->events && !top->json) draw(top, false);
    if (top->events) return VS_DONE;
    return fail(top, *top->feed.trouble ? top->feed.trouble : "no event came within 5 s");
}

static int watch(struct top *top) {
    bool reads_keys = isatty(STDIN_FILENO);
    vs_screen_begin();
    do {
        take_events(top);
        if (top->feed.is_refused) break;
        draw(top, true);
    } while (!vs_out_gone() && wait_for_more(top, reads_keys, 1000));
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
    top->feed.address = top->config->admin.text[0];
    top->feed.token = top->config->admin_token;
    return VS_GO;
}

static int run_top(int argc, char **argv) {
    static struct top top = {.feed.fd = -1};
    const struct vs_option table[] = {
        {"config", 'c', VS_OPT_TEXT, &top.config_path, "FILE",
         "the server's config, which has the listener and its token", 0, 0, NULL},
        VS_TEXT("admin", &top.admin, "ADDR", "the server's admin listener: HOST:PORT, [v6]:PORT or unix:PATH"),
        VS_TEXT("token-file", &top.token_file, "FILE",
                "its token, alone on a line (default: VESTA_ADMIN_TOKEN, or none)"),
        VS_SWITCH("once", &top.once, "one look, and the end; as where stdout is no terminal"),
        VS_EFFECTIVE(&top.effective),
        VS_SWITCH("json", &top.json, "one look: the event as it comes"),
        {0},
    };
    int rc = vs_options(table, &argc, argv);
    if (rc != VS_GO) return rc;
    if (argc) return vs_usage("unexpected operand %s; the server is named by --admin or -c", vs_shown_text(argv[0]));
    if ((rc = find_server(&top)) == VS_GO) {
        catch_signals();
        rc = top.once || top.json || !isatty(STDOUT_FILENO) ? look_once(&top) : watch(&top);
    }
    vs_feed_close(&top.feed);
    vs_config_free(top.config);
    return rc;
}

const struct vs_command vs_top_command = {
    "top", run_top, "watch a server: ids, refusals, leases, as they go", "top [--admin ADDR | -c FILE] [OPTION...]",
    "Shows a server as it is just now, by its admin listener: ids a second of each namespace and their last\n"
    "seconds, worker numbers and until when they are held, how long layouts last, pauses, requests that were\n"
    "refused and why, policies, the clock.  A server that is away is looked for again; until it is back the\n"
    "screen says how old it is.  q ends.\n"
    "\n"
    "  $ vesta top --admin unix:/run/vesta/admin.sock\n"
    "  vesta top  unix:/run/vesta/admin.sock  0.1.0 pid 812, up 3 days\n"
    "  ...\n"
    "  NAMESPACE             IDS/S LAST SECONDS          WORKER   LEASE    LIFE STATE\n"
    "  orders               12,345 ▁▂▃▅▇█▇▅▃▂▁▂▃▅▇█▇▅▃▂       7    9:58  22.1 y ready\n"
    "  ...\n"
    "\n"
    "  $ vesta top -c /etc/vesta/vesta.lua --once | head -2\n"
    "  vesta top  unix:/run/vesta/admin.sock  0.1.0 pid 812, up 3 days\n"
    "  ...\n"};
