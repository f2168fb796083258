/* stopper.c -- runs a program, and stops or kills it after its n-th system call.
 *
 *     stopper count|stop|kill N OUT PROGRAM ARGUMENT...     the program's output goes to OUT
 *
 * `count` prints a line `N NUMBER` for each call, up to N calls unless N is 0.  `stop` prints `stopped PID NUMBER`, and
 * lets the program continue after it reads a line.  `kill` prints the same after the kill.  The last line is `ended
 * STATUS CALLS`. */
#include "stopper.h"

#include <fcntl.h>
#include <limits.h>

static pid_t start(const char *out, char **command) {
    pid_t pid = fork();
    if (pid != 0) return pid;
    int fd = open(out, O_WRONLY | O_CREAT | O_APPEND, 0644);
    int nothing = open("/dev/null", O_RDONLY);
    if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0 || dup2(nothing, STDIN_FILENO) < 0) _exit(126);
    close(fd);
    close(nothing);
    stopper_begin();
    execv(command[0], command);
    _exit(127);
}

static void wait_for_a_line(void) {
    for (int c; (c = getchar()) != EOF && c != '\n';)
        ;
}

int main(int argc, char **argv) {
    struct stopper s;
    if (argc < 5) {
        fprintf(stderr, "stopper count|stop|kill N OUT PROGRAM ARGUMENT...\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    long n = atol(argv[2]);
    if (!stopper_met(&s, start(argv[3], argv + 4))) {
        fprintf(stderr, "stopper: this machine lets no process trace another\n");
        return 77;
    }
    bool counts = strcmp(argv[1], "count") == 0;
    if (counts) {
        s.tells = true;
        if (stopper_run_to(&s, n ? n : LONG_MAX)) kill(s.pid, SIGKILL);
        stopper_reap(&s);
    } else if (stopper_run_to(&s, n)) {
        bool kills = strcmp(argv[1], "kill") == 0;
        if (kills) kill(s.pid, SIGKILL);
        printf("stopped %d %ld\n", (int)s.pid, s.last);
        if (!kills) {
            wait_for_a_line();
            stopper_let_go(&s);
        }
        stopper_reap(&s);
    }
    printf("ended %d %ld\n", s.status, s.calls);
    return 0;
}
