/* call.c -- runs a script's orders on one store object: one line in, one line out.
 *
 *     store_call URI NAMESPACE [MS] < orders       MS: the deadline of a call
 *     init | ns | make FINGERPRINT INCARNATION | read W | swap W VER UNTIL | list | advance INCARNATION AHEAD_MS
 *     clock | add TAG FROM STEP | step TAG STEP | take TAG STEP | untake TAG FROM UNTIL | tags | counter TAG | segments
 *     reserve TAG TOKEN HOLD_MS [GRANTED] | commit TAG TOKEN NUMBER [GRANTED] | cancel TAG TOKEN NUMBER [GRANTED]
 *
 * Counters are in the table $STORE_TABLE, which `segments` creates.  A reply has the outcome, the milliseconds taken,
 * the values found, and the text. */
#include "stores.h"

#include <sys/stat.h>

static void list(struct vs_store *store, size_t *count) {
    struct vs_listed *listed;
    store->leases->list(store, &listed, count, &reply);
    free(listed);
}

static size_t unusable; /* in the last listing */

/* Counts rows with unusable values in `unusable`.  Even if the list is OK, `text` has the reason of the first one. */
static void tell_unusable(const struct vs_tag_list *list) {
    for (size_t i = 0; i < list->count; i++) {
        const char *why;
        if (!vs_tag_usable(&list->rows[i], &why) && unusable++ == 0)
            snprintf(reply.text, sizeof reply.text, "%s: %s", list->rows[i].tag, why);
    }
}

static void tags(struct vs_store *store, const char *table, size_t *count, size_t *passed) {
    struct vs_tag_list list = {.rows = NULL};
    store->counters->tags(store, table, &list, &reply);
    *count = list.count;
    *passed = list.passed;
    tell_unusable(&list);
    if (list.count == 1) { /* print the whole row */
        const char *why;
        const struct vs_tag none = {.max = 0}, *row = vs_tag_usable(&list.rows[0], &why);
        if (!row) row = &none;
        reply.grant = (struct vs_grant){.from = (uint64_t)row->max,
                                        .step = (uint64_t)row->step,
                                        .delta = (uint64_t)row->delta,
                                        .remainder = (uint64_t)row->remainder};
    }
    free(list.rows);
}

/* Prints a counter's value, as the start of its next range. */
static void counter_of(struct vs_store *store, const struct vs_counter *counter) {
    struct vs_tag_list list = {.rows = NULL};
    store->counters->tags(store, counter->table, &list, &reply);
    for (size_t i = 0; i < list.count; i++)
        if (strcmp(list.rows[i].tag, counter->tag) == 0) {
            const char *why;
            const struct vs_tag *row = vs_tag_usable(&list.rows[i], &why);
            if (row) reply.grant.from = (uint64_t)row->max;
        }
    free(list.rows);
}

/* Orders for counters. */
static bool count(struct vs_store *store, const char *line, size_t *found, size_t *passed) {
    uint64_t a = 0, b = 0, c = 0;
    char tag[128];
    const struct vs_counter counter = {getenv("STORE_TABLE"), tag};
    if (sscanf(line, "add %127s %" SCNu64 " %" SCNu64, tag, &a, &b) == 3)
        store->counters->tag_add(store, &counter, a, b, &reply);
    else if (sscanf(line, "untake %127s %" SCNu64 " %" SCNu64, tag, &a, &b) == 3)
        store->counters->untake(store, &counter, a, b, &reply);
    else if (sscanf(line, "step %127s %" SCNu64, tag, &a) == 2)
        store->counters->tag_step(store, &counter, a, &reply);
    else if (sscanf(line, "reserve %127s %" SCNu64 " %" SCNu64 " %" SCNu64, tag, &a, &b, &c) >= 3)
        store->counters->reserve(
            store, &counter, &(struct vs_reservation){.token = {a, 1}, .hold_ms = (int64_t)b, .granted = c}, &reply);
    else if (sscanf(line, "commit %127s %" SCNu64 " %" SCNu64 " %" SCNu64, tag, &a, &b, &c) >= 3)
        store->counters->settle(store, &counter, &(struct vs_reservation){.number = b, .token = {a, 1}, .granted = c},
                                true, &reply);
    else if (sscanf(line, "cancel %127s %" SCNu64 " %" SCNu64 " %" SCNu64, tag, &a, &b, &c) >= 3)
        store->counters->settle(store, &counter, &(struct vs_reservation){.number = b, .token = {a, 1}, .granted = c},
                                false, &reply);
    else if (sscanf(line, "take %127s %" SCNu64, tag, &a) == 2)
        store->counters->take(store, &counter, a, &reply);
    else if (sscanf(line, "counter %127s", tag) == 1)
        counter_of(store, &counter);
    else if (strcmp(line, "tags\n") == 0)
        tags(store, counter.table, found, passed);
    else if (strcmp(line, "segments\n") == 0 && store->counters->tag_init)
        store->counters->tag_init(store, counter.table, &reply);
    else
        return false;
    return true;
}

