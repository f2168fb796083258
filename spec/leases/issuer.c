/* issuer.c -- a process that issues ids, for tests that disturb it.  It writes each id to a file and reports its state.
 *
 *     issuer run OUT NAME=VALUE...    path store ns lease identity layout pacing worker rate ids rest round_us
 *     issuer fill STORE NS LAYOUT N   claims worker ids 0 to N - 1 for another holder, for a day
 *
 * OUT gets lines of 21 bytes, one per id, so that a line cut by a kill is detected.  Every 50 ms a line goes to stdout:
 * the uptime in ms, ids issued, requests that failed without a lease, the state, the worker id, and the reason for
 * waiting.  SIGTERM releases the lease, SIGINT keeps it.  Both end with `end`.  So does the process after `ids` ids,
 * unless rest=1 lets it keep the lease. */
#include "os/clock.h"
#include "store/store.h"
#include "vesta.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TELL_US 50000
#define ROUND_US 1000
#define LINE 21 /* %020u and a newline */

static volatile sig_atomic_t signalled;

static void on_signal(int number) {
    signalled = number;
}

static _Noreturn void die(const char *what, const char *why) {
    fprintf(stderr, "issuer: %s: %s\n", what, why);
    exit(1);
}

/* ------------------------------------------------------------------ issuing */

struct run {
    struct vesta_gen *gen;
    int out;
    uint64_t per_round, round_us, given, refused, left;
    bool rests;
    char pause[600];
};

static int64_t boot_us(void) {
    return vs_clock_system()->boot_us(NULL);
}

static void tell(const struct run *run, const char *word) {
    struct vesta_info info;
    vesta_get_info(run->gen, &info);
    printf("%s %" PRId64 " %" PRIu64 " %" PRIu64 " %s %" PRId64 " %s\n", word, boot_us() / 1000, run->given,
           run->refused, info.state, info.holds_lease ? (int64_t)info.worker : -1,
           run->pause[0] ? run->pause : info.keeper);
    fflush(stdout);
}

/* One write, so that issued ids are written before anything else happens. */
static void write_down(struct run *run, const uint64_t *ids, size_t count) {
    static char text[VESTA_BATCH_MAX * LINE + 1];
    for (size_t i = 0; i < count; i++)
        snprintf(text + i * LINE, LINE + 1, "%020" PRIu64 "\n", ids[i]);
    if (write(run->out, text, count * LINE) != (ssize_t)(count * LINE)) die("write", "no room");
    run->given += count;
    run->left -= count;
}

static void note_pause(struct run *run, const struct vesta_pause *pause) {
    bool leaseless = pause->why == VESTA_LEASE || pause->why == VESTA_CLOSED || pause->why == VESTA_FAILSTOP;
    size_t length = (size_t)snprintf(run->pause, sizeof run->pause, "%s: ", vesta_why_name(pause->why));
    vesta_pause_text(run->gen, pause, run->pause + length, sizeof run->pause - length);
    if (!leaseless) return;
    run->refused++;
    vesta_keep(run->gen);
}

static void one_round(struct run *run) {
    struct vesta_pause pause;
    uint64_t ids[VESTA_BATCH_MAX], want = run->per_round < run->left ? run->per_round : run->left;
    size_t got;
    run->pause[0] = '\0';
    while (want > 0) {
        if (vesta_next_n(run->gen, ids, want, &got, &pause) != VESTA_OK) {
            note_pause(run, &pause);
            return;
        }
        write_down(run, ids, got);
        want -= got;
    }
}

static int issue(struct run *run) {
    struct vesta_error err = {.text = ""};
    for (int64_t told = 0, now; !signalled && (run->left > 0 || run->rests);) {
        one_round(run);
        if ((now = boot_us()) - told >= TELL_US) {
            tell(run, "at");
            told = now;
        }
        usleep((useconds_t)run->round_us);
    }
    if (signalled == SIGTERM && vesta_release(run->gen, &err) != VESTA_OK) die("release", err.text);
    run->pause[0] = '\0';
    tell(run, "end");
    vesta_close(run->gen);
    return 0;
}

