/* mapping.c -- live maps: how they are made, trusted, replaced and rejected, with the reason.  Each rule of trust has a
 * case that fails without the rule. */
#include "files.h"
#include "os/clock.h"
#include "os/lock.h"

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>

static struct vs_anchor anchor;

static int open_map(struct vs_mapping *out, char *why, struct vesta_error *err) {
    memset(err, 0, sizeof *err);
    vs_process_lock();
    int rc = vs_mapping_open(&anchor, vs_clock_system(), out, why, err);
    vs_process_unlock();
    return rc;
}

static struct vs_mapping opened(void) {
    struct vs_mapping out = {.map = NULL};
    struct vesta_error err;
    char why[VS_WHY_MAX];
    if (open_map(&out, why, &err) != VESTA_OK) CHECK_FAIL("%s", err.text);
    CHECK_STR(why, "");
    return out;
}

static const char *name_of_map(void) {
    static char name[VS_MAP_NAME_MAX];
    CHECK(vs_mapping_name(&anchor.header, name) == 0);
    return name;
}

/* Creates a map from which three leases were taken, and which no process has open. */
static const char *used(void) {
    anchor = made(in_folder("made.gen"));
    struct vs_mapping map = opened();
    atomic_store(&map.map->shared.slots_used, 3);
    vs_mapping_close(&map);
    return name_of_map();
}

static void remove_map(void) {
    unlink(name_of_map());
}

/* ------------------------------------------------------------------ making */

static atomic_int *gate;
static _Atomic uint64_t *inodes;

static void open_with_others(uint64_t index) {
    struct vs_mapping out;
    struct vesta_error err;
    char why[VS_WHY_MAX];
    atomic_fetch_add(gate, 1);
    while (atomic_load(gate) < 16)
        ;
    if (open_map(&out, why, &err) == VESTA_OK && !*why)
        atomic_store(&inodes[index], out.ino);
    else
        CHECK_FAIL("%s %s", err.text, why);
}

/* Starts without a map, then with a stale one that all processes find at once. */
static void sixteen_make_one_map(void) {
    pid_t pids[16];
    gate = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    inodes = (_Atomic uint64_t *)((char *)gate + 64);
    for (int round = 0; round < 10; round++) {
        if (round % 2) {
            patch(used(), offsetof(struct vs_header, boot_id), "other", 5);
        } else {
            anchor = made(in_folder("made.gen"));
        }
        atomic_store(gate, 0);
        for (uint64_t i = 0; i < 16; i++)
            pids[i] = spawn(open_with_others, i);
        for (int i = 0; i < 16; i++)
            reap(pids[i], false);
        for (int i = 0; i < 16; i++)
            CHECK_EQ_U64(atomic_load(&inodes[i]), inode_of(name_of_map()));
        remove_map();
    }
    munmap(gate, 4096);
}

static void look_for_a_gap(uint64_t unused) {
    (void)unused;
    struct vesta_error err;
    struct vs_mapping out;
    enum vs_found found;
    for (size_t looks = 0; atomic_load(gate) == 0; looks++) {
        if (vs_mapping_attach(name_of_map(), &anchor, &found, &out, &err) != VESTA_OK || found == VS_FOUND_NONE) {
            CHECK_FAIL("after %zu reads: %s", looks, found == VS_FOUND_NONE ? "no map" : err.text);
            atomic_store(gate + 1, 100); /* the other process has read often enough */
            return;
        }
        if (found == VS_FOUND_TRUSTED) vs_mapping_close(&out);
        atomic_fetch_add(gate + 1, 1);
    }
}

static void a_stale_maps_place_is_never_empty(void) {
    const char *name = used();
    gate = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t pid = spawn(look_for_a_gap, 0);
    /* reads the map while it is replaced */
    for (int round = 0; round < 300 || atomic_load(gate + 1) < 100; round++) {
        patch(name, offsetof(struct vs_header, boot_id), "other", 5);
        struct vs_mapping out = opened();
        vs_mapping_close(&out);
    }
    atomic_store(gate, 1);
    reap(pid, false);
    munmap(gate, 4096);
    remove_map();
}

/* ------------------------------------------------------------------ which maps are trusted */

