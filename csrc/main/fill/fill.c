/* fill.c -- `vesta fill`: keeps a list in Redis between two marks.  An id is sent to Redis once: what became of it
 * where no answer came is nobody's to know, so it is never sent again. */
#include "base/rest.h"
#include "main/cli.h"
#include "serve/effective.h"
#include "main/fill/list.h"
#include "main/fill/source.h"
#include "command/options.h"
#include "os/address.h"
#include "os/clock.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define LOW_DEFAULT 1000
#define HIGH_DEFAULT 10000
#define HIGH_MAX 100000000
#define TIMEOUT_MS_DEFAULT 2000
#define EVERY_S_DEFAULT 60
#define PUSH_MIN 100       /* ids in one command: few are lost where it is not answered, */
#define PUSHES_A_SECOND 20 /* and more where as many commands would not keep up */
#define LOOK_MS_MIN 5
#define LOOK_MS_MAX 200
#define ID_WAIT_MS 100
#define QUIET_MS 2000 /* a wait for ids up to this long needs no word */
#define ONCE_MS 5000  /* --once gives up where nothing was pushed for so long */
#define EMPTY_SAID_MS 60000

struct fill {
    struct vs_list list;
    struct vs_source source;
    uint64_t low, high;
    int base, json, once, effective;
    int64_t every_ms, said_ms, look_ms; /* when the line of counts was printed, when the list was looked at last */
    int64_t pushed_ms, empty_ms;        /* when ids were pushed, or not needed; when it was said that it was empty */
    int64_t length;                     /* of the list, as it was heard last; -1: never */
    int64_t popped;                     /* since that look */
    double rate;                        /* popped a second */
    unsigned troubles;                  /* one after another */
    bool was_full;
    bool refills; /* it was below the low mark, and has not been up at the high one since */
    uint64_t pushed, burnt;
    int waiting;                           /* ids that were taken and not sent, or refused */
    char trouble[VS_SOURCE_WHY_MAX + 200]; /* as it was said last; "": all is well */
    const char *ids[VS_LIST_PUSH_MAX];
    char text[VS_LIST_PUSH_MAX][VESTA_FORMAT_MAX];
    uint64_t number[VS_LIST_PUSH_MAX];
};

static volatile sig_atomic_t interrupted;
static sigset_t unblocked;

static void on_signal(int number) {
    (void)number;
    interrupted = 1;
}

static int64_t boot_ms(void) {
    const struct vesta_clock *clock = vs_clock_system();
    return clock->boot_us(clock->self) / 1000;
}

/* The signals that end are let in here alone, so that none comes between a look at `interrupted` and the sleep. */
static void rest(int64_t ms) {
    struct timespec span = {ms / 1000, ms % 1000 * 1000000};
    ppoll(NULL, 0, &span, &unblocked);
}

static void mind_signals(void) {
    const struct sigaction act = {.sa_handler = on_signal};
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigprocmask(SIG_BLOCK, &ends, &unblocked);
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
}

/* ------------------------------------------------------------------ what is said */

static void print_counts(const struct fill *fill) {
    char left[VS_GROUPED_MAX], pushed[VS_GROUPED_MAX], burnt[VS_GROUPED_MAX];
    uint64_t length = fill->length > 0 ? (uint64_t)fill->length : 0;
    if (fill->json)
        vs_outf("{\"list\":%" PRIu64 ",\"pushed\":%" PRIu64 ",\"popped_s\":%.1f,\"burnt\":%" PRIu64
                ",\"cleared\":%" PRId64 ",\"well\":%s}\n",
                length, fill->pushed, fill->rate, fill->burnt, fill->list.cleared, *fill->trouble ? "false" : "true");
    else
        vs_say("%s ids in the list, %s pushed, %.0f popped a second, %s burnt", vs_grouped(length, left),
               vs_grouped(fill->pushed, pushed), fill->rate, vs_grouped(fill->burnt, burnt));
    vs_out_flush();
}

static void count_now_and_then(struct fill *fill) {
    int64_t now = boot_ms();
    if (fill->every_ms == 0 || now - fill->said_ms < fill->every_ms) return;
    fill->said_ms = now;
    print_counts(fill);
}

/* A trouble that stands is said once. */
static void say_trouble(struct fill *fill, const char *text) {
    if (strcmp(fill->trouble, text) == 0) return;
    snprintf(fill->trouble, sizeof fill->trouble, "%s", text);
    vs_say("%s", text);
}

