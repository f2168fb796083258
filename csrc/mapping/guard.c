/* guard.c -- a map that is cut short while it is mapped: every touch of it is a SIGBUS then.  Programs of ours take
 * that signal, and lay a map that is stopped for good in the place of the one that is gone; a library must not, since a
 * process has one handler, which is not ours. */
#include "mapping/mapping.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static struct {
    char *_Atomic map;    /* NULL: the place is free.  TAKEN: being filled */
    void *_Atomic tomb;   /* NULL: it lies in the map's place, or is about to */
    const struct vs_map_kind *_Atomic kind;
} guarded[VS_GUARDED_MAX];
static char said[VS_GUARDED_MAX][VS_SAID_MAX]; /* what a tomb's users are told */

#define TAKEN ((char *)guarded)
static atomic_bool is_on;

/* Memory that has the map's header and nothing else yet: of a map that is never cut short no more is touched. */
static void *make_tomb(const struct vs_mapping *mapping, char text[VS_SAID_MAX]) {
    void *tomb = mmap(NULL, mapping->kind->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (tomb == MAP_FAILED) return NULL;
    memcpy(tomb, mapping->at, sizeof(struct vs_header));
    snprintf(text, VS_SAID_MAX, "%.100s was truncated while in use: find out by whom, and start this program again",
             mapping->name);
    return tomb;
}

static int guard_find(const void *address) {
    for (int i = 0; i < VS_GUARDED_MAX; i++) {
        const char *map = atomic_load(&guarded[i].map), *at = address;
        if (map && map != TAKEN && at >= map && at < map + atomic_load(&guarded[i].kind)->size) return i;
    }
    return -1;
}

/* Burying is stores to memory that is ours alone. */
static bool guard_lay(int i, void *tomb) {
    const struct vs_map_kind *kind = atomic_load(&guarded[i].kind);
    kind->bury(tomb, said[i]);
    return mremap(tomb, kind->size, kind->size, MREMAP_MAYMOVE | MREMAP_FIXED, atomic_load(&guarded[i].map)) != MAP_FAILED;
}

/* One call, which puts the tomb in the map's place as a whole: no thread meets anything between the two.  Whoever comes
 * while another is at it meets the signal again until it is done. */
static void on_sigbus(int signal_number, siginfo_t *info, void *context) {
    (void)context;
    int i = guard_find(info->si_addr);
    void *tomb = i >= 0 ? atomic_exchange(&guarded[i].tomb, NULL) : NULL;
    if (i >= 0 && !tomb) return;
    if (tomb && guard_lay(i, tomb)) return;
    signal(signal_number, SIG_DFL); /* somebody else's memory: the next touch ends the program */
}

int vs_guard_on(void) {
    struct sigaction action = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGBUS, &action, NULL) != 0) return -1;
    atomic_store(&is_on, true);
    return 0;
}

void vs_guard_add(const struct vs_mapping *mapping) {
    if (!atomic_load(&is_on)) return;
    for (int i = 0; i < VS_GUARDED_MAX; i++) {
        char *none = NULL;
        if (atomic_load(&guarded[i].map) || !atomic_compare_exchange_strong(&guarded[i].map, &none, TAKEN)) continue;
        void *tomb = make_tomb(mapping, said[i]);
        atomic_store(&guarded[i].tomb, tomb);
        atomic_store(&guarded[i].kind, mapping->kind);
        atomic_store(&guarded[i].map, tomb ? mapping->at : NULL);
        return;
    }
}

void vs_guard_remove(const struct vs_mapping *mapping) {
    for (int i = 0; i < VS_GUARDED_MAX; i++) {
        if (atomic_load(&guarded[i].map) != mapping->at) continue;
        void *tomb = atomic_exchange(&guarded[i].tomb, NULL);
        if (tomb) munmap(tomb, mapping->kind->size);
        atomic_store(&guarded[i].map, NULL);
        return;
    }
}
