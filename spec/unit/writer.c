/* writer.c -- where log lines go: a file, stderr or the journal. No reader, disk or pipe can stop the program. */
#include "logged.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/socket.h>

/* ------------------------------------------------------------------ targets */

static void a_file_is_reopened(void) {
    char log[160];
    begin(VS_LOG_LOGFMT);
    snprintf(log, sizeof log, "%s", in_folder("log"));
    vs_log(VS_LOG_INFO, "one", NULL);
    CHECK(rename(log, in_folder("log.1")) == 0);
    vs_log(VS_LOG_INFO, "two", NULL);
    vs_log_reopen();
    vs_log(VS_LOG_INFO, "three", NULL);
    CHECK_HAS(logged(), "msg=\"the log was reopened\"\n");
    CHECK(rename(log, in_folder("log.2")) == 0 && mkdir(log, 0700) == 0);
    vs_log_reopen();
    CHECK(rmdir(log) == 0);
    vs_log_reopen();
    vs_log(VS_LOG_INFO, "four", NULL);
    logged_in("log.1");
    CHECK(strstr(text, "msg=one") && strstr(text, "msg=two") && !strstr(text, "msg=three"));
    logged_in("log.2");
    CHECK(strstr(text, "msg=three") && !strstr(text, "msg=four"));
    CHECK_HAS(text,
              "level=error msg=\"the log could not be reopened and continues in the old file\" error=\"the log file '");
    CHECK_HAS(text, log);
    CHECK_HAS(logged(), "msg=four");
    vs_log_end(VS_LOG_END_MS);
    vs_log_reopen(); /* stderr is not reopened */
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
    CHECK_EQ_I64(vs_log_setup(&(struct vs_log_opts){.path = in_folder("fifo")}, &err), VESTA_EIO);
    vs_log(VS_LOG_INFO, "still here", NULL);
    CHECK_HAS(logged(), "still here");
}

