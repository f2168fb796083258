/* guard.c -- a map that is cut short while it is mapped: every touch of it is a SIGBUS then.  Programs of ours take
 * that signal, and lay a map that is stopped for good in the place of the one that is gone; a library must not, since a
 * process has one handler, which is not ours. */
#include "mapping/mapping.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>

#define GUARDED_MAX 1024 /* more maps than a process opens; one too many is not guarded */

static struct {
    struct vs_map *_Atomic map;  /* NULL: the place is free.  TAKEN: being filled */
    struct vs_map *_Atomic tomb; /* NULL: it lies in the map's place, or is about to */
} guarded[GUARDED_MAX];

#define TAKEN ((struct vs_map *)(void *)guarded)
static atomic_bool is_on;

/* Nothing is given from it: each slot is closed, and none is left. */
static struct vs_map *make_tomb(const struct vs_map *map, const char *name) {
    struct vs_map *tomb = mmap(NULL, sizeof *tomb, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (tomb == MAP_FAILED) return NULL;
    char said[VS_SAID_MAX];
    tomb->header = map->header;
    atomic_store(&tomb->shared.slots_used, VS_SLOTS_MAX);
    atomic_store(&tomb->shared.stopped, VESTA_FAILSTOP);
    for (int i = 0; i < VS_SLOTS_MAX; i++)
        atomic_store(&tomb->slot[i].tick, VS_CLOSED);
    snprintf(said, sizeof said, "%.100s was truncated while in use: find out by whom, and start this program again",
             name);
    for (size_t i = 0; i < sizeof said; i++)
        atomic_store(&tomb->shared.keeper[i], said[i]);
    return tomb;
}

static int find(const void *address) {
    for (int i = 0; i < GUARDED_MAX; i++) {
        const char *map = (const char *)atomic_load(&guarded[i].map), *at = address;
        if (map && map != (const char *)TAKEN && at >= map && at < map + sizeof(struct vs_map)) return i;
    }
    return -1;
}

/* One call, which puts the tomb in the map's place as a whole: no thread meets anything between the two.  Whoever comes
 * while another is at it meets the signal again until it is done. */
static void on_sigbus(int signal_number, siginfo_t *info, void *context) {
    (void)context;
    int i = find(info->si_addr);
    struct vs_map *tomb = i >= 0 ? atomic_exchange(&guarded[i].tomb, NULL) : NULL;
    if (i >= 0 && !tomb) return;
    if (tomb && mremap(tomb, sizeof *tomb, sizeof *tomb, MREMAP_MAYMOVE | MREMAP_FIXED, atomic_load(&guarded[i].map)) !=
                    MAP_FAILED)
        return;
    signal(signal_number, SIG_DFL); /* somebody else's memory: the next touch ends the program */
}

int vs_guard_on(void) {
    struct sigaction action = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGBUS, &action, NULL) != 0) return -1;
    atomic_store(&is_on, true);
    return 0;
}

void vs_guard_add(struct vs_map *map, const char *name) {
    if (!atomic_load(&is_on)) return;
    for (int i = 0; i < GUARDED_MAX; i++) {
        struct vs_map *none = NULL;
        if (!atomic_compare_exchange_strong(&guarded[i].map, &none, TAKEN)) continue;
        struct vs_map *tomb = make_tomb(map, name);
        atomic_store(&guarded[i].tomb, tomb);
        atomic_store(&guarded[i].map, tomb ? map : NULL);
        return;
    }
}

void vs_guard_remove(const struct vs_map *map) {
    for (int i = 0; i < GUARDED_MAX; i++) {
        if (atomic_load(&guarded[i].map) != map) continue;
        struct vs_map *tomb = atomic_exchange(&guarded[i].tomb, NULL);
        if (tomb) munmap(tomb, sizeof *tomb);
        atomic_store(&guarded[i].map, NULL);
        return;
    }
}
