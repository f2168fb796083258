/* desk.c -- jobs of desks, held by two.  Knows no request and no database. */
#include "server/desk.h"

#include <stdlib.h>

struct vs_desk_job *vs_desk_job_new(const struct vs_desk_job *what) {
    struct vs_desk_job *job = malloc(sizeof *job);
    if (!job) return NULL;
    *job = *what;
    atomic_init(&job->holders, 2);
    atomic_init(&job->is_done, false);
    return job;
}

void vs_desk_job_let(struct vs_desk_job *job) {
    if (job && atomic_fetch_sub(&job->holders, 1) == 1) free(job);
}
