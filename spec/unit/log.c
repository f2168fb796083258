/* log.c -- the log: the form of a line, escaping of foreign text, and repeated events. */
#include "logged.h"

/* ------------------------------------------------------------------ lines */

static void a_line_of_logfmt(void) {
    begin(VS_LOG_LOGFMT);
    vs_log(VS_LOG_WARN, "the clock went back", "namespace", "orders", "by", "3.5 s", "none", NULL, "empty", "", "path",
           "/a/b.gen", "left", VS_DIGITS(INT64_MIN), NULL);
    CHECK_STR(logged(),
              "ts=2026-11-21T19:32:16.045Z level=warn msg=\"the clock went back\" namespace=orders by=\"3.5 s\" "
              "empty=\"\" path=/a/b.gen left=-9223372036854775808\n");
}

static void a_line_of_json(void) {
    begin(VS_LOG_JSON);
    atomic_store(&passed_us, 955000); /* a whole second has no fraction to print */
    vs_log(VS_LOG_ERROR, "ready", "namespace", "orders", "workers", VS_DIGITS(7), NULL);
    CHECK_STR(logged(),
              "{\"ts\":\"2026-11-21T19:32:17.000Z\",\"level\":\"error\",\"msg\":\"ready\",\"namespace\":\"orders\","
              "\"workers\":\"7\"}\n");
}

