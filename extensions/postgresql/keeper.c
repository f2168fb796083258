/* keeper.c -- one background worker renews the leases of all generators that sessions use.  So no session has a thread,
 * connects to a store, or waits for a store.  The first session that issues an id starts the worker.
 *
 * The worker's threads belong to libvesta.  They block all signals but SIGBUS and call no function of PostgreSQL. */
#include <postgres.h>

#include "extension.h"

#include <miscadmin.h>
#include <postmaster/bgworker.h>
#include <postmaster/interrupt.h>
#include <storage/ipc.h>
#include <storage/latch.h>
#include <storage/lwlock.h>
#include <storage/proc.h>
#include <storage/shmem.h>
#include <utils/guc.h>
#include <utils/timestamp.h>
#include <utils/wait_event.h>

#define GENERATORS_MAX 64 /* fits into the shared memory that PostgreSQL leaves for extensions that load late */
#define START_AGAIN_MS 1000

/* The generator files whose leases the worker renews, in memory that all sessions and the worker share. */
struct vpg_kept {
    LWLock lock; /* guards the rest */
    Latch *worker; /* the latch of the running worker, or NULL */
    int count;
    struct {
        char path[VPG_PATH_MAX];
        bool is_asked; /* a session needs a lease that the worker may have to claim */
    } file[GENERATORS_MAX];
};

static struct vpg_kept *kept;

PGDLLEXPORT void vpg_keeper_main(Datum unused);

static void attach(void) {
    bool is_there;
    if (kept) return;
    LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
    kept = ShmemInitStruct("vesta", sizeof *kept, &is_there);
    if (!is_there) {
        memset(kept, 0, sizeof *kept);
        LWLockInitialize(&kept->lock, LWLockNewTrancheId());
    }
    LWLockRelease(AddinShmemInitLock);
    LWLockRegisterTranche(kept->lock.tranche, "vesta");
}

/* ------------------------------------------------------------------ in a session */

/* Starts the worker, at most once a second.  Returns false if it could not be started. */
static bool start_worker(void) {
    static TimestampTz last;
    static bool was_started;
    BackgroundWorker worker = {.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION,
                               .bgw_start_time = BgWorkerStart_RecoveryFinished,
                               .bgw_restart_time = BGW_NEVER_RESTART};
    TimestampTz now = GetCurrentTimestamp();
    if (last && !TimestampDifferenceExceeds(last, now, START_AGAIN_MS)) return was_started;
    last = now;
    strlcpy(worker.bgw_name, "vesta keeper", sizeof worker.bgw_name);
    strlcpy(worker.bgw_type, "vesta keeper", sizeof worker.bgw_type);
    strlcpy(worker.bgw_library_name, "vesta", sizeof worker.bgw_library_name);
    strlcpy(worker.bgw_function_name, "vpg_keeper_main", sizeof worker.bgw_function_name);
    return was_started = RegisterDynamicBackgroundWorker(&worker, NULL);
}

/* Adds a path to the list.  Returns false if the list is full.  Call with the lock held. */
static bool enter(const char *path) {
    for (int i = 0; i < kept->count; i++)
        if (strcmp(kept->file[i].path, path) == 0) {
            kept->file[i].is_asked = true;
            return true;
        }
    if (kept->count == GENERATORS_MAX) return false;
    strlcpy(kept->file[kept->count].path, path, VPG_PATH_MAX);
    kept->file[kept->count++].is_asked = true;
    return true;
}

const char *vpg_keeper_ask(const struct vpg_generator *generator) {
    if (!vpg_keeps) return "vesta.keep is off. Turn it on.";
    attach();
    LWLockAcquire(&kept->lock, LW_EXCLUSIVE);
    bool is_room = enter(generator->path), runs = kept->worker;
    if (runs) SetLatch(kept->worker);
    LWLockRelease(&kept->lock);
    if (!is_room) return "The background worker already renews the leases of 64 generators. Use fewer generators.";
    if (runs || start_worker()) return NULL;
    return "No background worker can start, because all max_worker_processes are in use. Raise max_worker_processes.";
}

/* ------------------------------------------------------------------ in the worker */

static void leave(int code, Datum unused) {
    (void)code;
    (void)unused;
    LWLockAcquire(&kept->lock, LW_EXCLUSIVE);
    if (kept->worker == MyLatch) kept->worker = NULL;
    LWLockRelease(&kept->lock);
}

/* Returns false if another worker runs. */
static bool take_over(void) {
    attach();
    LWLockAcquire(&kept->lock, LW_EXCLUSIVE);
    bool is_free = !kept->worker;
    if (is_free) kept->worker = MyLatch;
    LWLockRelease(&kept->lock);
    if (is_free) before_shmem_exit(leave, (Datum)0);
    return is_free;
}

/* Finds the next file that a session asked for, and copies its path.  Returns its index, or -1. */
static int next_asked(char *path) {
    int found = -1;
    LWLockAcquire(&kept->lock, LW_EXCLUSIVE);
    for (int i = 0; i < kept->count && found < 0; i++)
        if (kept->file[i].is_asked) found = i;
    if (found >= 0) {
        kept->file[found].is_asked = false;
        strlcpy(path, kept->file[found].path, VPG_PATH_MAX);
    }
    LWLockRelease(&kept->lock);
    return found;
}

/* Opens the file at the first call.  vesta_keep starts the keeper, and moves it to the map that the sessions use. */
static void keep(struct vesta_gen **gen, const char *path) {
    struct vesta_opts opts = VESTA_OPTS_INIT;
    struct vesta_error err;
    opts.path = path;
    if (!*gen && vesta_open(&opts, gen, &err) != VESTA_OK)
        ereport(LOG, errmsg("cannot renew the lease of the generator \"%s\": %s", path, err.text));
    else if (vesta_keep(*gen) != VESTA_OK)
        ereport(LOG, errmsg("cannot start the keeper of the generator \"%s\"", path));
}

static void release_all(struct vesta_gen **gens) {
    struct vesta_error err;
    for (int i = 0; i < GENERATORS_MAX; i++)
        if (gens[i] && vesta_release(gens[i], &err) != VESTA_OK)
            ereport(LOG, errmsg("a worker id was not released: %s", err.text));
}

void vpg_keeper_main(Datum unused) {
    static struct vesta_gen *gens[GENERATORS_MAX];
    char path[VPG_PATH_MAX];
    (void)unused;
    pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
    pqsignal(SIGHUP, SignalHandlerForConfigReload);
    pqsignal(SIGINT, SIG_IGN); /* pg_cancel_backend would end the worker with an error, without a release */
    BackgroundWorkerUnblockSignals();
    BackgroundWorkerInitializeConnection(NULL, NULL, 0); /* to no database, only to be listed in pg_stat_activity */
    if (!take_over()) proc_exit(0);
    while (!ShutdownRequestPending && vpg_keeps) {
        int at;
        while ((at = next_asked(path)) >= 0)
            keep(&gens[at], path);
        (void)WaitLatch(MyLatch, WL_LATCH_SET | WL_EXIT_ON_PM_DEATH, 0, PG_WAIT_EXTENSION);
        ResetLatch(MyLatch);
        CHECK_FOR_INTERRUPTS();
        if (ConfigReloadPending) {
            ConfigReloadPending = false;
            ProcessConfigFile(PGC_SIGHUP);
        }
    }
    release_all(gens);
    proc_exit(0);
}
