/* check.h -- the test harness of the C specs.  Knows nothing of vesta.
 *
 *     static void adds(void) { CHECK_EQ_U64(1 + 1, 2); }
 *     static const struct check_case cases[] = {{"one and one is two", adds}};
 *     CHECK_MAIN(cases)
 *
 * A case's name is its claim.  The program prints a line per case and `N passed, M failed`.  It exits with 1 if a case
 * failed, or if its argument, a part of a claim, matches none.  CHECK records a failure and continues, so it can be used
 * in a thread or in a function that returns a value.  NEED also returns from its function, which must be void.
 * Only the first failure of a case is printed.  The others are counted, because they often follow from it. */
#ifndef CHECK_H
#define CHECK_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct check_case {
    const char *claim;
    void (*run)(void);
};

static const char *check_claim = ""; /* of the running case */
static atomic_int check_failures;    /* number of its failures */
static char check_first[1024];       /* its first failure */

__attribute__((format(printf, 3, 4), unused)) static void check_fail(const char *file, int line, const char *fmt, ...) {
    if (atomic_fetch_add(&check_failures, 1) > 0) return; /* only the first failure is stored */
    va_list args;
    va_start(args, fmt);
    int used = snprintf(check_first, sizeof check_first, "%s:%d: ", file, line);
    vsnprintf(check_first + used, sizeof check_first - (size_t)used, fmt, args);
    va_end(args);
}

#ifndef CHECK_PATIENCE_MS /* shorter for planted bugs */
#define CHECK_PATIENCE_MS 60000
#endif

__attribute__((unused)) static int64_t check_now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

__attribute__((noreturn, unused)) static void check_give_up(const char *file, int line, const char *cond) {
    printf("not ok - %s %s:%d: waited %d s until %s\n", check_claim, file, line, CHECK_PATIENCE_MS / 1000, cond);
    if (atomic_load(&check_failures) > 0) printf("# failed before: %s\n", check_first);
    fflush(stdout);
    _exit(1);
}

#define CHECK_FAIL(...) check_fail(__FILE__, __LINE__, __VA_ARGS__)

#define CHECK(cond)                                                                                                    \
    do {                                                                                                               \
        if (!(cond)) CHECK_FAIL("does not hold: %s", #cond);                                                           \
    } while (0)

#define NEED(cond)                                                                                                     \
    do {                                                                                                               \
        if (!(cond)) {                                                                                                 \
            CHECK_FAIL("does not hold: %s", #cond);                                                                    \
            return;                                                                                                    \
        }                                                                                                              \
    } while (0)

/* Waits until the condition holds.  If it never does, the program ends with a message: a case that continued would run
 * into the next wait, and finally into a timeout. */
#define AWAIT(cond)                                                                                                    \
    for (int64_t since_ms_ = check_now_ms(); !(cond); usleep(1000))                                                    \
        if (check_now_ms() - since_ms_ > CHECK_PATIENCE_MS) check_give_up(__FILE__, __LINE__, #cond)

#define CHECK_EQ_U64(got, want)                                                                                        \
    do {                                                                                                               \
        uint64_t got_ = (uint64_t)(got), want_ = (uint64_t)(want);                                                     \
        if (got_ != want_) CHECK_FAIL("%s: got %" PRIu64 ", want %" PRIu64, #got, got_, want_);                        \
    } while (0)

#define CHECK_EQ_I64(got, want)                                                                                        \
    do {                                                                                                               \
        int64_t got_ = (int64_t)(got), want_ = (int64_t)(want);                                                        \
        if (got_ != want_) CHECK_FAIL("%s: got %" PRId64 ", want %" PRId64, #got, got_, want_);                        \
    } while (0)

#define CHECK_STR(got, want)                                                                                           \
    do {                                                                                                               \
        const char *got_ = (got), *want_ = (want);                                                                     \
        if (strcmp(got_, want_) != 0) CHECK_FAIL("%s: got \"%s\", want \"%s\"", #got, got_, want_);                    \
    } while (0)

/* Checks that `text` contains `part`.  Use it for messages, because their wording may improve. */
#define CHECK_HAS(text, part)                                                                                          \
    do {                                                                                                               \
        const char *text_ = (text), *part_ = (part);                                                                   \
        if (!strstr(text_, part_)) CHECK_FAIL("%s: got \"%s\", want \"%s\" in it", #text, text_, part_);               \
    } while (0)

static int check_run(const struct check_case *c) {
    check_claim = c->claim;
    atomic_store(&check_failures, 0);
    c->run();
    int failures = atomic_load(&check_failures);
    if (failures == 0)
        printf("ok - %s\n", c->claim);
    else if (failures == 1)
        printf("not ok - %s %s\n", c->claim, check_first);
    else
        printf("not ok - %s %s (and %d more)\n", c->claim, check_first, failures - 1);
    fflush(stdout); /* so that a crash in the next case does not lose this line, and a fork does not print it twice */
    return failures == 0;
}

__attribute__((unused)) static int check_main(const struct check_case *cases, size_t count, const char *part) {
    int passed = 0, failed = 0;
    for (size_t i = 0; i < count; i++) {
        if (part && !strstr(cases[i].claim, part)) continue;
        if (check_run(&cases[i]))
            passed++;
        else
            failed++;
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0 || passed == 0;
}

#define CHECK_MAIN(cases)                                                                                              \
    int main(int argc, char **argv) {                                                                                  \
        return check_main((cases), sizeof(cases) / sizeof *(cases), argc > 1 ? argv[1] : NULL);                        \
    }

#endif