static bool obey(struct vs_store *store, const char *line, size_t *count) {
    uint64_t a = 0, b = 0, c = 0;
    if (strcmp(line, "init\n") == 0)
        vs_store_init(store, &reply);
    else if (strcmp(line, "ns\n") == 0)
        store->leases->ns_read(store, &reply);
    else if (sscanf(line, "make %" SCNu64 " %" SCNu64, &a, &b) == 2)
        ns_swap_of(store, 0, a, b);
    else if (sscanf(line, "read %" SCNu64, &a) == 1)
        read_of(store, a);
    else if (sscanf(line, "swap %" SCNu64 " %" SCNu64 " %" SCNu64, &a, &b, &c) == 3)
        swap_of(store, a, b, c);
    else if (strcmp(line, "list\n") == 0)
        list(store, count);
    else if (sscanf(line, "advance %" SCNu64, &a) == 1)
        vs_store_advance(store, &(struct vs_ns_record){.incarnation = a, .fingerprint = 1}, vs_lease_preset("strict"),
                         &reply);
    else
        return false;
    return true;
}

/* Abandoned threads run until their server answers or their time is over.  A leak checker would report their memory,
 * because the process ends before them. */
static void await_threads(void) {
    const int64_t until_us = now_us() + INT64_C(3000000);
    struct stat tasks;
    while (stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink > 3 && now_us() < until_us)
        usleep(10000);
}

int main(int argc, char **argv) {
    char line[200], said[1024];
    if (argc < 3 || argc > 4) {
        fprintf(stderr, "store_call URI NAMESPACE [MS] < orders\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    struct vs_store *store = open_store(argv[1], argv[2], argc > 3 ? atoi(argv[3]) : PATIENT_MS);
    while (fgets(line, sizeof line, stdin)) {
        size_t found = 0, passed = 0;
        unusable = 0;
        memset(&reply, 0, sizeof reply);
        int64_t begun_us = now_us();
        if (!obey(store, line, &found) && !count(store, line, &found, &passed)) {
            fprintf(stderr, "no such order: %s", line);
            return 2;
        }
        printf("%s ms=%" PRId64 " store_ms=%" PRId64 " ver=%" PRIu64 " until=%" PRIu64 " written_ms=%" PRId64
               " count=%zu ns_ver=%" PRIu64 " incarnation=%" PRIu64 " floor_ms=%" PRId64 " from=%" PRIu64 " to=%" PRIu64
               " step=%" PRIu64 " delta=%" PRIu64 " remainder=%" PRIu64 " passed=%zu unusable=%zu | %s\n",
               outcome_name(reply.outcome), (now_us() - begun_us) / 1000, reply.store_ms, reply.record.ver,
               reply.record.until, reply.record.written_ms, found, reply.ns.ver, reply.ns.incarnation,
               reply.ns.floor_ms, reply.grant.from, reply.grant.until, reply.grant.step, reply.grant.delta,
               reply.grant.remainder, passed, unusable, vs_reply_say(&reply, "", said, sizeof said));
        fflush(stdout);
    }
    store->backend->close(store);
    await_threads();
    return 0;
}
