/* Regression: a child was forked while another thread closed the last handle on a file. The child waited forever for
 * that close, because only the parent had the thread to finish it, so its vesta_open of the file never returned. */
#include "check.h"
#include "opened.h"

#include <pthread.h>
#include <semaphore.h>
#include <sys/wait.h>

#define LAYOUT "sign:1 time:41 seq:12 worker:10 unit=1ms epoch=2020-01-01T00:00:00Z"
#define LONG_US 20000000
#define ROUNDS 8

static sem_t is_closing, may_close;
static _Thread_local bool closes;

/* vesta_close reads the clock once, after it has begun and before it waits for the keeper. Block it there. */
static int64_t held_up_boot_us(void *self) {
    if (closes) {
        closes = false;
        sem_post(&is_closing);
        sem_wait(&may_close);
    }
    return ahead_boot_us(self);
}

static const struct vesta_clock held_up_clock = {NULL, ahead_unix_us, held_up_boot_us, ahead_sleep_us};

static struct vesta_gen *opened(void) {
    return open_in_state("a.gen", LAYOUT, (struct vesta_opts){.any_worker = 1, .clock = &held_up_clock});
}

/* vesta_keep also starts a keeper, because the lease of the last one may still be open. */
static bool gives_an_id(struct vesta_gen *gen) {
    struct vesta_pause pause;
    uint64_t id;
    return gen && vesta_keep(gen) == VESTA_OK && vesta_next_wait(gen, &id, LONG_US, &pause) == VESTA_OK;
}

static void *close_it(void *gen) {
    closes = true;
    vesta_close(gen);
    return NULL;
}

static void a_child_opens_what_is_being_closed(void) {
    sem_init(&is_closing, 0, 0);
    sem_init(&may_close, 0, 0);
    for (int round = 0; round < ROUNDS && atomic_load(&check_failures) == 0; round++) {
        struct vesta_gen *gen = opened();
        pthread_t thread;
        int status = 0;
        NEED(gives_an_id(gen));
        NEED(pthread_create(&thread, NULL, close_it, gen) == 0);
        sem_wait(&is_closing);
        pid_t child = fork();
        if (child == 0) {
            alarm(CHECK_PATIENCE_MS / 1000);
            gen = opened();
            bool is_well = gives_an_id(gen);
            vesta_close(gen);
            _exit(is_well && gives_an_id(opened()) ? 0 : 1); /* Then open it again after the child's own close. */
        }
        sem_post(&may_close);
        pthread_join(thread, NULL);
        CHECK(waitpid(child, &status, 0) == child);
        CHECK_EQ_I64(status, 0);
    }
}

IN_NEW_STATE(a_child_opens_what_is_being_closed)

static const struct check_case cases[] = {
    {"a child forked while a thread closes a file can open it and get ids", a_child_opens_what_is_being_closed_},
};

CHECK_MAIN(cases)
