/* log.c -- the log: what a line looks like, what foreign text cannot do to it, which repeats are told, and that no
 * reader, disk or pipe can stop the program. */
#include "base/array.h"
#include "crowd.h"
#include "log/log.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#define START_US INT64_C(1795289536045000) /* 2026-11-21T19:32:16.045Z */
#define SECOND 1000000

static _Atomic int64_t passed_us; /* since the case began */
static char text[1 << 20];

static int64_t fake_unix_us(void *clock) {
    (void)clock;
    return START_US + atomic_load(&passed_us);
}

static int64_t fake_boot_us(void *clock) {
    (void)clock;
    return 500 * SECOND + atomic_load(&passed_us);
}

static const struct vesta_clock fake_clock = {NULL, fake_unix_us, fake_boot_us, NULL};

static void log_to(const char *path, enum vs_log_level level, enum vs_log_format format) {
    struct vesta_error err = {.text = ""};
    const struct vs_log_opts opts = {level, format, path, &fake_clock};
    atomic_store(&passed_us, 0);
    if (vs_log_setup(&opts, &err) != VESTA_OK) CHECK_FAIL("%s", err.text);
}

/* A fresh file, "log" in the folder. */
static void begin(enum vs_log_format format) {
    vs_log_end(); /* and what the case before has not told */
    empty_folder();
    log_to(in_folder("log"), VS_LOG_DEBUG, format);
}

static const char *drained(int fd) {
    ssize_t got, used = 0;
    while ((got = read(fd, text + used, sizeof text - 1 - (size_t)used)) > 0)
        used += got;
    text[used] = '\0';
    return text;
}

static const char *logged_in(const char *name) {
    int fd = open(in_folder(name), O_RDONLY);
    CHECK(fd >= 0);
    drained(fd);
    close(fd);
    return text;
}

static const char *logged(void) {
    return logged_in("log");
}

static size_t count_of(const char *part) {
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
        count++;
    return count;
}

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
    atomic_store(&passed_us, 955000); /* a whole second */
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

/* Of a line of JSON: strings, colons and commas, nothing else, and nothing that a terminal obeys. */
static bool is_sound(const char *line, size_t length) {
    bool quoted = false;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)line[i];
        if (c < 0x20 || c == 0x7f) return false;
        if (c == '"')
            quoted = !quoted;
        else if (quoted && c == '\\')
            i++;
        else if (!quoted && !strchr("{},:0123456789true", c))
            return false;
    }
    return !quoted && line[0] == '{' && line[length - 1] == '}';
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
    CHECK_EQ_I64(vs_log_format_named("json"), VS_LOG_JSON);
    CHECK_EQ_I64(vs_log_format_named("logfmt"), VS_LOG_LOGFMT);
    for (const char *const *word = (const char *const[]){"", "INFO", "warning", "jso", "json ", "4", NULL}; *word;
         word++)
        CHECK(vs_log_level_named(*word) == -1 && vs_log_format_named(*word) == -1);
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
    CHECK_EQ_U64(count_of("\n"), 3); /* another namespace or sentence is another event */
    CHECK_EQ_U64(count_of("repeated"), 0);
    atomic_fetch_add(&passed_us, SECOND - 1);
    vs_log_tick();
    CHECK_EQ_U64((logged(), count_of("\n")), 3);
    atomic_fetch_add(&passed_us, 1);
    vs_log(VS_LOG_WARN, "again", "namespace", "a", "try", "58", NULL);
    logged();
    CHECK_HAS(text, "msg=again namespace=a try=58 repeated=57\n");
    CHECK_HAS(text, "msg=again namespace=b repeated=2\n"); /* told by the way */
    CHECK_EQ_U64(count_of("\n"), 5);
}

static void the_last_repeats_are_told(void) {
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
    vs_log_end();
    CHECK_HAS(logged(), "\"msg\":\"the end\",\"repeated\":2}\n");
}

/* The start of a sentence, or a sentence without its values, is not the event. */
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
    vs_log_end();
    logged();
    CHECK_EQ_U64(count_of("repeated=2\n"), 4);
}

/* A stranger's addresses, say: a sentence whose text differs each time is told some times, then counted, all of it. */
static void what_differs_each_time_is_bounded(void) {
    char who[16];
    begin(VS_LOG_LOGFMT);
    for (int i = 0; i < 1000; i++) {
        snprintf(who, sizeof who, "host%d", i);
        vs_log(VS_LOG_WARN, "refused", "who", who, NULL);
    }
    logged();
    CHECK_EQ_U64(count_of("\n"), 17);
    vs_log_end();
    logged();
    CHECK_HAS(text, "msg=refused repeated=983\n");
    CHECK_EQ_U64(count_of("\n"), 18);
}

/* More events than places: none is forgotten. */
static void every_repeat_is_told(void) {
    enum { EVENTS = 200, TIMES = 5 };
    begin(VS_LOG_LOGFMT);
    for (int i = 0; i < EVENTS; i++)
        for (int j = 0; j < TIMES; j++)
            vs_log(VS_LOG_INFO, "often", "namespace", VS_DIGITS(i), NULL);
    vs_log_end();
    logged();
    CHECK_EQ_U64(count_of("\n"), 2 * EVENTS);
    CHECK_EQ_U64(count_of("repeated=4\n"), EVENTS);
}

