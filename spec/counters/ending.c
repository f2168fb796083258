/* ending.c -- takes numbers of a counter, prints them, and ends in the given way.
 *
 *     ending URI TAG COUNT HOW DICE
 *
 * HOW is one of: release then close, close, release twice then close, two handles with a close before the release, a
 * child that closes while its parent releases, or kill -9 at a random instant of the release. */
#include "vesta_segment.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_US ((int64_t)60000000)

static struct vesta_segment *open_it(char **argv) {
    struct vesta_segment_opts opts = VESTA_SEGMENT_OPTS_INIT;
    struct vesta_segment *seg;
    struct vesta_error err;
    opts.stores[0] = argv[1];
    opts.tag = argv[2];
    opts.step_max = 1;
    if (vesta_segment_open(&opts, &seg, &err) == VESTA_OK) return seg;
    fprintf(stderr, "%s\n", err.text);
    exit(2);
}

static void take(struct vesta_segment *seg, int count) {
    struct vesta_pause pause;
    uint64_t number;
    for (int i = 0; i < count; i++) {
        if (vesta_segment_next_wait(seg, &number, PATIENCE_US, &pause) != VESTA_OK) {
            char text[512];
            vesta_segment_pause_text(seg, &pause, text, sizeof text);
            fprintf(stderr, "%s\n", text);
            exit(3);
        }
        printf("%" PRIu64 "\n", number);
        fflush(stdout);
    }
}

static void *kill_soon(void *us) {
    usleep((useconds_t)(uintptr_t)us);
    kill(getpid(), SIGKILL);
    return NULL;
}

int main(int argc, char **argv) {
    if (argc != 6) return 2;
    const char *how = argv[4];
    unsigned dice = (unsigned)atoi(argv[5]);
    struct vesta_segment *seg = open_it(argv), *same = strcmp(how, "handles") == 0 ? open_it(argv) : NULL;
    pthread_t killer;
    pid_t child = 0;
    take(seg, atoi(argv[3]));
    if (strcmp(how, "fork") == 0 && (child = fork()) == 0) {
        usleep(dice % 3000);
        vesta_segment_close(seg);
        _exit(0);
    }
    if (strcmp(how, "kill") == 0) pthread_create(&killer, NULL, kill_soon, (void *)(uintptr_t)(dice % 4000));
    vesta_segment_close(same);
    if (strcmp(how, "close") != 0) (void)vesta_segment_release(seg, NULL);
    usleep(dice % 20000); /* time for another host to take the numbers that were put back */
    if (strcmp(how, "twice") == 0) (void)vesta_segment_release(seg, NULL);
    vesta_segment_close(seg);
    if (child) waitpid(child, NULL, 0);
    return 0;
}
