/* tree.c -- starts a program, and signals its processes (see tree.h). */
#include "run/tree.h"
#include "base/array.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* ------------------------------------------------------------------ starting */

__attribute__((noreturn)) static void tree_become(char **command, const sigset_t *mask, pid_t group, pid_t parent,
                                                  int report) {
    setpgid(0, group);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGPIPE, SIG_DFL); /* vesta ignores SIGPIPE, and an ignored signal would be inherited */
    pthread_sigmask(SIG_SETMASK, mask, NULL);
    if (getppid() == parent) execvp(command[0], command);
    int why = errno;
    (void)!write(report, &why, sizeof why);
    _exit(127);
}

pid_t vs_run_spawn(char **command, const sigset_t *mask, pid_t group, int *why) {
    int report[2];
    if (pipe2(report, O_CLOEXEC) != 0) return *why = errno, 0;
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) tree_become(command, mask, group, parent, report[1]);
    *why = pid < 0 ? errno : 0;
    close(report[1]);
    if (pid > 0 && read(report[0], why, sizeof *why) <= 0) *why = 0; /* the pipe was closed by execvp */
    close(report[0]);
    if (*why == 0) return pid;
    if (pid > 0) waitpid(pid, NULL, 0);
    return 0;
}

void vs_run_let_go(void) {
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0) return;
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    if (null > STDERR_FILENO) close(null);
}

/* ------------------------------------------------------------------ descendants */

struct tree_process {
    pid_t pid, parent;
    bool is_zombie, is_ours;
};

/* The fields of /proc/PID/stat between the parent and the number of threads. */
#define TREE_UNUSED " %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "

struct tree {
    struct tree_process *processes;
    size_t count, room;
};

/* Reads the state and the parent of a process.  Returns false if the process no longer exists.  /proc shows a process
 * whose first thread has ended as a zombie, while its other threads run. */
static bool tree_read(pid_t pid, struct tree_process *out) {
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0) close(fd);
    if (length <= 0) return false;
    text[length] = '\0';
    const char *end = strrchr(text, ')'); /* the name before it may contain any byte */
    char state;
    int parent, threads;
    if (!end || sscanf(end + 1, " %c %d" TREE_UNUSED "%d", &state, &parent, &threads) != 3) return false;
    *out = (struct tree_process){pid, (pid_t)parent, (state == 'Z' && threads <= 1) || state == 'X', false};
    return true;
}

static void tree_add(struct tree *tree, pid_t pid, bool is_ours) {
    if (tree->count == tree->room) {
        size_t room = tree->room ? 2 * tree->room : 256;
        void *more = realloc(tree->processes, room * sizeof *tree->processes);
        if (!more) return;
        tree->processes = more;
        tree->room = room;
    }
    struct tree_process *process = &tree->processes[tree->count];
    if (!tree_read(pid, process)) return;
    process->is_ours = is_ours;
    tree->count++;
}

/* Adds the children of a thread. */
static void tree_add_children(struct tree *tree, pid_t pid, const char *thread) {
    char path[64], *line = NULL;
    size_t room = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%.16s/children", (int)pid, thread);
    FILE *file = fopen(path, "re");
    if (!file) return;
    if (getline(&line, &room, file) > 0) {
        char *next = line;
        for (pid_t child; (child = (pid_t)strtol(next, &next, 10)) > 0;)
            tree_add(tree, child, true);
    }
    free(line);
    fclose(file);
}

/* Lists the descendants from parent to child.  This is much faster than to read all of /proc on a host with many
 * processes.  Returns false if the kernel does not list children. */
static bool tree_walk(struct tree *tree, pid_t root) {
    if (access("/proc/thread-self/children", R_OK) != 0) return false;
    pid_t pid = root;
    for (size_t done = 0;; pid = tree->processes[done++].pid) {
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
        DIR *threads = opendir(path);
        const struct dirent *entry;
        while (threads && (entry = readdir(threads)))
            if (entry->d_name[0] != '.') tree_add_children(tree, pid, entry->d_name);
        if (threads) closedir(threads);
        if (done == tree->count) return true;
    }
}

static void tree_list(struct tree *tree) {
    DIR *list = opendir("/proc");
    const struct dirent *entry;
    while (list && (entry = readdir(list))) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (pid > 0) tree_add(tree, pid, false);
    }
    if (list) closedir(list);
}

static bool tree_is_ours(const struct tree *tree, pid_t parent, pid_t root) {
    if (parent == root) return true;
    for (size_t i = 0; i < tree->count; i++)
        if (tree->processes[i].pid == parent) return tree->processes[i].is_ours;
    return false;
}

/* Marks the descendants of a process.  Repeats the search until it finds no more, because a process may be listed
 * before its parent. */
static void tree_mark(struct tree *tree, pid_t root) {
    for (bool is_new = true; is_new;) {
        is_new = false;
        for (size_t i = 0; i < tree->count; i++) {
            struct tree_process *p = &tree->processes[i];
            if (p->is_ours || p->pid == root || !tree_is_ours(tree, p->parent, root)) continue;
            p->is_ours = is_new = true;
        }
    }
}

/* Sends a signal, unless the pid now belongs to another process. */
static void tree_signal(const struct tree_process *process, int number) {
    struct tree_process now;
    int fd = (int)syscall(SYS_pidfd_open, process->pid, 0); /* refers to one process, even if the pid is reused */
    bool is_same = tree_read(process->pid, &now) && now.parent == process->parent;
    if (is_same && fd >= 0)
        syscall(SYS_pidfd_send_signal, fd, number, NULL, 0);
    else if (is_same)
        kill(process->pid, number);
    if (fd >= 0) close(fd);
}

int vs_run_signal_all(pid_t root, int number) {
    struct tree tree = {NULL, 0, 0};
    int alive = 0;
    if (!tree_walk(&tree, root)) {
        tree_list(&tree);
        tree_mark(&tree, root);
    }
    for (size_t i = 0; i < tree.count; i++) {
        const struct tree_process *p = &tree.processes[i];
        if (!p->is_ours || p->is_zombie) continue;
        alive++;
        tree_signal(p, number);
    }
    free(tree.processes);
    return alive;
}
