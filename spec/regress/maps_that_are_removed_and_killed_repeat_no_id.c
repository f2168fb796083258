/* Further rules of the live map: more leases than a map holds, several paths, removal while others issue, and a
 * hundred kills. No id is duplicated or lost, and all processes use one map. */
#include "crowd.h"

#include "generator/generator.h"
#include "mapping/mapping.h"

#include <fcntl.h>

static struct vesta_gen *open_at(const char *name) {
    return must_open(
        (struct vesta_opts){.layout = FAST, .path = in_folder(name), .any_worker = 1, .pacing = VESTA_PACING_HISTORY});
}

static void name_of(const char *path, char name[VS_MAP_NAME_MAX]) {
    struct vs_anchor anchor;
    struct vesta_error err;
    bool found;
    NEED(vs_anchor_read(path, -1, &found, &anchor, &err) == VESTA_OK && found);
    CHECK(vs_mapping_name(&anchor.header, name) == 0);
}

/* ------------------------------------------------------------------ more leases than a map holds */

static void issue_by_link(uint64_t unused) {
    (void)unused;
    struct vesta_gen *gen = open_at("link.gen");
    while (gen && atomic_load(&tally->mark) == 0 && issue(gen, 50, 1))
        usleep(500);
    vesta_close(gen);
}

static void past_the_leases_of_a_map(void) {
    struct vesta_error err;
    empty_folder();
    tally_clear();
    struct vesta_gen *gen = open_at("a.gen");
    NEED(gen && issue(gen, 1, 1));
    CHECK(link(in_folder("a.gen"), in_folder("link.gen")) == 0);
    pid_t pid = spawn(issue_by_link, 0);
    int times = 2 * VS_SLOTS_MAX + 5;
    for (int i = 0; i < times; i++)
        if (!issue(gen, 3, (uint64_t)i) || vesta_release(gen, &err) != VESTA_OK) break;
    CHECK(issue(gen, 3, 1));
    atomic_store(&tally->mark, 1);
    reap(pid, false); /* The issuers by the link had ids all the time, or `issue` fails. */
    check_tally((size_t)times * 3);
    vesta_close(gen);
}

/* ------------------------------------------------------------------ removed while others issue */

static void issue_and_come_back(uint64_t dice) {
    while (atomic_load(&tally->mark) == 0) {
        struct vesta_gen *gen = open_at("a.gen");
        for (int i = 0; gen && i < 60 && atomic_load(&tally->mark) == 0; i++) {
            if (!issue(gen, 20, dice++)) return;
            usleep(5000);
        }
        vesta_close(gen);
    }
}

static _Atomic uint64_t *numbers;

static void issue_and_say_the_number(uint64_t index) {
    struct vesta_gen *gen = open_at("a.gen");
    struct vesta_info info;
    uint64_t dice = index; /* Every way to get an id. A caller of ways that never wait must call vesta_keep. */
    while (gen && atomic_load(&tally->mark) == 0) {
        if (!issue(gen, 20, dice++)) return;
        vesta_get_info(gen, &info);
        atomic_store(&numbers[index], info.worker + 1);
        usleep(5000);
    }
    vesta_close(gen);
}

static uint64_t number_at(const char *name) {
    static struct vs_map map;
    memset((void *)&map, 0, sizeof map);
    int fd = open(name, O_RDONLY);
    if (fd < 0) return 0;
    ssize_t got = read(fd, (void *)&map, sizeof map);
    close(fd);
    int active = vs_map_active(&map);
    return got == (ssize_t)sizeof map && active >= 0 ? map.slot[active].worker + 1 : 0;
}

static int stayers; /* processes that report their worker id */

static bool agree(const char *name) {
    uint64_t named = number_at(name);
    for (int i = 0; i < stayers; i++)
        if (atomic_load(&numbers[i]) != named) return false;
    return named != 0;
}

/* Waits until all use one worker id for a while, because a single moment may be chance. */
static bool settle(const char *name) {
    for (int tries = 0; tries < CHECK_PATIENCE_MS / 100; tries++) {
        bool stays = agree(name);
        for (int i = 0; stays && i < 10; i++, usleep(20000))
            stays = agree(name);
        if (stays) return true;
        usleep(100000);
    }
    return false;
}

