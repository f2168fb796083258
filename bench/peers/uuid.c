/* uuid.c -- libuuid as programs call it: nanoseconds per UUID for each line on stdin, then the counts. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <uuid/uuid.h>

#define PIECE 20000
#define COUNTED 200000

static uuid_t ids[COUNTED];
static int counted = COUNTED;

static double ns_of(void (*make)(uuid_t)) {
    struct timespec begin, end;
    uuid_t id;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    for (int i = 0; i < PIECE; i++)
        make(id);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    return ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) / PIECE;
}

static int compare(const void *a, const void *b) {
    return memcmp(a, b, sizeof(uuid_t));
}

static int duplicates(void (*make)(uuid_t)) {
    int found = 0;
    for (int i = 0; i < counted; i++)
        make(ids[i]);
    qsort(ids, (size_t)counted, sizeof *ids, compare);
    for (int i = 1; i < counted; i++)
        found += compare(ids[i], ids[i - 1]) == 0;
    return found;
}

int main(void) {
    if (getenv("BENCH_TINY")) counted = COUNTED / 100;
    for (int c; (c = getchar()) != EOF;)
        if (c == '\n') {
            printf("{\"random\": %.1f, \"time\": %.1f}\n", ns_of(uuid_generate_random), ns_of(uuid_generate_time));
            fflush(stdout);
        }
    printf("{\"ids\": %d, \"random\": %d, \"time\": %d}\n", counted, duplicates(uuid_generate_random),
           duplicates(uuid_generate_time));
    return 0;
}
