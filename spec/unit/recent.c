/* recent.c -- the recent events of a server, under a clock that the test moves. */
#include "check.h"
#include "hand_clock.h"
#include "server/counts.h"
#include "server/monitor/recent.h"
#include "server/room.h"

#include <stdlib.h>

static struct vs_server server;
static struct vs_counts *counts;
static struct vs_recent *recent;
static char text[VS_REPLY_MAX];

static void begin(void) {
    server = (struct vs_server){.clock = &fake, .monitor.loop_count = 1};
    if (!vs_namespaces_make(&server.names, 1)) abort();
    vs_namespace_add(&server.names, "orders");
    vs_namespace_set(&server.names.at[0], VS_NAMESPACE_OPENING, "its disk is full");
    server.monitor.counts[0] = counts = vs_counts_new(1);
    recent = vs_recent_new();
    vs_recent_look(recent, &server);
}

static void end(void) {
    vs_recent_free(recent);
    free(counts);
    vs_namespaces_free(&server.names);
}

static void pass(int64_t ms, int64_t clock_ms) {
    boot_now_us += ms * 1000;
    unix_now_us += clock_ms * 1000;
    vs_recent_look(recent, &server);
}

static const char *events_within(size_t bytes_max) {
    struct vs_out out = {.at = text, .size = sizeof text};
    vs_put_text(&out, "{");
    vs_recent_put(recent, &out, bytes_max);
    vs_put_text(&out, "}");
    text[out.used] = '\0';
    return text;
}

static const char *events(void) {
    return events_within(sizeof text);
}

static int count_of(const char *part) {
    int count = 0;
    for (const char *at = events(); (at = strstr(at, part)); at += strlen(part))
        count++;
    return count;
}

static void reports_steps_of_the_clock(void) {
    begin();
    pass(1000, 1080);
    CHECK_EQ_I64(count_of("clock_"), 0);
    pass(1000, -1000);
    CHECK_HAS(events(), "\"kind\":\"clock_back\",\"level\":\"warn\",\"text\":\"the clock went back by 2.000 s\"");
    pass(1000, 31000);
    CHECK_HAS(events(), "\"kind\":\"clock_forward\",\"level\":\"warn\",\"text\":\"the clock jumped forward by 30.000 s\"");
    CHECK_EQ_I64(count_of("clock_"), 2);
    end();
}

static void reports_a_namespace_that_stays_without_ids(void) {
    begin();
    CHECK_EQ_I64(count_of("no_ids"), 0);
    pass(1000, 1000);
    CHECK_HAS(events(), "\"kind\":\"no_ids\",\"level\":\"error\",\"namespace\":\"orders\",\"text\":\"no ids: its disk is full\"");
    pass(1000, 1000);
    CHECK_EQ_I64(count_of("no_ids"), 1);
    end();
}

static void reports_rejected_requests_at_once(void) {
    begin();
    CHECK_EQ_I64(count_of("no_ids"), 0);
    vs_recent_free(recent);
    recent = vs_recent_new();
    atomic_store(&server.names.at[0].refused, 3);
    vs_recent_look(recent, &server);
    CHECK_EQ_I64(count_of("no_ids"), 1);
    end();
}

static void reports_a_limit_once_until_it_was_quiet_for_a_minute(void) {
    begin();
    vs_add(&counts->turned[VS_HTTP][VS_LET_IN + 1], 7);
    pass(1000, 1000);
    CHECK_HAS(events(), "\"text\":\"7 connections were refused, because a limit on connections was reached\"");
    for (int i = 0; i < 70; i++) {
        vs_add(&counts->turned[VS_HTTP][VS_LET_IN + 1], 1);
        pass(1000, 1000);
    }
    CHECK_EQ_I64(count_of("connections_refused"), 1);
    pass(61000, 61000);
    vs_add(&counts->turned[VS_HTTP][VS_LET_IN + 1], 1);
    vs_add(&counts->of_client[0][VS_CLIENT_REFUSED_RATE], 2);
    pass(1000, 1000);
    CHECK_EQ_I64(count_of("connections_refused"), 2);
    CHECK_HAS(events(), "\"text\":\"client default reached its limit (requests: 0 waited, 2 rejected)\"");
    end();
}

static void keeps_the_newest_events(void) {
    char last[32];
    begin();
    for (int i = 0; i < VS_RECENT_MAX + 5; i++)
        pass(1000, 2000);
    CHECK_EQ_I64(count_of("\"number\":"), VS_RECENT_MAX);
    snprintf(last, sizeof last, "[{\"number\":%d,", VS_RECENT_MAX + 6); /* including one event that reports no ids */
    CHECK_HAS(events(), last);
    CHECK_HAS(events(), "\"number\":7,");
    CHECK(!strstr(events(), "\"number\":6,"));
    CHECK_HAS(events_within(2000), last);
    CHECK(strlen(text) < 2000);
    CHECK_HAS(events_within(100), "{\"recent\":[]}");
    end();
}

static const struct check_case cases[] = {
    {"steps of the clock are events, and slewing is not", reports_steps_of_the_clock},
    {"a namespace that stays without ids is one event", reports_a_namespace_that_stays_without_ids},
    {"rejected requests are an event at once", reports_rejected_requests_at_once},
    {"a limit is one event until a minute passes without it", reports_a_limit_once_until_it_was_quiet_for_a_minute},
    {"the newest events are kept, and as many are written as fit", keeps_the_newest_events},
};

CHECK_MAIN(cases)