static void removed_under_issuers(void) {
    pid_t pids[6];
    char name[VS_MAP_NAME_MAX];
    empty_folder();
    tally_clear();
    numbers = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    stayers = 4;
    for (uint64_t i = 0; i < 4; i++)
        pids[i] = spawn(issue_and_say_the_number, i);
    pids[4] = spawn(issue_and_come_back, 1000);
    pids[5] = spawn(issue_and_come_back, 2000);
    AWAIT(access(in_folder("a.gen"), F_OK) == 0);
    name_of(in_folder("a.gen"), name);
    CHECK(settle(name));
    for (int round = 0; round < 3; round++) {
        CHECK(unlink(name) == 0);
        AWAIT(access(name, F_OK) == 0);
        CHECK(settle(name));
    }
    atomic_store(&tally->mark, 1);
    for (int i = 0; i < 6; i++)
        reap(pids[i], false);
    check_tally(1000);
    munmap((void *)numbers, 4096);
}

static void give_and_close(uint64_t dice) {
    struct vesta_gen *gen = open_at("a.gen");
    CHECK(gen && issue(gen, 20, dice));
    vesta_close(gen);
}

/* The process that fetched a map's lease is gone. The remaining process always had a lease, so it never requested
 * one. */
static void the_first_has_left(void) {
    char name[VS_MAP_NAME_MAX];
    empty_folder();
    tally_clear();
    numbers = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    stayers = 1;
    reap(spawn(give_and_close, 1), false);
    name_of(in_folder("a.gen"), name);
    pid_t pid = spawn(issue_and_say_the_number, 0);
    AWAIT(atomic_load(&numbers[0]) != 0);
    CHECK_EQ_U64(atomic_load(&numbers[0]), number_at(name));
    CHECK(unlink(name) == 0);
    reap(spawn(give_and_close, 2), false); /* The processes use a new map. */
    CHECK(settle(name));
    atomic_store(&tally->mark, 1);
    reap(pid, false);
    check_tally(60);
    munmap((void *)numbers, 4096);
}

/* ------------------------------------------------------------------ killed */

static void give_one(uint64_t index) {
    struct vesta_gen *gen = open_at("a.gen");
    struct vesta_pause pause;
    uint64_t id;
    if (gen && vesta_next_wait(gen, &id, 20 * 1000000, &pause) == VESTA_OK) tally->ids[index] = id;
    kill(getpid(), SIGKILL);
}

static void killed_a_hundred_times(void) {
    struct vesta_layout layout = parsed(FAST);
    struct vesta_parts parts;
    struct vesta_info info;
    struct vs_shape shape;
    uint64_t before = 0;
    vs_shape_of(&layout, &shape);
    empty_folder();
    tally_clear();
    for (uint64_t i = 0; i < 100; i++) {
        reap(spawn(give_one, i), true);
        CHECK(vesta_explain(&layout, tally->ids[i], &parts, NULL) == VESTA_OK);
        uint64_t tick = parts.time << shape.seq_bits | parts.seq;
        if (i) CHECK_EQ_U64(tick, before + 1); /* The cursor is exact. */
        before = tick;
    }
    atomic_store(&tally->used, 100);
    check_tally(100);
    struct vesta_gen *gen = open_at("a.gen");
    NEED(gen != NULL);
    vesta_get_info(gen, &info);
    CHECK_EQ_U64(info.slots_used, 1); /* All used one lease, so no process waited for another. */
    vesta_close(gen);
}

/* ------------------------------------------------------------------ nothing is left behind */

static void left_behind(void) {
    char name[VS_MAP_NAME_MAX];
    empty_folder();
    tally_clear();
    struct vesta_gen *gen = open_at("a.gen");
    NEED(gen && issue(gen, 1, 1));
    name_of(in_folder("a.gen"), name);
    CHECK(access(name, F_OK) == 0);
    CHECK(unlink(in_folder("a.gen")) == 0);
    vesta_close(gen);
    CHECK(access(name, F_OK) != 0);
}

static char maps[64]; /* a folder for maps in which no other process sweeps */

