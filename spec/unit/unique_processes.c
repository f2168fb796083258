/* unique_processes.c -- processes share a generator file or a namespace, and all ids are counted: forks within forks,
 * raw clones, copied and removed files, and a keeper that is killed while others issue. */
#include "crowd.h"

#define EACH 50000

static enum vesta_pacing pacing;

static struct vesta_opts drawn(const char *path) {
    return (struct vesta_opts){.path = path, .layout = FAST, .pacing = pacing, .any_worker = 1};
}

/* ------------------------------------------------------------------ one file */

static void open_and_issue(uint64_t dice) {
    struct vesta_gen *gen = must_open(drawn(NULL));
    if (gen && issue(gen, EACH, dice)) vesta_close(gen);
}

static void processes_on_one_file(void) {
    pid_t pids[8];
    for (pacing = VESTA_PACING_CLOCK; pacing <= VESTA_PACING_HISTORY; pacing++) {
        empty_folder();
        tally_clear();
        for (uint64_t i = 0; i < 8; i++)
            pids[i] = spawn(open_and_issue, i);
        for (int i = 0; i < 8; i++)
            reap(pids[i], false);
        check_tally(8 * EACH);
    }
}

/* ------------------------------------------------------------------ forks */

static struct vesta_gen *inherited;

/* A process forks, and its children too: 2^depth processes with one handle, without any other call. */
static void storm(uint64_t depth) {
    pid_t children[8];
    int count = 0;
    for (uint64_t left = depth; left > 0; left--) {
        issue(inherited, 500, left);
        children[count++] = spawn(storm, left - 1);
    }
    issue(inherited, 500, depth);
    while (count > 0)
        reap(children[--count], false);
}

static void forks_within_forks(void) {
    for (pacing = VESTA_PACING_CLOCK; pacing <= VESTA_PACING_HISTORY; pacing++) {
        empty_folder();
        tally_clear();
        inherited = must_open(drawn(NULL));
        NEED(inherited != NULL && issue(inherited, 100, 1));
        storm(5);
        check_tally(100 + 32 * 500);
        vesta_close(inherited);
    }
}

/* clone(2) without libc: no fork handler runs, and the child may use nothing but memory. */
static void raw_clones(void) {
    struct vesta_pause pause;
    uint64_t ids[EACH];
    for (pacing = VESTA_PACING_CLOCK; pacing <= VESTA_PACING_HISTORY; pacing++) {
        empty_folder();
        tally_clear();
        inherited = must_open(drawn(NULL));
        NEED(inherited != NULL && issue(inherited, 1, 1));
        long pids[4];
        for (int i = 0; i < 4; i++) {
            pids[i] = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
            if (pids[i] != 0) continue;
            size_t have = 0;
            for (int tries = 0; have < EACH && tries < 10000000; tries++)
                have += vesta_next(inherited, &ids[have], &pause) == VESTA_OK;
            tally_add(ids, have);
            syscall(SYS_exit_group, have == EACH ? 0 : 9);
        }
        issue(inherited, EACH, 2);
        for (int i = 0; i < 4; i++)
            reap((pid_t)pids[i], false);
        check_tally(5 * EACH);
        vesta_close(inherited);
    }
}

/* ------------------------------------------------------------------ several files */

static void issue_from(const char *path) {
    struct vesta_gen *gen = must_open((struct vesta_opts){.path = path});
    if (gen && issue(gen, EACH, 1)) vesta_close(gen);
}

static void issue_from_first(uint64_t unused) {
    (void)unused;
    issue_from(in_folder("one.gen"));
}

static void issue_from_second(uint64_t unused) {
    (void)unused;
    issue_from(in_folder("two.gen"));
}

static void make_file(const char *path) {
    struct vesta_gen *gen = must_open(drawn(path));
    if (gen && issue(gen, 100, 9)) vesta_close(gen);
}

static void both_files_at_once(void) {
    pid_t pids[4];
    for (int i = 0; i < 4; i++)
        pids[i] = spawn(i % 2 ? issue_from_first : issue_from_second, 0);
    for (int i = 0; i < 4; i++)
        reap(pids[i], false);
}

static void two_files_in_a_namespace(void) {
    for (pacing = VESTA_PACING_CLOCK; pacing <= VESTA_PACING_HISTORY; pacing++) {
        empty_folder();
        tally_clear();
        make_file(in_folder("one.gen"));
        make_file(in_folder("two.gen"));
        both_files_at_once();
        check_tally(4 * EACH + 200);
    }
}

static void copy(const char *from, const char *to) {
    char command[400];
    snprintf(command, sizeof command, "cp -a %s %s", from, to);
    CHECK(system(command) == 0);
}

static void a_copied_file(void) {
    for (pacing = VESTA_PACING_CLOCK; pacing <= VESTA_PACING_HISTORY; pacing++) {
        empty_folder();
        tally_clear();
        make_file(in_folder("one.gen"));
        copy(in_folder("one.gen"), in_folder("two.gen"));
        both_files_at_once();
        check_tally(4 * EACH + 100);
    }
}

/* A backup is restored within the same boot: the name is the same, the inode number may be, and the cursor is old. */
static void a_file_put_back_from_a_backup(void) {
    pacing = VESTA_PACING_HISTORY; /* one pacing only, because the successor waits for a lease of five seconds to
                                      expire */
    empty_folder();
    tally_clear();
    make_file(in_folder("one.gen"));
    copy(in_folder("one.gen"), in_folder("backup"));
    issue_from_first(0);
    CHECK(unlink(in_folder("one.gen")) == 0);
    copy(in_folder("backup"), in_folder("one.gen"));
    issue_from_first(0);
    check_tally(2 * EACH + 100);
}

static void issue_until_marked(uint64_t unused) {
    (void)unused;
    struct vesta_gen *gen = must_open((struct vesta_opts){.path = in_folder("one.gen")});
    if (gen) CHECK(vesta_keep(gen) == VESTA_OK); /* this process becomes the keeper */
    while (gen && atomic_load(&tally->mark) == 0 && issue(gen, 50, 1))
        usleep(1000);
}

/* Processes with the old file continue under its lease, and those with the new one get another.  Each group elects a
 * keeper. */
static void a_file_removed_while_in_use(void) {
    pacing = VESTA_PACING_CLOCK;
    empty_folder();
    tally_clear();
    make_file(in_folder("one.gen"));
    size_t made = atomic_load(&tally->used);
    pid_t old = spawn(issue_until_marked, 0);
    AWAIT(atomic_load(&tally->used) > made);
    CHECK(unlink(in_folder("one.gen")) == 0);
    make_file(in_folder("one.gen"));
    pid_t newer = spawn(issue_until_marked, 0);
    issue_from_first(0);
    usleep(300000);
    atomic_store(&tally->mark, 1);
    reap(old, false);
    reap(newer, false);
    check_tally(EACH + 200);
}

static const struct check_case cases[] = {
    {"processes x ids on one file: no duplicate", processes_on_one_file},
    {"forks within forks: no duplicate", forks_within_forks},
    {"raw clones: no duplicate", raw_clones},
    {"two files in a namespace: no duplicate", two_files_in_a_namespace},
    {"a copied file: no duplicate", a_copied_file},
    {"a file restored from a backup in the same boot: no duplicate", a_file_put_back_from_a_backup},
    {"a file removed while in use, and its successor: no duplicate", a_file_removed_while_in_use},
};

CHECK_MAIN_IN_FOLDER(cases)