static const char *value_of(int argc, char **argv, const char *name) {
    size_t length = strlen(name);
    for (int i = 3; i < argc; i++)
        if (strncmp(argv[i], name, length) == 0 && argv[i][length] == '=') return argv[i] + length + 1;
    return NULL;
}

static uint64_t number_of(int argc, char **argv, const char *name, uint64_t otherwise) {
    const char *text = value_of(argc, argv, name);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

static int run_it(int argc, char **argv) {
    static struct run run;
    struct vesta_error err;
    const char *pacing = value_of(argc, argv, "pacing");
    struct vesta_opts opts = {.size = sizeof opts,
                              .layout = value_of(argc, argv, "layout"),
                              .path = value_of(argc, argv, "path"),
                              .store = value_of(argc, argv, "store"),
                              .namespace_ = value_of(argc, argv, "ns"),
                              .lease = value_of(argc, argv, "lease"),
                              .identity = value_of(argc, argv, "identity"),
                              .has_worker = value_of(argc, argv, "worker") != NULL,
                              .worker = number_of(argc, argv, "worker", 0),
                              .any_worker = value_of(argc, argv, "worker") == NULL,
                              .pacing = pacing ? VESTA_PACING_HISTORY : VESTA_PACING_DEFAULT};
    run.round_us = number_of(argc, argv, "round_us", ROUND_US);
    run.per_round = number_of(argc, argv, "rate", 10000) * run.round_us / 1000000;
    run.left = number_of(argc, argv, "ids", UINT64_MAX);
    run.rests = value_of(argc, argv, "rest") != NULL;
    if (run.per_round == 0 || run.per_round > VESTA_BATCH_MAX) run.per_round = 1;
    run.out = open(argv[2], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (run.out < 0) die(argv[2], "cannot be opened");
    signal(SIGTERM, on_signal);
    signal(SIGINT, on_signal);
    if (vesta_open(&opts, &run.gen, &err) != VESTA_OK) die("open", err.text);
    return issue(&run);
}

/* ------------------------------------------------------------------ a namespace with hardly a number left */

static int fill(const char *uri, const char *ns, const char *layout_text, uint64_t count) {
    struct vesta_layout layout;
    struct vs_store *store;
    struct vesta_error err;
    struct vs_reply reply;
    struct vs_store_opts opts = {.namespace_ = ns, .group = -1, .clock = vs_clock_system(), .call_ms_max = 20000};
    struct vs_record record = {.ver = 1, .owner = {1, 2}, .lease_ms = 86400000, .held = true};
    if (vesta_layout_parse(layout_text, &layout, &err) != VESTA_OK) die("layout", err.text);
    if (vs_store_open(uri, &opts, &store, &err) != VESTA_OK) die("store", err.text);
    record.fingerprint = layout.fingerprint;
    snprintf(record.identity, sizeof record.identity, "somebody");
    snprintf(record.holder, sizeof record.holder, "somewhere");
    store->leases->ns_read(store, &reply);
    for (uint64_t i = 0; i < count && reply.outcome == VS_STORE_OK; i++)
        store->leases->swap(store, i, 0, &record, &reply);
    store->backend->close(store);
    if (reply.outcome != VS_STORE_OK) die("fill", reply.text);
    return 0;
}

int main(int argc, char **argv) {
    if (argc < 3) die("usage", "see the head of issuer.c");
    signal(SIGPIPE, SIG_IGN);
    if (strcmp(argv[1], "run") == 0) return run_it(argc, argv);
    if (argc != 6 || strcmp(argv[1], "fill") != 0) die("usage", "see the head of issuer.c");
    return fill(argv[2], argv[3], argv[4], strtoull(argv[5], NULL, 10));
}