static void becomes(bool replaced) {
    uint64_t before = inode_of(name_of_map());
    int witness = open(name_of_map(), O_RDONLY); /* while the file is open, its inode number is not reused */
    struct vs_mapping out = opened();
    CHECK((inode_of(name_of_map()) != before) == replaced);
    CHECK_EQ_U64(out.ino, inode_of(name_of_map()));
    CHECK_EQ_U64(atomic_load(&out.map->shared.slots_used), replaced ? 0 : 3);
    vs_mapping_close(&out);
    close(witness);
    remove_map();
}

static void patched(size_t at, const void *bytes, size_t length) {
    patch(used(), at, bytes, length);
    becomes(true);
}

static void another_boot(void) {
    used();
    becomes(false);
    patched(offsetof(struct vs_header, boot_id), "00000000-0000-4000-8000-000000000000", 36);
}

static void another_inode(void) {
    char command[4 * VS_MAP_NAME_MAX];
    patched(offsetof(struct vs_header, dev), &(uint64_t){1}, 8);
    patched(offsetof(struct vs_header, ino), &(uint64_t){1}, 8);
    const char *name = used();
    snprintf(command, sizeof command, "cp -a %s %s.copy && mv %s.copy %s", name, name, name, name);
    CHECK(system(command) == 0); /* the copy restores an older state */
    becomes(true);
}

static void another_birth(void) {
    struct statx st;
    const char *name = used();
    CHECK(statx(AT_FDCWD, name, 0, STATX_BTIME, &st) == 0);
    if (st.stx_mask & STATX_BTIME)
        patched(offsetof(struct vs_header, born_ns), &(int64_t){12345}, 8);
    else
        printf("# skipped: birth times (this kernel's tmpfs has none)\n");
    remove_map();
}

static void another_generator(void) {
    patched(offsetof(struct vs_header, key), "0123456789abcdef", VS_KEY_BYTES);
    patched(offsetof(struct vs_header, fingerprint), &(uint64_t){1}, 8);
    patched(offsetof(struct vs_header, pacing), &(uint32_t){VESTA_PACING_HISTORY}, 4);
    patched(offsetof(struct vs_header, namespace_), "others", 7);
    patched(offsetof(struct vs_header, worker), &(uint64_t){8}, 8);
    patched(offsetof(struct vs_header, lease), "spoiled", 8);
    patched(0, VS_ANCHOR_MAGIC, sizeof VS_ANCHOR_MAGIC);
    patched(offsetof(struct vs_header, format), &(uint32_t){VS_MAP_FORMAT + 1}, 4);
}

static void a_second_name(void) {
    char other[VS_MAP_NAME_MAX + 8];
    const char *name = used();
    snprintf(other, sizeof other, "%s.link", name);
    CHECK(link(name, other) == 0);
    becomes(true);
    CHECK(unlink(other) == 0);
}

static void rights_that_others_have(void) {
    CHECK(chmod(used(), 0666) == 0);
    becomes(true);
    CHECK(chmod(used(), 0660) == 0); /* the generator did not name this group */
    becomes(true);
}

static void cut_short(void) {
    CHECK(truncate(used(), 4096) == 0);
    becomes(true);
    CHECK(truncate(used(), 0) == 0);
    becomes(true);
}

static void used_up(void) {
    const char *name = used();
    uint32_t closed = VESTA_CLOSED;
    patch(name, offsetof(struct vs_map, shared) + offsetof(struct vs_shared, stopped), &closed, sizeof closed);
    becomes(true);
}

static void uuids_ascend_into_the_next_map(void) {
    const char *name = used();
    uint32_t closed = VESTA_CLOSED;
    uint64_t span = 5;
    patch(name, offsetof(struct vs_map, shared) + offsetof(struct vs_shared, stopped), &closed, sizeof closed);
    patch(name, offsetof(struct vs_map, shared) + offsetof(struct vs_shared, uuid_span), &span, sizeof span);
    struct vs_mapping next = opened();
    CHECK_EQ_U64(atomic_load(&next.map->shared.slots_used), 0);
    CHECK_EQ_U64(atomic_load(&next.map->shared.uuid_span), 6);
    vs_mapping_close(&next);
    remove_map();
}

/* ------------------------------------------------------------------ foreign files */