/* ------------------------------------------------------------------ where it goes */

static void a_file_is_reopened(void) {
    struct vesta_error err;
    char log[160];
    begin(VS_LOG_LOGFMT);
    snprintf(log, sizeof log, "%s", in_folder("log"));
    vs_log(VS_LOG_INFO, "one", NULL);
    CHECK(rename(log, in_folder("log.1")) == 0);
    vs_log(VS_LOG_INFO, "two", NULL);
    CHECK_EQ_I64(vs_log_reopen(&err), VESTA_OK);
    vs_log(VS_LOG_INFO, "three", NULL);
    CHECK(remove(log) == 0 && mkdir(log, 0700) == 0);
    CHECK_EQ_I64(vs_log_reopen(&err), VESTA_EIO);
    CHECK_HAS(err.text, log);
    CHECK(rmdir(log) == 0);
    CHECK_EQ_I64(vs_log_reopen(&err), VESTA_OK);
    vs_log(VS_LOG_INFO, "four", NULL);
    logged_in("log.1");
    CHECK(strstr(text, "msg=one") && strstr(text, "msg=two") && !strstr(text, "msg=three"));
    CHECK_HAS(logged(), "msg=four");
    vs_log_end();
    CHECK_EQ_I64(vs_log_reopen(&err), VESTA_OK); /* stderr: nothing to do */
}

static void a_file_that_cannot_be_is_refused(void) {
    struct vesta_error err;
    char longest[600];
    begin(VS_LOG_LOGFMT);
    memset(longest, '/', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    const char *const wrong[] = {"", "/", "/no/such/folder/log", longest};
    for (size_t i = 0; i < VS_COUNT(wrong); i++) {
        CHECK_EQ_I64(vs_log_setup(&(struct vs_log_opts){.path = wrong[i]}, &err), VESTA_EIO);
        CHECK_HAS(err.text, "log file");
    }
    CHECK(mkfifo(in_folder("fifo"), 0600) == 0);
    CHECK_EQ_I64(vs_log_setup(&(struct vs_log_opts){.path = in_folder("fifo")}, &err),
                 VESTA_EIO); /* without a reader */
    vs_log(VS_LOG_INFO, "still here", NULL);
    CHECK_HAS(logged(), "still here");
}

/* Runs `event` with stderr being fd; returns the harness's stderr to its place. */
static void with_stderr(int fd, void (*event)(void)) {
    int kept = dup(2);
    CHECK(kept >= 0 && dup2(fd, 2) == 2);
    log_to(NULL, VS_LOG_DEBUG, VS_LOG_LOGFMT);
    event();
    vs_log_end();
    CHECK(dup2(kept, 2) == 2);
    close(kept);
}

static void tell_all_levels(void) {
    for (int level = VS_LOG_DEBUG; level <= VS_LOG_ERROR; level++)
        vs_log((enum vs_log_level)level, VS_DIGITS(level), NULL);
}

static void the_journal_gets_its_prefixes(void) {
    struct stat st;
    char stream[64];
    for (int right = 0; right < 2; right++) {
        int pair[2];
        NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 && fstat(pair[1], &st) == 0);
        snprintf(stream, sizeof stream, "%llu:%llu", (unsigned long long)st.st_dev,
                 (unsigned long long)st.st_ino + !right);
        setenv("JOURNAL_STREAM", stream, 1);
        with_stderr(pair[1], tell_all_levels);
        close(pair[1]);
        drained(pair[0]);
        close(pair[0]);
        if (right)
            CHECK_STR(text, "<7>level=debug msg=0\n<6>level=info msg=1\n<4>level=warn msg=2\n<3>level=error msg=3\n");
        else
            CHECK(strncmp(text, "ts=", 3) == 0);
    }
    unsetenv("JOURNAL_STREAM");
}

static void flood(void) {
    for (int i = 0; i < 5000; i++, atomic_fetch_add(&passed_us, 2 * SECOND))
        vs_log(VS_LOG_INFO, "a line that nobody reads", "i", VS_DIGITS(i), NULL);
}

static int flooded; /* the reading side */

static void flood_then_read(void) {
    flood();
    drained(flooded);
    vs_log(VS_LOG_INFO, "room again", NULL);
}

/* Pipes and sockets whose reader sleeps: every line that was taken is whole, the others are counted. */
static void a_full_pipe_loses_lines(void) {
    for (int socket = 0; socket < 2; socket++) {
        int pair[2];
        NEED((socket ? socketpair(AF_UNIX, SOCK_STREAM, 0, pair) : pipe(pair)) == 0);
        NEED(fcntl(pair[0], F_SETFL, O_NONBLOCK) == 0);
        flooded = pair[0];
        with_stderr(pair[1], flood_then_read);
        CHECK((fcntl(pair[1], F_GETFL) & O_NONBLOCK) == 0); /* others write there, too, and may want to wait */
        size_t lines = count_of("\n");
        CHECK(lines > 10 && lines < 5000);
        char want[64];
        snprintf(want, sizeof want, "msg=\"room again\" lost=%zu\n", 5000 - lines);
        drained(pair[0]);
        CHECK_HAS(text, want);
        close(pair[0]);
        close(pair[1]);
    }
}