/* Runs `event` with `fd` as stderr, then restores the test's stderr. */
static void with_stderr(int fd, void (*event)(void)) {
    int kept = dup(2);
    CHECK(kept >= 0 && dup2(fd, 2) == 2);
    log_to(NULL, VS_LOG_DEBUG, VS_LOG_LOGFMT);
    event();
    vs_log_end(VS_LOG_END_MS);
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

static int flooded; /* the reading end of the pipe */

static void flood_then_read(void) {
    flood();
    drained(flooded);
    vs_log(VS_LOG_INFO, "room again", NULL);
}

/* The reader of a pipe or socket sleeps. Each written line is complete, and the others are counted. */
static void a_full_pipe_loses_lines(void) {
    for (int socket = 0; socket < 2; socket++) {
        int pair[2];
        NEED((socket ? socketpair(AF_UNIX, SOCK_STREAM, 0, pair) : pipe(pair)) == 0);
        NEED(fcntl(pair[0], F_SETFL, O_NONBLOCK) == 0);
        flooded = pair[0];
        with_stderr(pair[1], flood_then_read);
        CHECK((fcntl(pair[1], F_GETFL) & O_NONBLOCK) == 0); /* other programs share it, and may want to block */
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
    signal(SIGPIPE, SIG_IGN); /* like main */
    NEED(pipe(pair) == 0);
    close(pair[0]);
    with_stderr(pair[1], flood);
    close(pair[1]);
    log_to("/dev/full", VS_LOG_DEBUG, VS_LOG_LOGFMT);
    flood();
    int nothing = open("/dev/null", O_RDONLY); /* main opens this if stderr was closed */
    with_stderr(nothing, flood);
    close(nothing);
}

/* The file system becomes full in the middle of a line. When there is space again, the next line starts on its own. */
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
    for (int i = 0; i < LINES; i++) {
        vs_log(VS_LOG_INFO, i % 2 ? "one of many" : name, "namespace", i % 3 ? name : "shared", "i", VS_DIGITS(i),
               NULL);
        if (i % 500 == 0) vs_log_reopen();
        if (i % 10 == 0) atomic_fetch_add(&passed_us, SECOND / 7);
    }
    return NULL;
}

static void run_threads(void) {
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++)
        NEED(pthread_create(&thread[i], NULL, log_much, (char *[]){"a", "b", "c", "d", "e", "f"}[i]) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
}

static uint64_t number_in(const char *line, size_t length, const char *name) {
    const char *at = memmem(line, length, name, strlen(name));
    return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

/* Returns the number of events that are in the log or counted there, and of lines reported as lost. */
static uint64_t count_events(uint64_t *lost) {
    uint64_t told = 0;
    *lost = 0;
    for (const char *at = logged(), *end; *at; at = end + 1) {
        end = strchr(at, '\n');
        size_t length = end ? (size_t)(end - at) : 0;
        CHECK(is_sound(at, length));
        if (!end) break;
        *lost += number_in(at, length, "\"lost\":");
        if (memmem(at, length, "reopened", 8)) continue;
        told += (memmem(at, length, "\"i\":", 4) != NULL) + number_in(at, length, "\"repeated\":");
    }
    return told;
}

static void threads_share_it(void) {
    uint64_t lost;
    begin(VS_LOG_JSON);
    run_threads();
    vs_log_end(VS_LOG_END_MS);
    CHECK_EQ_U64(count_events(&lost), THREADS * LINES);
    CHECK_EQ_U64(lost, 0);
}

/* As in a server, threads that log do not wait, so the log's thread may fall behind. */
static void a_thread_writes(void) {
    struct vesta_error err;
    uint64_t told, lost;
    begin(VS_LOG_JSON);
    NEED(vs_log_begin(&err) == VESTA_OK);
    run_threads();
    /* until the log's thread has caught up and counted the losses */
    for (int i = 0; !strstr(logged(), "and again"); i++, usleep(1000)) {
        atomic_fetch_add(&passed_us, 60 * SECOND); /* otherwise it would be a repeat, which is not written */
        vs_log(VS_LOG_INFO, "and again", "try", VS_DIGITS(i), NULL);
    }
    vs_log_end(VS_LOG_END_MS);
    told = count_events(&lost);
    if (told > THREADS * LINES || (told < THREADS * LINES && lost == 0))
        CHECK_FAIL("%" PRIu64 " of %d events are in the log, and %" PRIu64 " are counted as lost", told, THREADS * LINES, lost);
    CHECK(count_of("reopened") > 0);
    begin(VS_LOG_LOGFMT);
    vs_log(VS_LOG_INFO, "without a thread again", NULL);
    CHECK_HAS(logged(), "without a thread again");
}

static atomic_bool ended;
static atomic_size_t told;

static void *tell_on(void *who) {
    char sentence[64];
    for (size_t i = 0; !atomic_load(&ended); i++) {
        snprintf(sentence, sizeof sentence, "line %s %zu", (const char *)who, i);
        vs_log(VS_LOG_INFO, sentence, NULL);
        atomic_fetch_add(&told, 1);
    }
    return NULL;
}

/* Returns the sum of the counts after "lost=" in the log. */
static size_t lost_lines(void) {
    size_t lost = 0;
    for (const char *at = text; (at = strstr(at, " lost=")); at++)
        lost += strtoul(at + strlen(" lost="), NULL, 10);
    return lost;
}

/* Each line is in the file, or on stderr after the log's end, or is counted in such a line. */
static void a_line_at_the_logs_end_is_written_or_counted(void) {
    struct vesta_error err;
    pthread_t threads[2];
    for (int round = 0; round < 20; round++) {
        begin(VS_LOG_LOGFMT);
        int kept = dup(2), fd = open(in_folder("stderr"), O_RDWR | O_CREAT | O_APPEND, 0600);
        NEED(kept >= 0 && fd >= 0 && dup2(fd, 2) == 2);
        atomic_store(&told, 0);
        atomic_store(&ended, false);
        CHECK_EQ_I64(vs_log_begin(&err), VESTA_OK);
        for (int i = 0; i < 2; i++)
            NEED(pthread_create(&threads[i], NULL, tell_on, i ? "b" : "a") == 0);
        usleep(2000);
        vs_log_end(VS_LOG_END_MS);
        usleep(500);
        atomic_store(&ended, true);
        for (int i = 0; i < 2; i++)
            pthread_join(threads[i], NULL);
        vs_log(VS_LOG_INFO, "the last", NULL); /* reports the lines that were lost before it */
        CHECK(dup2(kept, 2) == 2 && close(kept) == 0 && close(fd) == 0);
        logged();
        size_t lines = count_of("msg=\"line "), lost = lost_lines();
        logged_in("stderr");
        CHECK_EQ_U64(lines + count_of("msg=\"line ") + lost + lost_lines(), atomic_load(&told));
    }
}

static const struct check_case cases[] = {
    {"a line at the log's end is written, or counted", a_line_at_the_logs_end_is_written_or_counted},
    {"a file that was moved away is reopened; a failure keeps the old one", a_file_is_reopened},
    {"a file that cannot be opened is rejected, and the log is unchanged", a_file_that_cannot_be_is_refused},
    {"lines for the journal have its prefixes and no time, if stderr is the journal's", the_journal_gets_its_prefixes},
    {"lines for a pipe or socket without a reader are dropped and counted, without delay", a_full_pipe_loses_lines},
    {"a closed pipe, a full disk and a closed stderr do no harm", no_reader_no_disk_no_harm},
    {"a line torn by a full disk is ended before the next one", a_torn_line_is_ended},
    {"threads log at once, and no event or line is lost or torn", threads_share_it},
    {"a log with its own thread counts every loss, and works without the thread after its end", a_thread_writes},
};
CHECK_MAIN_IN_FOLDER(cases)