/* Returns the name of a map if foreign files have the first `n` names. */
static const char *name_behind(int n) {
    static char name[VS_MAP_NAME_MAX + 16];
    snprintf(name, sizeof name, n > 0 ? "%s%c%d" : "%s", name_of_map(), VS_MAP_SUFFIX, n);
    return name;
}

static void has_name_behind(int n, const char *because) {
    struct vs_mapping probe = {.map = NULL};
    struct vesta_error err;
    enum vs_found found;
    struct vs_mapping one = opened(), two = opened();
    CHECK_STR(one.name, name_behind(n));
    CHECK(one.is_new && !two.is_new && one.ino == two.ino && vs_mapping_is_named(&one));
    CHECK(vs_mapping_has_name(&one, name_of_map()));
    CHECK(vs_mapping_attach(name_of_map(), &anchor, &found, &probe, &err) == VESTA_OK && found == VS_FOUND_TRUSTED);
    CHECK_HAS(err.text, because);
    CHECK_HAS(err.text, "remove it");
    vs_mapping_close(&probe);
    vs_mapping_close(&two);
    vs_mapping_close(&one);
    CHECK(unlink(name_behind(n)) == 0);
}

static void a_foreign_file_is_passed_over(void) {
    anchor = made(in_folder("made.gen"));
    const char *name = name_of_map();
    CHECK(mkdir(name, 0700) == 0);
    has_name_behind(1, "a directory");
    CHECK(rmdir(name) == 0 && mkfifo(name, 0600) == 0);
    has_name_behind(1, "not a regular file");
    CHECK(mkdir(name_behind(1), 0700) == 0);
    has_name_behind(2, "a directory");
    CHECK(rmdir(name_behind(1)) == 0);
    CHECK(unlink(name) == 0 && symlink("/etc/passwd", name) == 0);
    has_name_behind(1, "a symbolic link");
    CHECK(unlink(name) == 0);
}

static void is_lone(const char *because);

static void all_names_are_foreign(void) {
    anchor = made(in_folder("made.gen"));
    for (int n = 0; n < VS_MAP_NAMES; n++)
        CHECK(mkdir(name_behind(n), 0700) == 0);
    is_lone("a directory");
    for (int n = 0; n < VS_MAP_NAMES; n++)
        CHECK(rmdir(name_behind(n)) == 0);
}

static void a_foreign_file_is_removed(void) {
    anchor = made(in_folder("made.gen"));
    CHECK(mkdir(name_of_map(), 0700) == 0);
    struct vs_mapping one = opened();
    CHECK(rmdir(name_of_map()) == 0);
    struct vs_mapping two = opened();
    CHECK(!two.is_new && two.ino == one.ino);
    vs_mapping_close(&two);
    /* now it is used up, so the next map is made at the first name */
    atomic_store(&one.map->shared.stopped, VESTA_CLOSED);
    two = opened();
    CHECK(two.is_new);
    CHECK_STR(two.name, name_of_map());
    vs_mapping_close(&one);
    vs_mapping_close(&two);
    CHECK(unlink(name_behind(1)) == 0);
    remove_map();
}

static void another_users(void) {
    if (geteuid() != 0) {
        printf("# skipped: maps of other users (not root)\n");
        return;
    }
    const char *name = used();
    /* the map is complete and valid, but belongs to another user than the anchor */
    CHECK(chown(name, NOBODY, NOBODY) == 0);
    has_name_behind(1, "another user's");
    anchor.owner = NOBODY; /* now both belong to the same user */
    becomes(false);
}

static void nobody_passes_over(uint64_t unused) {
    (void)unused;
    has_name_behind(1, "closed to this user");
}

static void a_map_that_may_not_be_read(void) {
    if (geteuid() != 0) return;
    used();
    as_nobody(nobody_passes_over);
    remove_map();
}

/* ------------------------------------------------------------------ no space for a map */

static void is_lone(const char *because) {
    struct vs_mapping one;
    struct vesta_error err;
    char why[VS_WHY_MAX];
    CHECK(open_map(&one, why, &err) == VESTA_OK);
    CHECK_HAS(why, because);
    CHECK_STR(one.name, "");
    CHECK(vs_mapping_is_named(&one));
    pid_t pid = fork(); /* the map is shared with children */
    if (pid == 0) {
        atomic_store(&one.map->shared.slots_used, 9);
        _exit(0);
    }
    reap(pid, false);
    CHECK_EQ_U64(atomic_load(&one.map->shared.slots_used), 9);
    vs_mapping_close(&one);
}