/* The next map that is created triggers a sweep, as if the last one were long ago. */
static void forget_the_sweep(void) {
    char name[128];
    snprintf(name, sizeof name, "%s/vesta-swept.%u", maps, (unsigned)geteuid());
    CHECK(unlink(name) == 0);
}

/* Creates maps that remain after their files and users are gone, one for each first byte of a key. */
static size_t lay_out(const struct vs_map *from, bool remove) {
    size_t there = 0;
    for (int i = 0; i < 256; i++) {
        char name[VS_MAP_NAME_MAX];
        snprintf(name, sizeof name, "%s/vesta-%02x%030d", maps, i, (int)getpid());
        there += access(name, F_OK) == 0;
        if (remove) unlink(name);
        int fd = remove ? -1 : open(name, O_WRONLY | O_CREAT | O_EXCL, 0600);
        CHECK(remove || (fd >= 0 && write(fd, (const void *)from, sizeof *from) == (ssize_t)sizeof *from));
        if (fd >= 0) close(fd);
    }
    return there;
}

/* Sixteen sweeps cover all maps, each another 16th. */
static void sweep_in_a_row(const struct vs_map *map) {
    char name[128], generator[32];
    snprintf(name, sizeof name, "%s/vesta-swept.%u", maps, (unsigned)geteuid());
    lay_out(map, false);
    for (int i = 0; i < 16; i++) {
        int64_t long_ago_us = INT64_MIN;
        int fd = open(name, O_WRONLY);
        CHECK(fd >= 0 && pwrite(fd, &long_ago_us, sizeof long_ago_us, 0) == (ssize_t)sizeof long_ago_us);
        close(fd);
        snprintf(generator, sizeof generator, "row%d.gen", i);
        vesta_close(open_at(generator));
    }
    CHECK_EQ_U64(lay_out(map, true), 0);
}

static void swept(void) {
    static struct vs_map map;
    char name[VS_MAP_NAME_MAX];
    empty_folder();
    strcpy(maps, "/dev/shm/vesta-maps-XXXXXX");
    NEED(mkdtemp(maps));
    setenv("VESTA_MAPS", maps, 1);
    vesta_close(open_at("a.gen"));
    name_of(in_folder("a.gen"), name);
    int fd = open(name, O_RDONLY);
    CHECK(fd >= 0 && read(fd, (void *)&map, sizeof map) == (ssize_t)sizeof map);
    close(fd);
    CHECK(unlink(name) == 0 && unlink(in_folder("a.gen")) == 0);
    lay_out(&map, false);
    forget_the_sweep();
    vesta_close(open_at("b.gen"));
    CHECK_EQ_U64(lay_out(&map, true), 256); /* They were used a moment ago, so a process may return with the file. */
    atomic_store(&map.shared.seen_us, atomic_load(&map.shared.seen_us) - INT64_C(3600) * 1000000);
    lay_out(&map, false);
    vesta_close(open_at("soon.gen")); /* The last sweep was a moment ago. */
    CHECK_EQ_U64(lay_out(&map, true), 256);
    lay_out(&map, false);
    forget_the_sweep();
    vesta_close(open_at("c.gen"));
    CHECK_EQ_U64(lay_out(&map, true), 256 - 16);
    sweep_in_a_row(&map);
    snprintf(map.header.path, sizeof map.header.path, "%s", in_folder("c.gen"));
    lay_out(&map, false);
    forget_the_sweep();
    vesta_close(open_at("d.gen"));
    CHECK_EQ_U64(lay_out(&map, true), 256);
    unsetenv("VESTA_MAPS");
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", maps);
    CHECK(system(command) == 0);
}

static const struct check_case cases[] = {
    {"with more leases than a map holds, and a second path to it, ids continue for both "
     "without duplicates", past_the_leases_of_a_map},
    {"if the map is removed under four issuers and new processes, all use one map again, "
     "without duplicates", removed_under_issuers},
    {"a process that continues a lease fetched by another keeps it, and follows if the map is "
     "replaced", the_first_has_left},
    {"a hundred processes killed one after another issue contiguous ids under one lease", killed_a_hundred_times},
    {"a map without its file disappears with its last user", left_behind},
    {"maps that no process can find any more are swept when others are created", swept},
};

CHECK_MAIN_IN_FOLDER(cases)