static void foreign_text_is_escaped(void) {
    static const struct {
        const char *value, *shown;
    } known[] = {
        {"a\nts=1 level=info msg=forged", "a\\nts=1 level=info msg=forged"},
        {"\"", "\\\""},
        {"\\", "\\\\"},
        {"\\\"", "\\\\\\\""},
        {"x=y", "x=y"},
        {"\r\t\x01\x1b[2J\x7f", "\\r\\t\\u0001\\u001b[2J\\u007f"},
        {"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
        {"\xf0\x9f\x8c\x8b", "\xf0\x9f\x8c\x8b"},
        {"\xc2\x85|\xe2\x80\xa8|\xe2\x80\xae|\xef\xbb\xbf", "\\u0085|\\u2028|\\u202e|\\ufeff"},
        {"\xff|\xc0\xaf|\xed\xa0\x80|\xf4\x90\x80\x80|\x80",
         "\\ufffd|\\ufffd\\ufffd|\\ufffd\\ufffd\\ufffd|\\ufffd\\ufffd\\ufffd\\ufffd|\\ufffd"},
        {"cut \xe2\x82", "cut \\ufffd\\ufffd"},
    };
    char want[256];
    for (size_t i = 0; i < VS_COUNT(known); i++)
        for (int format = VS_LOG_LOGFMT; format <= VS_LOG_JSON; format++) {
            begin((enum vs_log_format)format);
            vs_log(VS_LOG_INFO, known[i].value, "v", known[i].value, NULL);
            logged();
            snprintf(want, sizeof want, format ? "\"msg\":\"%s\",\"v\":\"%s\"}\n" : " msg=\"%s\" v=\"%s\"\n",
                     known[i].shown, known[i].shown);
            CHECK_HAS(text, want);
        }
}

static void random_bytes_stay_in_their_value(void) {
    uint64_t dice = 3;
    char value[6000];
    begin(VS_LOG_JSON);
    for (int round = 0; round < 150; round++, atomic_fetch_add(&passed_us, 2 * SECOND)) {
        size_t length = roll_below(&dice, round % 3 ? 200 : sizeof value);
        for (size_t i = 0; i < length; i++)
            value[i] = (char)(1 + roll_below(&dice, round % 2 ? 255 : 40));
        value[length] = '\0';
        vs_log(VS_LOG_INFO, "garbage", "a", value, "b", at_wall(value, length + 1), NULL);
    }
    size_t lines = 0;
    for (const char *at = logged(), *end; *at; at = end + 1, lines++) {
        end = strchr(at, '\n');
        NEED(end);
        if (!is_sound(at, (size_t)(end - at))) CHECK_FAIL("line %zu is broken: %.*s", lines, (int)(end - at), at);
        CHECK(end + 1 - at <= VS_LOG_LINE_MAX);
    }
    CHECK_EQ_U64(lines, 150);
}

static void long_values_are_cut(void) {
    static char value[VS_LOG_LINE_MAX + 100];
    for (size_t length = VS_LOG_LINE_MAX - 300; length < sizeof value; length++) {
        begin(length % 2 ? VS_LOG_JSON : VS_LOG_LOGFMT);
        memset(value, length % 3 ? 'x' : '\n', length);
        value[length] = '\0';
        vs_log(VS_LOG_INFO, "long", "v", value, "w", "1", NULL);
        logged();
        size_t used = strlen(text);
        CHECK(used <= VS_LOG_LINE_MAX && text[used - 1] == '\n' && count_of("\n") == 1);
        bool cut = strstr(text, "...\"") != NULL || !strstr(text, length % 2 ? "\"w\":" : " w=");
        CHECK((strstr(text, length % 2 ? ",\"cut\":true}\n" : " cut=true\n") != NULL) == cut);
        CHECK(cut || length < VS_LOG_LINE_MAX - 100);
    }
}

static void levels_hold(void) {
    begin(VS_LOG_LOGFMT);
    for (int least = VS_LOG_DEBUG; least <= VS_LOG_ERROR; least++) {
        log_to(in_folder("log"), (enum vs_log_level)least, VS_LOG_LOGFMT);
        for (int level = VS_LOG_DEBUG; level <= VS_LOG_ERROR; level++)
            vs_log((enum vs_log_level)level, VS_DIGITS(least * 10 + level), NULL);
    }
    logged();
    CHECK_EQ_U64(count_of("\n"), 4 + 3 + 2 + 1);
    CHECK_EQ_U64(count_of("level=error"), 4);
    CHECK_EQ_U64(count_of("level=debug"), 1);
}

static void words_of_options(void) {
    CHECK_EQ_I64(vs_log_level_named("debug"), VS_LOG_DEBUG);
    CHECK_EQ_I64(vs_log_level_named("error"), VS_LOG_ERROR);
    for (const char *const *word = (const char *const[]){"", "INFO", "warning", "inf", "info ", "4", NULL}; *word;
         word++)
        CHECK(vs_log_level_named(*word) == -1);
}

/* ------------------------------------------------------------------ repeats */

static void repeats_are_counted(void) {
    begin(VS_LOG_LOGFMT);
    for (int i = 0; i < 58; i++)
        vs_log(VS_LOG_WARN, "again", "namespace", "a", "try", VS_DIGITS(i), NULL);
    for (int i = 0; i < 3; i++)
        vs_log(VS_LOG_WARN, "again", "namespace", "b", NULL);
    vs_log(VS_LOG_WARN, "other", "namespace", "a", NULL);
    logged();
    CHECK_EQ_U64(count_of("\n"), 3); /* another namespace or message is another event */
    CHECK_EQ_U64(count_of("repeated"), 0);
    atomic_fetch_add(&passed_us, SECOND - 1);
    vs_log_tick();
    CHECK_EQ_U64((logged(), count_of("\n")), 3);
    atomic_fetch_add(&passed_us, 1);
    vs_log(VS_LOG_WARN, "again", "namespace", "a", "try", "58", NULL);
    logged();
    CHECK_HAS(text, "msg=again namespace=a try=58 repeated=57\n");
    CHECK_HAS(text, "msg=again namespace=b repeated=2\n"); /* this repeat is reported because another event came */
    CHECK_EQ_U64(count_of("\n"), 5);
}

static void the_last_repeats_are_written(void) {
    begin(VS_LOG_JSON);
    for (int i = 0; i < 8; i++)
        vs_log(VS_LOG_WARN, "again", NULL);
    atomic_fetch_add(&passed_us, SECOND);
    vs_log_tick();
    vs_log_tick();
    logged();
    CHECK_HAS(text, "\"msg\":\"again\",\"repeated\":7}\n");
    CHECK_EQ_U64(count_of("\n"), 2);
    for (int i = 0; i < 3; i++)
        vs_log(VS_LOG_WARN, "the end", NULL);
    vs_log_end(VS_LOG_END_MS);
    CHECK_HAS(logged(), "\"msg\":\"the end\",\"repeated\":2}\n");
}

/* The start of a message, or the message without its values, does not identify the event. */
static void another_text_is_another_event(void) {
    char one[300], other[300];
    memset(one, 'x', sizeof one);
    memcpy(other, one, sizeof one);
    one[298] = 'a', other[298] = 'b';
    one[299] = other[299] = '\0';
    begin(VS_LOG_LOGFMT);
    for (int i = 0; i < 3; i++) {
        vs_log(VS_LOG_WARN, one, NULL);
        vs_log(VS_LOG_WARN, other, NULL);
        vs_log(VS_LOG_WARN, "it failed", "error", "no route", "try", VS_DIGITS(i), NULL);
        vs_log(VS_LOG_WARN, "it failed", "error", "no memory", "try", VS_DIGITS(i), NULL);
    }
    logged();
    CHECK_EQ_U64(count_of("\n"), 4);
    CHECK_HAS(text, "no route");
    CHECK_HAS(text, "no memory");
    vs_log_end(VS_LOG_END_MS);
    logged();
    CHECK_EQ_U64(count_of("repeated=2\n"), 4);
}

/* Addresses of clients make each text different. A few of these lines are written, and the rest is counted in one
 * line. */
static void differing_texts_are_bounded(void) {
    char who[16];
    begin(VS_LOG_LOGFMT);
    for (int i = 0; i < 1000; i++) {
        snprintf(who, sizeof who, "host%d", i);
        vs_log(VS_LOG_WARN, "refused", "who", who, NULL);
    }
    logged();
    CHECK_EQ_U64(count_of("\n"), 17);
    vs_log_end(VS_LOG_END_MS);
    logged();
    CHECK_HAS(text, "msg=refused repeated=983\n");
    CHECK_EQ_U64(count_of("\n"), 18);
}

static void every_repeat_is_counted(void) {
    enum { EVENTS = 200, TIMES = 5 };
    begin(VS_LOG_LOGFMT);
    for (int i = 0; i < EVENTS; i++)
        for (int j = 0; j < TIMES; j++)
            vs_log(VS_LOG_INFO, "often", "namespace", VS_DIGITS(i), NULL);
    vs_log_end(VS_LOG_END_MS);
    logged();
    CHECK_EQ_U64(count_of("\n"), 2 * EVENTS);
    CHECK_EQ_U64(count_of("repeated=4\n"), EVENTS);
}

static const struct check_case cases[] = {
    {"an event is a line of logfmt", a_line_of_logfmt},
    {"an event is a line of JSON", a_line_of_json},
    {"foreign text is escaped unless it is printable UTF-8", foreign_text_is_escaped},
    {"random bytes stay in their value, and the line stays one line", random_bytes_stay_in_their_value},
    {"a value that is too long is cut, and the line marks that", long_values_are_cut},
    {"events below the level are not written", levels_hold},
    {"levels and formats have names, and other names are rejected", words_of_options},
    {"an event that repeats within a second is counted, and the count is written with the next one",
     repeats_are_counted},
    {"repeats are written even if no other event follows", the_last_repeats_are_written},
    {"another text is another event, from its first to its last character", another_text_is_another_event},
    {"events whose text differs each time are written a bounded number of times, and counted",
     differing_texts_are_bounded},
    {"every repeat is counted, even of more events than there are places", every_repeat_is_counted},
};
CHECK_MAIN_IN_FOLDER(cases)