static void say_well(struct fill *fill) {
    if (*fill->trouble) vs_say("goes on: the list has %" PRId64 " ids", fill->length);
    *fill->trouble = '\0';
    fill->troubles = 0;
}

/* Redis did not do what was asked: says why, and leaves the connection for a new one. */
static void tell_outcome(struct fill *fill, enum vs_redis_outcome outcome) {
    struct vs_redis *redis = &fill->list.redis;
    const char *remedy = vs_list_remedy(redis->text);
    char text[sizeof fill->trouble];
    snprintf(text, sizeof text, outcome == VS_REDIS_REFUSED ? "%s refuses: %s%s%s" : "%s: %s%s%s", redis->address,
             vs_shown_text(redis->text), remedy && outcome == VS_REDIS_REFUSED ? ": " : "",
             remedy && outcome == VS_REDIS_REFUSED ? remedy : "");
    say_trouble(fill, text);
    redis->client->close(redis);
    fill->troubles++;
}

/* ------------------------------------------------------------------ ids */

/* Has ids in hand, as text.  False: there are none now, which was said. */
static bool take_ids(struct fill *fill, int n) {
    char why[VS_SOURCE_WHY_MAX], text[sizeof fill->trouble];
    if (fill->waiting > 0) return true; /* Redis has said that it did not take them */
    size_t got = vs_source_take(&fill->source, fill->number, (size_t)n, ID_WAIT_MS, why);
    for (size_t i = 0; i < got; i++) {
        vesta_format((enum vesta_base)fill->base, fill->number[i], fill->text[i]);
        fill->ids[i] = fill->text[i];
    }
    fill->waiting = (int)got;
    if (got > 0) return true;
    if (boot_ms() - fill->pushed_ms < QUIET_MS) return false;
    snprintf(text, sizeof text, "no ids: %s", why);
    say_trouble(fill, text);
    return false;
}

/* Where Redis has not said that it did nothing, it may yet do it. */
static void burn(struct fill *fill) {
    vs_say("%d ids are burnt: whether %s has them is not known", fill->waiting, fill->list.redis.address);
    fill->burnt += (uint64_t)fill->waiting;
    fill->waiting = 0;
}

static bool push_ids(struct fill *fill) {
    int64_t before = fill->length;
    enum vs_redis_outcome outcome = vs_list_push(&fill->list, fill->ids, fill->waiting, &fill->length);
    if (outcome == VS_REDIS_OK) {
        int64_t gone = before + fill->waiting - fill->length;
        if (gone > 0) fill->popped += gone;
        fill->pushed += (uint64_t)fill->waiting;
        fill->pushed_ms = boot_ms();
        fill->waiting = 0;
        return true;
    }
    bool did_nothing =
        outcome == VS_REDIS_DOWN || (outcome == VS_REDIS_REFUSED && vs_list_remedy(fill->list.redis.text));
    if (!did_nothing) burn(fill);
    tell_outcome(fill, outcome);
    return false;
}

/* ------------------------------------------------------------------ rounds */

/* How many are popped a second, by what is missing since the last look. */
static void measure(struct fill *fill, int64_t length) {
    int64_t now = boot_ms(), span_ms = now - fill->look_ms;
    if (fill->length > length) fill->popped += fill->length - length;
    if (fill->length >= 0 && span_ms > 0)
        fill->rate = 0.7 * fill->rate + 0.3 * (double)fill->popped * 1000 / (double)span_ms;
    if (length == 0 && fill->was_full && (!fill->empty_ms || now - fill->empty_ms > EMPTY_SAID_MS)) {
        vs_say("the list is empty: it was flushed or lost, or popped faster than it is filled; it is filled anew, with "
               "other ids");
        fill->empty_ms = now;
    }
    fill->look_ms = now;
    fill->popped = 0;
    fill->length = length;
}

static int push_size(const struct fill *fill) {
    double n = fill->rate / PUSHES_A_SECOND;
    int size = n > VS_LIST_PUSH_MAX ? VS_LIST_PUSH_MAX : n < PUSH_MIN ? PUSH_MIN : (int)n;
    int64_t room = (int64_t)fill->high - fill->length;
    return room < size ? (int)room : size;
}

