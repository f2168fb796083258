/* desk.c -- creates and frees jobs, which have a reference count.  Contains no request or database code. */
#include "server/desk.h"

#include <stdlib.h>

struct vs_desk_job *vs_desk_job_new(const struct vs_desk_job *what) {
    struct vs_desk_job *job = malloc(sizeof *job);
    if (!job) return NULL;
    *job = *what;
    atomic_init(&job->holders, 2);
    atomic_init(&job->is_done, false);
    atomic_init(&job->is_half_closed, false);
    return job;
}

bool vs_desk_job_is_left(struct vs_desk_job *job) {
    return atomic_load(&job->holders) == 1;
}

void vs_desk_job_let(struct vs_desk_job *job) {
    if (!job || atomic_fetch_sub(&job->holders, 1) != 1) return;
    free(job->lease.past);
    free(job);
}
