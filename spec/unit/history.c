/* history.c -- the status history of the last hour: issued and rejected ids of each 10 s, by namespace and in total,
 * and null for intervals that were not observed. */
#include "check.h"
#include "hand_clock.h"
#include "server/counts.h"
#include "server/monitor/history.h"

#include <stdlib.h>

static struct vs_server server = {.clock = &fake, .monitor.loop_count = 2};
static struct vs_counts *counts[2];
static struct vs_history *history;
static char text[VS_REPLY_MAX];

static void begin_with(int count) {
    char name[16];
    if (!vs_namespaces_make(&server.names, count)) abort();
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof name, "ns%d", i);
        vs_namespace_add(&server.names, name);
    }
    for (int i = 0; i < 2; i++)
        server.monitor.counts[i] = counts[i] = vs_counts_new(count);
    boot_now_us = 1000 * 1000000LL;
    history = vs_history_new(server.names.count);
    vs_history_look(history, &server);
}

static void begin(void) {
    begin_with(2);
}

static void end(void) {
    vs_history_free(history);
    free(counts[0]);
    free(counts[1]);
    vs_namespaces_free(&server.names);
}

static void pass(int seconds) {
    boot_now_us += seconds * 1000000LL;
    unix_now_us += seconds * 1000000LL;
    vs_history_look(history, &server);
}

/* Returns the history as a JSON object, or "" if there is nothing new. */
static const char *told_since(int ns, int64_t *since) {
    struct vs_out out = {.at = text, .size = sizeof text};
    vs_put_text(&out, "{");
    bool is_news = vs_history_put(history, &server, ns, since, &out);
    vs_put_text(&out, "}");
    text[is_news ? out.used : 0] = '\0';
    return text;
}

static const char *told(int ns) {
    return told_since(ns, NULL);
}

static int count_of(const char *part) {
    int count = 0;
    for (const char *at = told(-1); (at = strstr(at, part)); at += strlen(part))
        count++;
    return count;
}

static void reports_each_interval(void) {
    begin();
    vs_add(&counts[0]->ns[0].ids[VS_RESP], 5);
    vs_add(&counts[1]->ns[0].ids[VS_HTTP], 6);
    vs_add(&counts[1]->ns[1].ids[VS_HTTP], 100);
    pass(10);
    vs_add(&counts[0]->ns[0].ids[VS_RESP], 2);
    atomic_store(&server.names.at[1].refused, 3);
    pass(10);
    CHECK_HAS(told(0), "{\"namespace\":\"ns0\",\"step_ms\":10000,\"until_unix_ms\":");
    CHECK_HAS(text, "null,11,2],\"refused\":[null");
    CHECK_HAS(text, "null,0,0]}");
    CHECK_HAS(told(1), "null,100,0],");
    CHECK_HAS(text, "null,0,3]}");
    CHECK_HAS(told(-1), "null,111,2],");
    CHECK_HAS(text, "null,0,3]}");
    end();
}

static void reads_within_an_interval_change_nothing(void) {
    begin();
    vs_add(&counts[0]->ns[0].ids[VS_RESP], 5);
    for (int i = 0; i < 9; i++)
        pass(1);
    CHECK_HAS(told(0), "null,null]}");
    pass(1);
    CHECK_HAS(told(0), "null,5],");
    end();
}

/* The gap is like a suspend, or an event loop that hung. */
static void a_gap_stays_empty(void) {
    begin();
    pass(10);
    vs_add(&counts[0]->ns[0].ids[VS_RESP], 7);
    pass(40);
    vs_add(&counts[0]->ns[0].ids[VS_RESP], 8);
    pass(10);
    CHECK_HAS(told(0), "null,0,null,null,null,null,8],");
    pass(VS_HISTORY_STEPS * 10 * 2);
    CHECK(!strstr(told(0), "8"));
    end();
}

static void an_hour_is_kept_and_no_more(void) {
    begin();
    for (int i = 0; i < VS_HISTORY_STEPS + 7; i++) {
        vs_add(&counts[0]->ns[0].ids[VS_RESP], (uint64_t)i + 1);
        pass(10);
    }
    CHECK_EQ_I64(count_of("null"), 0);
    CHECK_HAS(told(0), "\"ids\":[8,9,10,");
    CHECK_HAS(text, ",366,367],");
    end();
}

static void a_reader_gets_only_new_intervals(void) {
    int64_t since = 0;
    begin();
    vs_add(&counts[0]->ns[0].ids[VS_RESP], 5);
    pass(10);
    CHECK_HAS(told_since(0, &since), "null,5],");
    CHECK_STR(told_since(0, &since), "");
    vs_add(&counts[0]->ns[0].ids[VS_RESP], 6);
    pass(10);
    vs_add(&counts[0]->ns[0].ids[VS_RESP], 7);
    pass(10);
    CHECK_HAS(told_since(0, &since), "\"ids\":[6,7],\"refused\":[0,0]}");
    CHECK_STR(told_since(0, &since), "");
    pass(VS_HISTORY_STEPS * 10 * 2); /* after an hour all intervals that the reader had are gone */
    CHECK_HAS(told_since(0, &since), "\"ids\":[null,null,");
    end();
}

static void other_namespaces_are_in_the_sum(void) {
    begin_with(VS_NAMESPACES_TOLD + 2);
    vs_add(&counts[0]->ns[VS_NAMESPACES_TOLD + 1].ids[VS_RESP], 5);
    vs_add(&counts[0]->ns[0].ids[VS_RESP], 2);
    pass(10);
    CHECK_HAS(told(0), "null,2],");
    CHECK_HAS(told(-1), "null,7],");
    end();
}

static const struct check_case cases[] = {
    {"ids and rejections are reported by interval, by namespace and in total", reports_each_interval},
    {"reading within an interval changes nothing", reads_within_an_interval_change_nothing},
    {"an interval that was not observed stays null", a_gap_stays_empty},
    {"exactly one hour is kept", an_hour_is_kept_and_no_more},
    {"namespaces without a history of their own are part of the total", other_namespaces_are_in_the_sum},
    {"a reader that has part of the history gets only the rest", a_reader_gets_only_new_intervals},
};

CHECK_MAIN(cases)