static bool look(struct fill *fill) {
    int64_t length = 0, cleared = fill->list.cleared;
    enum vs_redis_outcome outcome = vs_list_look(&fill->list, &length);
    if (outcome != VS_REDIS_OK) {
        tell_outcome(fill, outcome);
        return false;
    }
    if (fill->list.cleared > cleared)
        vs_say("%s was restarted, replaced or a replica: %" PRId64
               " ids that it brought back may have been popped before, and "
               "are removed",
               fill->list.redis.address, fill->list.cleared - cleared);
    measure(fill, length);
    return true;
}

/* One look at the list, and up to the high mark where it is below the low one.  False: it did not come to its end. */
static bool go_round(struct fill *fill) {
    if (!look(fill)) return false;
    if ((uint64_t)fill->length < fill->low) fill->refills = true;
    if (!fill->refills) {
        fill->pushed_ms = boot_ms();
        say_well(fill);
        return true;
    }
    while ((uint64_t)fill->length < fill->high && !interrupted) {
        if (!take_ids(fill, push_size(fill)) || !push_ids(fill)) return false;
        say_well(fill);
        count_now_and_then(fill);
        rest(0); /* lets a signal in */
    }
    if (!fill->was_full && !interrupted) vs_say("the list %s has %" PRId64 " ids", fill->list.name, fill->length);
    fill->was_full = true;
    fill->refills = interrupted;
    return true;
}

/* Until the list will have come halfway to the low mark; or, after troubles, as patient as they are many. */
static int64_t rest_ms(struct fill *fill) {
    if (fill->troubles > 0) return vs_rest_us(fill->troubles - 1, VS_REST_MIN_US, (uint64_t)boot_ms() * 2654435761u) / 1000;
    double left_ms = fill->rate > 0 ? (double)(fill->length - (int64_t)fill->low) * 500 / fill->rate : LOOK_MS_MAX;
    return left_ms > LOOK_MS_MAX ? LOOK_MS_MAX : left_ms < LOOK_MS_MIN ? LOOK_MS_MIN : (int64_t)left_ms;
}

static int run(struct fill *fill) {
    fill->length = -1;
    fill->refills = true;
    fill->said_ms = fill->look_ms = fill->pushed_ms = boot_ms();
    mind_signals();
    bool done = false;
    while (!interrupted) {
        done = go_round(fill);
        if (fill->once && (done || fill->troubles > 0 || boot_ms() - fill->pushed_ms > ONCE_MS)) break;
        count_now_and_then(fill);
        rest(rest_ms(fill));
    }
    if (fill->every_ms > 0 || fill->json) print_counts(fill);
    fill->list.redis.client->close(&fill->list.redis);
    return fill->once && !done ? VS_FAILED : VS_DONE;
}

/* ------------------------------------------------------------------ the command */

static int check(const struct fill *fill) {
    const char *address = fill->list.redis.address, *colons = strstr(address, "://");
    struct vesta_error err;
    if (colons && strncmp(address, "rediss", 6) == 0)
        return vs_usage("--redis %s: TLS is not offered here; use a tunnel (stunnel) and its local address",
                        vs_shown_text(address));
    if (colons)
        return vs_usage("--redis is %s, which must be HOST:PORT, [v6]:PORT or unix:PATH", vs_shown_text(address));
    if (vs_address_check(address, &err) != VESTA_OK) return vs_report(&err);
    if (!fill->list.name) return vs_usage("--list is missing: the key of the list that is to be filled");
    if (strlen(fill->list.name) > VS_LIST_NAME_MAX) return vs_usage("--list is longer than %d bytes", VS_LIST_NAME_MAX);
    if (fill->low >= fill->high)
        return vs_usage("--low is %" PRIu64 ", which must be less than --high, %" PRIu64, fill->low, fill->high);
    if (fill->list.user && !fill->list.password) return vs_usage("--user needs --password-file");
    return VS_GO;
}

