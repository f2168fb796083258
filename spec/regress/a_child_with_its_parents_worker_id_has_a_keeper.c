/* Regression: a forked child started no keeper if its pid equalled the pid of the file's first process, because
 * parent and child were distinguished by pid. In this spec every process has the same pid. */
#include "check.h"
#include "opened.h"
#include "os/process.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

pid_t getpid(void) {
    return 4711;
}

#define LAYOUT "sign:1 time:41 seq:4 worker:18 unit=1ms epoch=2020-01-01T00:00:00Z"
#define LONG_US 10000000

static bool gets_an_id(struct vesta_gen *gen) {
    struct vesta_pause pause;
    uint64_t id;
    return vesta_next_wait(gen, &id, LONG_US, &pause) == VESTA_OK;
}

/* The child's parent and its keeper are gone, so only a keeper of its own can get a lease. */
static void go_on_alone(struct vesta_gen *gen, int told) {
    usleep(300000);
    vesta_drop(gen);
    char word = gets_an_id(gen) ? 'y' : 'n';
    _exit(write(told, &word, 1) == 1 ? 0 : 1);
}

static void a_child_keeps_the_file_itself(void) {
    int told[2], status;
    char word = '-';
    CHECK(pipe(told) == 0);
    pid_t parent = fork();
    if (parent == 0) {
        struct vesta_gen *gen = open_in_state("a.gen", LAYOUT, (struct vesta_opts){.any_worker = 1});
        if (!gen || !gets_an_id(gen)) _exit(1);
        pid_t child = fork();
        if (child == 0) go_on_alone(gen, told[1]);
        _exit(child > 0 ? 0 : 1); /* Its keeper ends with it. */
    }
    close(told[1]);
    CHECK(waitpid(parent, &status, 0) == parent && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(read(told[0], &word, 1) == 1 && word == 'y');
    close(told[0]);
}

static void each_process_has_a_token_of_its_own(void) {
    uint64_t mine = vs_process_token();
    int told[2];
    CHECK(pipe(told) == 0);
    CHECK(mine != 0 && vs_process_token() == mine);
    pid_t child = fork();
    if (child == 0) {
        uint64_t its = vs_process_token();
        _exit(write(told[1], &its, sizeof its) == sizeof its ? 0 : 1);
    }
    uint64_t its = 0;
    CHECK(read(told[0], &its, sizeof its) == sizeof its && its != 0 && its != mine);
    CHECK(waitpid(child, NULL, 0) == child && vs_process_token() == mine);
}

IN_NEW_STATE(a_child_keeps_the_file_itself)

static const struct check_case cases[] = {
    {"a child with the pid of its parent starts its own keeper", a_child_keeps_the_file_itself_},
    {"each process has its own constant token", each_process_has_a_token_of_its_own},
};

CHECK_MAIN(cases)
