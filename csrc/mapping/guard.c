/* guard.c -- a map that is truncated while it is mapped: each access then raises SIGBUS.  Our programs handle that
 * signal and put a stopped map in place of the lost one.  A library must not, because a process has only one handler,
 * which belongs to the program. */
#include "mapping/mapping.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static struct {
    char *_Atomic map;  /* NULL: free. TAKEN: being filled */
    void *_Atomic tomb; /* NULL: already in the map's place, or about to be */
    const struct vs_map_kind *_Atomic kind;
} guarded[VS_GUARDED_MAX];
static char said[VS_GUARDED_MAX][VS_SAID_MAX]; /* the messages of the tombs */

#define TAKEN ((char *)guarded)
static atomic_bool is_on;

/* Makes the replacement of a map: private memory with only the header filled in, so an unused tomb needs few pages. */
static void *make_tomb(const struct vs_mapping *mapping, char text[VS_SAID_MAX]) {
    void *tomb = mmap(NULL, mapping->kind->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (tomb == MAP_FAILED) return NULL;
    memcpy(tomb, mapping->at, sizeof(struct vs_header));
    snprintf(text, VS_SAID_MAX, "%.100s was truncated while in use: find the program that did it, and restart this one",
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

/* Safe in a signal handler: it writes only to memory of this process. */
static bool guard_lay(int i, void *tomb) {
    const struct vs_map_kind *kind = atomic_load(&guarded[i].kind);
    kind->bury(tomb, said[i]);
    return mremap(tomb, kind->size, kind->size, MREMAP_MAYMOVE | MREMAP_FIXED, atomic_load(&guarded[i].map)) !=
           MAP_FAILED;
}

/* One mremap puts the tomb in the map's place, so no thread ever sees a gap.  A thread that faults while another is
 * doing this returns and faults again until it is done. */
static void on_sigbus(int signal_number, siginfo_t *info, void *context) {
    (void)context;
    int i = guard_find(info->si_addr);
    void *tomb = i >= 0 ? atomic_exchange(&guarded[i].tomb, NULL) : NULL;
    if (i >= 0 && !tomb) return;
    if (tomb && guard_lay(i, tomb)) return;
    signal(signal_number, SIG_DFL); /* not a map: the next access ends the program */
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
