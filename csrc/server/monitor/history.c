/* history.c -- the last hour in steps of 10 s.  Contains no socket code, and only reads existing counters.
 *
 * A ring stores the counts at the end of each step, and the differences are reported.  Steps are numbered by the time
 * since boot, so that setting the clock does not shift them.  Steps during which the server did not run stay empty. */
#include "server/monitor/history.h"
#include "server/counts.h"
#include "server/tags.h"

#include <pthread.h>
#include <stdlib.h>

#define POINTS (VS_HISTORY_STEPS + 1) /* one more, for the difference of the first step */

struct point {
    uint64_t ids, refused;
};

struct vs_history {
    pthread_mutex_t lock;
    int told, columns;       /* columns: the first namespaces, the sum of the others, all tags */
    int64_t stretch[POINTS]; /* step number of each row, counted since boot (0: empty) */
    int64_t last;            /* number of the newest step (0: none) */
    int64_t last_unix_us;    /* when the newest step was recorded */
    struct point point[];    /* POINTS rows of `columns` */
};

struct vs_history *vs_history_new(int namespaces) {
    int told = namespaces < VS_NAMESPACES_TOLD ? namespaces : VS_NAMESPACES_TOLD;
    size_t columns = (size_t)told + 2;
    struct vs_history *history = calloc(1, sizeof *history + POINTS * columns * sizeof history->point[0]);
    if (!history) return NULL;
    pthread_mutex_init(&history->lock, NULL);
    history->told = told;
    history->columns = (int)columns;
    return history;
}

void vs_history_free(struct vs_history *history) {
    if (!history) return;
    pthread_mutex_destroy(&history->lock);
    free(history);
}

/* ------------------------------------------------------------------ recording */

static struct point of_namespace(const struct vs_server *server, int ns) {
    const struct vs_counts *first = server->monitor.counts[0];
    struct vesta_pause pause;
    struct point point = {.refused = vs_namespace_refused(&server->names.at[ns], &pause)};
    for (int protocol = 0; protocol < VS_ID_PROTOCOLS; protocol++)
        point.ids += vs_total(&server->monitor, &first->ns[ns].ids[protocol]);
    return point;
}

static struct point of_others(const struct vs_history *history, const struct vs_server *server) {
    struct point sum = {0, 0};
    for (int i = history->told; i < server->names.count; i++) {
        struct point one = of_namespace(server, i);
        sum.ids += one.ids, sum.refused += one.refused;
    }
    return sum;
}

/* Returns the sum of all tags' counts, including removed tags. */
static struct point of_tags(struct vs_server *server) {
    struct vs_tags_status gone = {0};
    const struct vs_tag_set *set = vs_tags_now(&server->tags);
    if (server->tags.status) server->tags.status(server->tags.self, &gone);
    struct point point = {.refused = gone.gone_pauses};
    for (size_t i = 0; set && i < set->count; i++) {
        struct vs_tag_total total = vs_tag_total(&server->monitor, set->at[i]);
        point.refused += total.pauses;
        for (int protocol = 0; protocol < VS_ID_PROTOCOLS; protocol++)
            point.ids += total.given[protocol];
    }
    for (int protocol = 0; protocol < VS_ID_PROTOCOLS; protocol++)
        point.ids += gone.gone_given[protocol];
    return point;
}

void vs_history_look(struct vs_history *history, struct vs_server *server) {
    int64_t stretch = server->clock->boot_us(server->clock->self) / (VS_HISTORY_STEP_S * 1000000) + 1;
    if (stretch == history->last) return; /* read without the lock, because only this thread writes it */
    pthread_mutex_lock(&history->lock);
    struct point *row = &history->point[stretch % POINTS * history->columns];
    for (int i = 0; i < history->told; i++)
        row[i] = of_namespace(server, i);
    row[history->told] = of_others(history, server);
    row[history->told + 1] = of_tags(server);
    history->stretch[stretch % POINTS] = history->last = stretch;
    history->last_unix_us = server->clock->unix_us(server->clock->self);
    pthread_mutex_unlock(&history->lock);
}

/* ------------------------------------------------------------------ as JSON */

static struct point at(const struct vs_history *history, int64_t stretch, int column) {
    const struct point *row = &history->point[stretch % POINTS * history->columns];
    struct point sum = {0, 0};
    for (int i = column < 0 ? 0 : column; i < (column < 0 ? history->columns : column + 1); i++)
        sum.ids += row[i].ids, sum.refused += row[i].refused;
    return sum;
}

static bool is_known(const struct vs_history *history, int64_t stretch) {
    return stretch > 0 && history->stretch[stretch % POINTS] == stretch;
}

/* Writes a number per step, the oldest first.  A step is null if the counts at its beginning or end are unknown. */
static void history_put_row(const struct vs_history *history, int column, bool is_refused, int64_t from, struct vs_out *out) {
    for (int64_t to = from; to <= history->last; to++) {
        if (to != from) vs_put(out, ",", 1);
        if (!is_known(history, to) || !is_known(history, to - 1)) {
            vs_put_text(out, "null");
            continue;
        }
        struct point end = at(history, to, column), begin = at(history, to - 1, column);
        vs_put_uint(out, is_refused ? end.refused - begin.refused : end.ids - begin.ids);
    }
    vs_put(out, "]", 1);
}

static void put_rows(const struct vs_history *history, const struct vs_server *server, int ns, int64_t from,
                     struct vs_out *out) {
    if (ns >= 0) vs_json_text(out, "namespace", server->names.at[ns].name);
    vs_json_int(out, "step_ms", VS_HISTORY_STEP_S * 1000);
    vs_json_int(out, "until_unix_ms", history->last_unix_us / 1000);
    vs_json_open(out, "ids", '[');
    history_put_row(history, ns, false, from, out);
    vs_json_open(out, "refused", '[');
    history_put_row(history, ns, true, from, out);
}

bool vs_history_put(struct vs_history *history, const struct vs_server *server, int ns, int64_t *since,
                    struct vs_out *out) {
    pthread_mutex_lock(&history->lock);
    int64_t from = history->last - VS_HISTORY_STEPS + 1;
    bool is_news = !since || *since != history->last;
    if (since && *since > 0 && *since >= from) from = *since + 1; /* soon after a boot, `from` is negative */
    if (is_news) put_rows(history, server, ns, from, out);
    if (since) *since = history->last;
    pthread_mutex_unlock(&history->lock);
    return is_news;
}