static void on_a_disk(void) {
    anchor = made(in_folder("made.gen"));
    snprintf(anchor.header.maps, sizeof anchor.header.maps, "/proc");
    is_lone("not in memory (tmpfs)");
    snprintf(anchor.header.maps, sizeof anchor.header.maps, "/nowhere/at/all");
    is_lone("not in memory (tmpfs)");
}

static void in_a_full_memory(void) {
    anchor = made(in_folder("made.gen"));
    snprintf(anchor.header.maps, sizeof anchor.header.maps, "%s/small", folder);
    CHECK(mkdir(anchor.header.maps, 0700) == 0);
    if (mount("tmpfs", anchor.header.maps, "tmpfs", 0, "size=64k") != 0) {
        printf("# skipped: a full memory (no right to mount a small one: %s)\n", strerror(errno));
        return;
    }
    struct vs_mapping first = opened(); /* 64 KiB have space for one map */
    anchor.header.key[0] ^= 1;
    is_lone("No space left on device");
    vs_mapping_close(&first);
    char command[256];
    /* checks that no partial file remains */
    snprintf(command, sizeof command, "test $(ls -A %s | wc -l) = 1", anchor.header.maps);
    CHECK(system(command) == 0);
    CHECK(umount(anchor.header.maps) == 0);
}

#define GROUP 65532

static void lone_beside_a_used_up_map(uint64_t unused) {
    (void)unused;
    uint64_t inode = inode_of(name_of_map());
    is_lone(
        /* The user may write to the directory, but must not replace another user's file, because /dev/shm is sticky. */
        "Operation not permitted");
    CHECK_EQ_U64(inode_of(name_of_map()), inode);
}

static void attached(uint64_t unused) {
    (void)unused;
    struct vs_mapping one = opened();
    CHECK(!one.is_new && one.name[0] && atomic_load(&one.map->shared.slots_used) == 5);
    vs_mapping_close(&one);
}

static void used_up_by_another_member(void) {
    if (geteuid() != 0) {
        printf("# skipped: maps of other members of a group (not root)\n");
        return;
    }
    anchor = made(in_folder("made.gen"));
    anchor.header.group = GROUP;
    struct vs_mapping map = opened();
    atomic_store(&map.map->shared.stopped, VESTA_CLOSED);
    vs_mapping_close(&map);
    CHECK(chown(name_of_map(), 65533, GROUP) == 0 && chmod(name_of_map(), 0660) == 0);
    as_member(GROUP, lone_beside_a_used_up_map);
    struct vs_mapping next = opened(); /* the owner may replace it, and then all processes use that map */
    CHECK(next.is_new && next.name[0]);
    atomic_store(&next.map->shared.slots_used, 5);
    vs_mapping_close(&next);
    as_member(GROUP, attached);
    remove_map();
}

static void removed_while_open(void) {
    used();
    struct vs_mapping one = opened();
    CHECK(vs_mapping_is_named(&one));
    remove_map();
    CHECK(!vs_mapping_is_named(&one));
    struct vs_mapping two = opened();
    CHECK(one.ino != two.ino); /* there are two maps now, and their leases keep them apart */
    CHECK(vs_mapping_is_named(&two) && !vs_mapping_is_named(&one));
    vs_mapping_remove(&one); /* the name now belongs to another map, and stays */
    CHECK(vs_mapping_is_named(&two));
    vs_mapping_remove(&two);
    CHECK(access(name_of_map(), F_OK) != 0);
    vs_mapping_close(&one);
    vs_mapping_close(&two);
}

/* ------------------------------------------------------------------ time namespaces */

static void name_in_child(uint64_t unused) {
    (void)unused;
    snprintf((char *)gate, 4000, "%s", name_of_map());
}

