/* token.c -- identifies this process by a random token.  A pid is not enough, because the kernel reuses pids, even for
 * a parent and its descendant. */
#include "os/clock.h"
#include "os/process.h"
#include "os/random.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

static _Atomic uint64_t own_token, *token = &own_token; /* the token is 0 until it is drawn */

static void forget_token(void) {
    atomic_store(token, 0);
}

/* Places the token in a page that the kernel clears in every child, including children of raw clone(2), which runs no
 * fork handlers. */
static void place_token(void) {
    void *page = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page != MAP_FAILED && madvise(page, (size_t)sysconf(_SC_PAGESIZE), MADV_WIPEONFORK) == 0) token = page;
    pthread_atfork(NULL, NULL, forget_token); /* for kernels that cannot clear the page */
}

const _Atomic uint64_t *vs_process_word(void) {
    vs_process_token();
    return token == &own_token ? NULL : token;
}

uint64_t vs_process_token(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, place_token);
    uint64_t drawn, none = 0, is = atomic_load(token);
    if (is) return is;
    const struct vesta_clock *clock = vs_clock_system();
    if (vs_random(&drawn, sizeof drawn) != 0) drawn = (uint64_t)clock->boot_us(clock->self) << 22 ^ (uint64_t)getpid();
    return atomic_compare_exchange_strong(token, &none, drawn | 1) ? drawn | 1 : none;
}
