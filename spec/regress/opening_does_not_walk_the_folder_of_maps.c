/* Regression: creating a generator's map listed the whole folder of maps, /dev/shm, which other programs fill. */
#include "opened.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>

#define FILES 20000

static _Atomic unsigned entries_read;

struct dirent *readdir(DIR *dir) {
    static struct dirent *(*real)(DIR *);
    if (!real) real = (struct dirent * (*)(DIR *)) dlsym(RTLD_NEXT, "readdir");
    atomic_fetch_add(&entries_read, 1);
    return real(dir);
}

static char maps[64];

static unsigned entries_read_to_open(const char *name, const struct vesta_clock *clock) {
    unsigned before = atomic_load(&entries_read);
    struct vesta_gen *gen = open_in_state(name, "snowflake", (struct vesta_opts){.any_worker = 1, .clock = clock});
    vesta_close(gen);
    return atomic_load(&entries_read) - before;
}

static void one_process_in_a_while_walks(void) {
    char name[128], command[128];
    strcpy(maps, "/dev/shm/vesta-maps-XXXXXX");
    NEED(mkdtemp(maps));
    setenv("VESTA_MAPS", maps, 1);
    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof name, "%s/another-programs.%d", maps, i);
        int fd = open(name, O_WRONLY | O_CREAT, 0600);
        NEED(fd >= 0);
        close(fd);
    }
    CHECK(entries_read_to_open("first.gen", &ahead_clock) > FILES);
    CHECK(entries_read_to_open("second.gen", &ahead_clock) < 1000);
    CHECK(entries_read_to_open("third.gen", &ahead_clock) < 1000);
    atomic_store(&passed_us, INT64_C(2) * 60 * 1000000);
    CHECK(entries_read_to_open("fourth.gen", &ahead_clock) > FILES);
    CHECK(entries_read_to_open("fifth.gen", &ahead_clock) < 1000);
    unsetenv("VESTA_MAPS");
    snprintf(command, sizeof command, "rm -rf %s", maps);
    CHECK(system(command) == 0);
}

IN_NEW_STATE(one_process_in_a_while_walks)

static const struct check_case cases[] = {
    {"at most one process per minute lists the folder of maps, however many maps are "
     "created", one_process_in_a_while_walks_},
};

CHECK_MAIN(cases)