static void another_uptime(void) {
    anchor = made(in_folder("made.gen"));
    gate = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t pid = fork();
    if (pid == 0) {
        if (unshare(0x80 /* CLONE_NEWTIME */) != 0) _exit(3);
        int fd = open("/proc/self/timens_offsets", O_WRONLY);
        if (fd < 0 || dprintf(fd, "boottime 86400 5") < 0) _exit(3);
        close(fd);
        char own[VS_MAP_NAME_MAX];
        snprintf(own, sizeof own, "%s", name_of_map());
        pid_t child = spawn(name_in_child, 0);
        reap(child, false);
        CHECK_HAS((char *)gate, "-boot86400.000000005");
        CHECK(strcmp(own, (char *)gate) != 0); /* its own uptime differs from its children's */
        _exit(atomic_load(&check_failures) ? 9 : 0);
    }
    int status = 0;
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    if (WEXITSTATUS(status) == 3)
        printf("# skipped: time namespaces (no right to make one)\n");
    else
        CHECK_EQ_I64(WEXITSTATUS(status), 0);
    CHECK(strstr(name_of_map(), "-boot") == NULL);
    munmap(gate, 4096);
}

#define GUARDED 5000

static size_t resident_pages(void) {
    size_t all = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file && fscanf(file, "%zu %zu", &all, &resident) == 2);
    fclose(file);
    return resident;
}

/* A server has thousands of maps, and `vesta gen` opens one for each id. */
static void a_guard_of_maps(void) {
    anchor = made(in_folder("made.gen"));
    struct vs_mapping map = opened();
    CHECK(vs_guard_on() == 0);
    size_t before = resident_pages();
    for (int i = 0; i < GUARDED; i++)
        vs_guard_add(&map);
    size_t each_less = (resident_pages() - before) / GUARDED;
#ifndef __SANITIZE_THREAD__ /* the thread sanitizer keeps notes of each page */
    CHECK(each_less < 3);   /* of eleven pages: the header's page, and part of the message */
#else
    (void)each_less;
#endif
    for (int i = 1; i < GUARDED; i++)
        vs_guard_remove(&map);
    CHECK(truncate(name_of_map(), 0) == 0);
    CHECK_EQ_U64(atomic_load(&map.map->shared.stopped), VESTA_FAILSTOP);
    CHECK_EQ_U64(atomic_load(&map.map->slot[VS_SLOTS_MAX - 1].tick), VS_CLOSED);
    CHECK(memcmp(map.map->header.key, anchor.header.key, VS_KEY_BYTES) == 0);
    vs_guard_remove(&map);
    signal(SIGBUS, SIG_DFL);
    vs_mapping_close(&map);
    remove_map();
}

static const struct check_case cases[] = {
    {"sixteen processes make one map, even if a stale one exists", sixteen_make_one_map},
    {"a stale map is replaced by its successor without removing the name", a_stale_maps_place_is_never_empty},
    {"a map of another boot is replaced", another_boot},
    {"a map on another inode, such as a restored one, is replaced", another_inode},
    {"a map with another time of creation is replaced", another_birth},
    {"a map of another generator is replaced", another_generator},
    {"a map with a second name is replaced", a_second_name},
    {"a map that other users may write is replaced", rights_that_others_have},
    {"a truncated map is replaced", cut_short},
    {"a map that is used up is replaced", used_up},
    {"UUIDs of the map that replaces a used-up one begin after its UUIDs", uuids_ascend_into_the_next_map},
    {"a foreign file at the name of a map is skipped", a_foreign_file_is_passed_over},
    {"if all names of a map are foreign, it is memory of one process", all_names_are_foreign},
    {"a map is found after the foreign file at its first name was removed", a_foreign_file_is_removed},
    {"a map of another user is skipped", another_users},
    {"a map that must not be read is skipped", a_map_that_may_not_be_read},
    {"without shared memory each process has a map with its children", on_a_disk},
    {"without space for a map each process has a map with its children", in_a_full_memory},
    {"a used-up map of another group member stays until its owner replaces it, and other processes use their own maps",
     used_up_by_another_member},
    {"a map that is removed while open gets a successor", removed_while_open},
    {"each time namespace has its own map", another_uptime},
    {"the replacement of a truncated map needs one page in advance, and stops the map completely", a_guard_of_maps},
};

CHECK_MAIN_IN_FOLDER(cases)
