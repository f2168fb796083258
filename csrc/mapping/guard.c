/* guard.c -- handles a map that is truncated while it is mapped.  Each access to such a map raises SIGBUS.  vesta's
 * programs handle that signal by mapping a stopped map, called the tomb, at the same address.  The library alone does
 * not handle it, because a process has only one SIGBUS handler, which belongs to the program. */
#include "mapping/mapping.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static struct {
    char *_Atomic map;  /* the address. NULL: a free entry. TAKEN: an entry that is being filled */
    void *_Atomic tomb; /* the replacement. NULL: it is in use, or about to be */
    const struct vs_map_kind *_Atomic kind;
} guarded[VS_GUARDED_MAX];
static char said[VS_GUARDED_MAX][VS_SAID_MAX]; /* the messages of the tombs */

#define TAKEN ((char *)guarded)
static atomic_bool is_on;

/* Makes the tomb of a map.  Only its header is written in advance, so that an unused tomb occupies few pages. */
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

/* Maps the tomb at the address of its map.  Safe in a signal handler: bury writes only to the tomb. */
static bool guard_lay(int i, void *tomb) {
    const struct vs_map_kind *kind = atomic_load(&guarded[i].kind);
    kind->bury(tomb, said[i]);
    return mremap(tomb, kind->size, kind->size, MREMAP_MAYMOVE | MREMAP_FIXED, atomic_load(&guarded[i].map)) !=
           MAP_FAILED;
}

/* Replaces the truncated map with its tomb by a single mremap, so the address range is always mapped.  If another
 * thread is already replacing the map, this thread returns and faults again until that thread has finished. */
static void on_sigbus(int signal_number, siginfo_t *info, void *context) {
    (void)context;
    int i = guard_find(info->si_addr);
    void *tomb = i >= 0 ? atomic_exchange(&guarded[i].tomb, NULL) : NULL;
    if (i >= 0 && !tomb) return;
    if (tomb && guard_lay(i, tomb)) return;
    signal(signal_number, SIG_DFL); /* the address is not in a map: the next access kills the program */
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
