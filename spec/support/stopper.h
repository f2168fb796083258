/* stopper.h -- stops a process between two system calls: after the n-th call that it or one of its threads has made,
 * all its threads are stopped.  Then it can be killed or continued.  Knows nothing of vesta. */
#ifndef SPEC_STOPPER_H
#define SPEC_STOPPER_H

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define STOPPER_THREADS_MAX 256

struct stopper {
    pid_t pid;  /* the only child of the caller */
    long calls; /* calls so far */
    long last;  /* number of the last system call */
    bool tells; /* print each call: its position and number */
    int status; /* its exit status, if it ended */
    bool ended;
    pid_t thread[STOPPER_THREADS_MAX];
    bool has_begun[STOPPER_THREADS_MAX]; /* the initial stop of a new thread was seen */
    int threads;
};

/* In the child: from here on its calls are counted. */
__attribute__((unused)) static void stopper_begin(void) {
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) _exit(77);
    raise(SIGSTOP);
}

/* In the parent, after the child has begun.  false: this machine does not permit tracing. */
__attribute__((unused)) static bool stopper_met(struct stopper *s, pid_t pid) {
    memset(s, 0, sizeof *s);
    s->pid = s->thread[0] = pid;
    s->has_begun[0] = true;
    s->threads = 1;
    if (waitpid(pid, &s->status, __WALL) != pid || !WIFSTOPPED(s->status)) return false;
    return ptrace(PTRACE_SETOPTIONS, pid, NULL,
                  (void *)(long)(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC |
                                 PTRACE_O_EXITKILL)) == 0;
}

static int stopper_find(const struct stopper *s, pid_t tid) {
    for (int i = 0; i < s->threads; i++)
        if (s->thread[i] == tid) return i;
    return -1;
}

/* Whether a thread's stop is the end of a call, which is counted. */
static bool stopper_counts(struct stopper *s, pid_t tid, int status) {
    struct __ptrace_syscall_info info = {0};
    if (WSTOPSIG(status) != (SIGTRAP | 0x80)) return false;
    if (ptrace(PTRACE_GET_SYSCALL_INFO, tid, (void *)sizeof info, &info) <= 0) return false;
    if (info.op == PTRACE_SYSCALL_INFO_ENTRY) s->last = (long)info.entry.nr;
    if (info.op != PTRACE_SYSCALL_INFO_EXIT) return false;
    s->calls++;
    if (s->tells) printf("%ld %ld\n", s->calls, s->last);
    return true;
}

static int stopper_meet(struct stopper *s, pid_t tid) {
    int at = stopper_find(s, tid);
    if (at >= 0) return at;
    if (s->threads == STOPPER_THREADS_MAX) abort();
    s->thread[s->threads] = tid;
    s->has_begun[s->threads] = false;
    return s->threads++;
}

/* Returns the signal to continue a thread with: its own, but none of the tracing. */
static int stopper_signal(struct stopper *s, pid_t tid, int status) {
    int sig = WSTOPSIG(status), at = stopper_meet(s, tid);
    unsigned long born;
    if (status >> 16 == PTRACE_EVENT_CLONE && ptrace(PTRACE_GETEVENTMSG, tid, NULL, &born) == 0)
        stopper_meet(s, (pid_t)born);
    bool begins = !s->has_begun[at];
    s->has_begun[at] = true;
    return sig == (SIGTRAP | 0x80) || sig == SIGTRAP || status >> 16 || begins ? 0 : sig;
}

static void stopper_lost(struct stopper *s, pid_t tid) {
    int at = stopper_find(s, tid);
    if (at < 0) return;
    s->thread[at] = s->thread[--s->threads];
    s->has_begun[at] = s->has_begun[s->threads];
}

/* Also stops the other threads, wherever they are. */
static void stopper_hold(struct stopper *s, pid_t held) {
    for (int i = 0; i < s->threads;) {
        pid_t tid = s->thread[i];
        int status;
        if (tid != held) {
            syscall(SYS_tgkill, s->pid, tid, SIGSTOP);
            if (waitpid(tid, &status, __WALL) != tid || !WIFSTOPPED(status)) {
                stopper_lost(s, tid);
                continue;
            }
        }
        i++;
    }
}

/* Runs the process until it has made `n` calls, and stops it.  false: it ended before. */
__attribute__((unused)) static bool stopper_run_to(struct stopper *s, long n) {
    int status;
    ptrace(PTRACE_SYSCALL, s->pid, NULL, NULL);
    for (;;) {
        pid_t tid = waitpid(-1, &status, __WALL);
        if (tid < 0 && errno == EINTR) continue;
        if (tid < 0) return false;
        if (WIFEXITED(status) || WIFSIGNALED(status)) {
            stopper_lost(s, tid);
            if (tid != s->pid) continue;
            s->status = status;
            s->ended = true;
            return false;
        }
        if (stopper_counts(s, tid, status) && s->calls >= n) {
            stopper_hold(s, tid);
            return true;
        }
        ptrace(PTRACE_SYSCALL, tid, NULL, (void *)(long)stopper_signal(s, tid, status));
    }
}

/* Continues it without tracing.  The signal that stopped its threads may not have reached each of them yet. */
__attribute__((unused)) static void stopper_let_go(struct stopper *s) {
    kill(s->pid, SIGCONT);
    for (int i = 0; i < s->threads; i++)
        ptrace(PTRACE_DETACH, s->thread[i], NULL, NULL);
}

/* Waits for its end and that of its stopped threads.  Returns its status.  Another child of the caller would be
 * lost. */
__attribute__((unused)) static int stopper_reap(struct stopper *s) {
    int status;
    while (!s->ended) {
        pid_t tid = waitpid(-1, &status, __WALL);
        if (tid < 0 && errno != EINTR) break;
        if (tid != s->pid || WIFSTOPPED(status)) continue;
        s->status = status;
        s->ended = true;
    }
    return s->status;
}

#endif