/* One row an option; those of a generator follow. */
static int read_flags(struct fill *fill, int *argc, char **argv) {
    struct vesta_opts *const opts = &fill->source.opts;
    uint64_t timeout_ms = TIMEOUT_MS_DEFAULT, every_s = EVERY_S_DEFAULT;
    const char *password_file = NULL;
    const struct vs_option table[] = {
        VS_TEXT("redis", &fill->list.redis.address, "ADDR",
                "HOST:PORT, [v6]:PORT or unix:PATH (default: 127.0.0.1:6379)"),
        VS_TEXT("list", &fill->list.name, "KEY", "the list that is to be filled"),
        {"low", 0, VS_OPT_COUNT, &fill->low, "N", "fill once fewer are left (default: 1000)", 1, HIGH_MAX, NULL},
        {"high", 0, VS_OPT_COUNT, &fill->high, "N", "fill up to so many (default: 10000)", 2, HIGH_MAX, NULL},
        {"db", 0, VS_OPT_COUNT, &fill->list.db, "N", "the number of the database (default: 0)", 0, 1000000, NULL},
        VS_TEXT("user", &fill->list.user, "NAME", "the ACL user to be (default: Redis's own)"),
        VS_TEXT("password-file", &password_file, "FILE", "the password, alone on a line (default: none)"),
        {"timeout-ms", 0, VS_OPT_COUNT, &timeout_ms, "MS", "how long to wait for an answer (default: 2000)", 10, 60000,
         NULL},
        {"every", 0, VS_OPT_COUNT, &every_s, "S", "a line of counts each S seconds, 0 for none (default: 60)", 0, 86400,
         NULL},
        VS_SWITCH("once", &fill->once, "fill up once and end; a trouble ends it with 1"),
        VS_SWITCH("json", &fill->json, "print the counts as JSON objects on stdout"),
        VS_FORMAT(&fill->base, "how ids are written"),
        {"config", 'c', VS_OPT_TEXT, &fill->source.config_path, "FILE", "a config that has the namespace or the tag", 0,
         0, NULL},
        VS_TEXT("tag", &fill->source.tag, "TAG", "a counter in --store or -c FILE, instead of a namespace"),
        VS_TEXT("table", &fill->source.table, "NAME", "the counter's table (default: leaf_alloc)"),
        VS_GENERATOR_OPTIONS,
        VS_EFFECTIVE(&fill->effective),
        {0},
    };
    int rc = vs_options(table, argc, argv);
    if (rc != VS_GO) return rc;
    if (*argc) return vs_usage("unexpected operand %s", vs_shown_text(argv[0]));
    if (password_file) rc = vs_read_secret("--password-file", password_file, &fill->list.password);
    fill->list.redis.call_ms_max = (int64_t)timeout_ms;
    fill->every_ms = (int64_t)every_s * 1000;
    return rc;
}

static int find_client(struct vs_redis *redis) {
    struct vesta_error err;
    redis->client = vs_redis_find(&err);
    if (redis->client) return VS_GO;
    vs_say("%s", err.text);
    return VS_FAILED;
}

static int run_fill(int argc, char **argv) {
    static struct fill fill = {.low = LOW_DEFAULT, .high = HIGH_DEFAULT, .source.opts = VESTA_OPTS_INIT};
    fill.list.redis.address = "127.0.0.1:6379";
    int rc = read_flags(&fill, &argc, argv);
    if (rc == VS_GO && fill.effective) {
        rc = vs_source_print(&fill.source, fill.json);
        vs_source_close(&fill.source);
        return rc;
    }
    if (rc == VS_GO) rc = check(&fill);
    if (rc == VS_GO) rc = find_client(&fill.list.redis);
    if (rc != VS_GO) return rc;
    vs_list_init(&fill.list);
    if ((rc = vs_source_open(&fill.source)) == VS_GO) rc = run(&fill);
    vs_source_close(&fill.source);
    return rc;
}

const struct vs_command vs_fill_command = {
    "fill", run_fill, "keep a list in Redis filled with new ids", "fill --list KEY [OPTION...]",
    "Keeps a Redis list between two marks, for programs that can talk to Redis only: they take an id with\n"
    "LPOP.  Below --low ids are appended up to --high, in order.  No id is pushed twice: ids whose push was\n"
    "not answered are burnt.  A Redis that is away is waited for; one that was started anew loses what it\n"
    "brought back, since that may have been popped before.  Several fills may share a list: it then holds up to\n"
    "one push more than --high for each.  Ends on TERM.\n"
    "\n"
    "  $ vesta fill --redis 127.0.0.1:6379 --list ids --low 1000 --high 10000\n"
    "  vesta fill: the list ids has 10000 ids\n"
    "\n"
    "  $ redis-cli LPOP ids\n"
    "  \"403041233137828257\"\n"
    "\n"
    "  $ vesta fill --redis unix:/run/redis/redis.sock --list orders \\\n"
    "    -c server.lua --tag orders --once\n"
    "  vesta fill: the list orders has 10000 ids\n"};