static void no_reader_no_disk_no_harm(void) {
    int pair[2];
    signal(SIGPIPE, SIG_IGN); /* as main does */
    NEED(pipe(pair) == 0);
    close(pair[0]);
    with_stderr(pair[1], flood);
    close(pair[1]);
    log_to("/dev/full", VS_LOG_DEBUG, VS_LOG_LOGFMT);
    flood();
    int nothing = open("/dev/null", O_RDONLY); /* what main puts where stderr was closed */
    with_stderr(nothing, flood);
    close(nothing);
}

/* A file system that is full in the middle of a line: when there is room again, the next line stands alone. */
static void a_torn_line_is_ended(void) {
    signal(SIGXFSZ, SIG_IGN);
    begin(VS_LOG_LOGFMT);
    vs_log(VS_LOG_INFO, "whole", NULL);
    struct rlimit was, limit;
    NEED(getrlimit(RLIMIT_FSIZE, &was) == 0);
    limit = was;
    limit.rlim_cur = strlen(logged()) + 20;
    NEED(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    vs_log(VS_LOG_INFO, "torn", NULL);
    vs_log(VS_LOG_INFO, "nothing of it", NULL);
    NEED(setrlimit(RLIMIT_FSIZE, &was) == 0);
    vs_log(VS_LOG_INFO, "after", NULL);
    logged();
    CHECK_EQ_U64(count_of("\n"), 3);
    CHECK_HAS(text, "\nts=2026-11-21T19:32:16.045Z level=info msg=after lost=2\n");
}

/* ------------------------------------------------------------------ threads */

enum { THREADS = 6, LINES = 3000 };

static void *log_much(void *name) {
    struct vesta_error err;
    for (int i = 0; i < LINES; i++) {
        vs_log(VS_LOG_INFO, i % 2 ? "one of many" : name, "namespace", i % 3 ? name : "shared", "i", VS_DIGITS(i),
               NULL);
        if (i % 500 == 0) CHECK_EQ_I64(vs_log_reopen(&err), VESTA_OK);
        if (i % 10 == 0) atomic_fetch_add(&passed_us, SECOND / 7);
    }
    return NULL;
}

static void threads_share_it(void) {
    pthread_t thread[THREADS];
    begin(VS_LOG_JSON);
    for (int i = 0; i < THREADS; i++)
        NEED(pthread_create(&thread[i], NULL, log_much, (char *[]){"a", "b", "c", "d", "e", "f"}[i]) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    vs_log_end();
    uint64_t told = 0;
    for (const char *at = logged(), *end; *at; at = end + 1) {
        end = strchr(at, '\n');
        NEED(end && is_sound(at, (size_t)(end - at)));
        const char *repeated = memmem(at, (size_t)(end - at), "\"repeated\":", 11);
        told +=
            (memmem(at, (size_t)(end - at), "\"i\":", 4) != NULL) + (repeated ? strtoull(repeated + 11, NULL, 10) : 0);
    }
    CHECK_EQ_U64(told, THREADS * LINES);
}

static const struct check_case cases[] = {
    {"an event is a line of logfmt", a_line_of_logfmt},
    {"an event is a line of JSON", a_line_of_json},
    {"foreign text is escaped where it is no printable UTF-8", foreign_text_is_escaped},
    {"random bytes stay in their value, and the line one line", random_bytes_stay_in_their_value},
    {"a value that is too long is cut, and the line says so", long_values_are_cut},
    {"what is below the level is not told", levels_hold},
    {"levels and formats have names, and others are refused", words_of_options},
    {"the same event within a second is counted, and told with the next", repeats_are_counted},
    {"repeats are told when no other event follows", the_last_repeats_are_told},
    {"another text is another event, from its first to its last character", another_text_is_another_event},
    {"what differs each time is told a bounded number of times, and counted", what_differs_each_time_is_bounded},
    {"every repeat is told, of more events than there are places", every_repeat_is_told},
    {"a file that was moved away is reopened; a failure keeps the old one", a_file_is_reopened},
    {"a file that cannot be opened is refused, and the log stays as it was", a_file_that_cannot_be_is_refused},
    {"the journal gets its prefixes and no time, if stderr is the journal's", the_journal_gets_its_prefixes},
    {"a pipe or socket that nobody reads costs lines, not time, and they are counted", a_full_pipe_loses_lines},
    {"a closed pipe, a full disk and a closed stderr do no harm", no_reader_no_disk_no_harm},
    {"a line torn by a full disk is ended before the next", a_torn_line_is_ended},
    {"threads log at once, and no event or line is lost or torn", threads_share_it},
};
CHECK_MAIN_IN_FOLDER(cases)
