/* quiet.c -- vesta_next makes no allocation and no system call. Allocations are counted, and a seccomp filter kills the
 * process for a system call. */
#include "base/array.h"
#include "crowd.h"
#include "own_malloc.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#define CALLS 1000000

/* ------------------------------------------------------------------ every allocator, counted */

static atomic_size_t allocations;

static bool fails(void) {
    atomic_fetch_add(&allocations, 1);
    return false;
}

/* ------------------------------------------------------------------ calls */

/* Makes a million calls for single ids, batches and blocks. Returns how many calls issued ids. */
static size_t call_often(struct vesta_gen *gen) {
    struct vesta_pause pause;
    uint64_t ids[16];
    size_t gave = 0, got;
    for (int i = 0; i < CALLS; i++) {
        if (i % 4)
            gave += vesta_next(gen, ids, &pause) == VESTA_OK;
        else if (i % 8)
            gave += take_block(gen, ids, 16) > 0;
        else
            gave += vesta_next_n(gen, ids, 16, &got, &pause) == VESTA_OK;
    }
    return gave;
}

static struct vesta_gen *leased(const char *layout, enum vesta_pacing pacing) {
    struct vesta_pause pause;
    uint64_t id;
    empty_folder();
    struct vesta_gen *gen = must_open((struct vesta_opts){.layout = layout, .pacing = pacing, .any_worker = 1});
    if (gen) CHECK(vesta_next_wait(gen, &id, 5000000, &pause) == VESTA_OK);
    return gen;
}

static void no_allocation(void) {
    static const char *const layouts[] = {FAST, TIGHT}; /* one always has ids, the other pauses most of the time */
    for (int pacing = VESTA_PACING_CLOCK; pacing <= VESTA_PACING_HISTORY; pacing++)
        for (size_t i = 0; i < VS_COUNT(layouts); i++) {
            /* No keeper runs, because its allocations would be counted. */
            struct vesta_gen *gen = must_open((struct vesta_opts){.layout = layouts[i],
                                                                  .pacing = (enum vesta_pacing)pacing,
                                                                  .flags = VESTA_UNSAFE_PRIVATE,
                                                                  .has_worker = 1});
            NEED(gen != NULL);
            CHECK(atomic_load(&allocations) > 0); /* allocations are counted at all */
            size_t before = atomic_load(&allocations), gave = call_often(gen);
            CHECK_EQ_U64(atomic_load(&allocations), before);
            CHECK(gave > 100);
            vesta_close(gen);
        }
}

/* ------------------------------------------------------------------ system calls */

static struct vesta_gen *quiet_gen;

/* From here on the kernel allows exit, and kills the process for any other call. Strict mode would also disable the
 * processor's time stamp counter, which the clock of the vdso reads. */
static void lock_in(void) {
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {.len = VS_COUNT(rules), .filter = rules};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        syscall(SYS_exit, 7);
}

static void call_locked_in(uint64_t unused) {
    (void)unused;
    lock_in();
    size_t gave = call_often(quiet_gen);
    syscall(SYS_exit, gave > 100 ? 0 : 9);
}

static void break_out(uint64_t unused) {
    (void)unused;
    lock_in();
    syscall(SYS_getppid);
    syscall(SYS_exit, 0);
}

static int status_of(void (*run)(uint64_t)) {
    int status = 0;
    pid_t pid = spawn(run, 0);
    CHECK(waitpid(pid, &status, 0) == pid);
    return status;
}

static void no_system_call(void) {
    static const char *const layouts[] = {FAST, TIGHT};
    int status = status_of(break_out);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS); /* the filter kills at all */
    for (int pacing = VESTA_PACING_CLOCK; pacing <= VESTA_PACING_HISTORY; pacing++)
        for (size_t i = 0; i < VS_COUNT(layouts); i++) {
            quiet_gen = leased(layouts[i], (enum vesta_pacing)pacing);
            NEED(quiet_gen != NULL);
            status = status_of(call_locked_in);
            if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
                CHECK_FAIL("pacing %d, %s: status %#x", pacing, layouts[i], (unsigned)status);
            vesta_close(quiet_gen);
        }
}

static const struct check_case cases[] = {
    {"no allocation in a million calls, both pacings", no_allocation},
    {"no system call in a million calls, both pacings", no_system_call},
};

CHECK_MAIN_IN_FOLDER(cases)
