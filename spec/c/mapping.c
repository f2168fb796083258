/* mapping.c -- generator files: who makes one, which are used, which replaced, which refused, and why. */
#include "crowd.h"
#include "fs_type.h"

#include "os/mapping.h"
#include "os/os.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/mount.h>

static struct vs_header header_of(void) {
    struct vs_header header = {.pacing = VESTA_PACING_CLOCK, .group = -1, .worker = 7, .has_worker = 1};
    struct vesta_layout layout = parsed(FAST);
    header.fingerprint = layout.fingerprint;
    vesta_layout_text(&layout, header.layout);
    snprintf(header.namespace_, sizeof header.namespace_, "default");
    return header;
}

static int make(const char *path, struct vs_mapping *out, struct vesta_error *err) {
    struct vs_header header = header_of();
    vs_process_lock();
    int rc = vs_mapping_make(path, &header, vs_clock_system(), out, err);
    vs_process_unlock();
    return rc;
}

static int attach(const char *path, enum vs_found *found, struct vesta_error *err) {
    struct vs_mapping out;
    struct vs_header stale;
    memset(err, 0, sizeof *err);
    int rc = vs_mapping_attach(path, found, &out, &stale, err);
    if (rc == VESTA_OK && *found == VS_FOUND_TRUSTED) vs_mapping_unmap(out.map);
    return rc;
}

/* A whole file of this boot, and nothing of it open. */
static const char *made(void) {
    struct vs_mapping out;
    struct vesta_error err = {.text = ""};
    const char *path = in_folder("made.gen");
    empty_folder();
    if (make(path, &out, &err) == VESTA_OK)
        vs_mapping_unmap(out.map);
    else
        CHECK_FAIL("%s", err.text);
    return path;
}

static uint64_t inode_of(const char *path) {
    struct stat st = {.st_ino = 0};
    CHECK(lstat(path, &st) == 0);
    return st.st_ino;
}

static void refuses(const char *path, const char *because) {
    struct vesta_error err;
    struct vs_mapping out;
    enum vs_found found;
    CHECK(attach(path, &found, &err) == VESTA_EIO);
    CHECK_HAS(err.text, because);
    CHECK_HAS(err.text, path);
    CHECK(make(path, &out, &err) == VESTA_EIO); /* nor is it replaced: it may be somebody's */
    CHECK_HAS(err.text, because);
}

static void patch(const char *path, size_t at, const void *bytes, size_t length) {
    int fd = open(path, O_WRONLY);
    CHECK(fd >= 0 && pwrite(fd, bytes, length, (off_t)at) == (ssize_t)length);
    close(fd);
}

/* ------------------------------------------------------------------ making */

static atomic_int *gate;
static _Atomic uint64_t *inodes;

static void make_with_others(uint64_t index) {
    struct vs_mapping out;
    struct vesta_error err = {.text = ""};
    atomic_fetch_add(gate, 1);
    while (atomic_load(gate) < 16)
        ;
    if (make(in_folder("race.gen"), &out, &err) == VESTA_OK)
        atomic_store(&inodes[index], out.ino);
    else
        CHECK_FAIL("%s", err.text);
}

static void sixteen_make_one_file(void) {
    pid_t pids[16];
    gate = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    inodes = (_Atomic uint64_t *)((char *)gate + 64);
    for (int round = 0; round < 10; round++) {
        empty_folder();
        atomic_store(gate, 0);
        for (uint64_t i = 0; i < 16; i++)
            pids[i] = spawn(make_with_others, i);
        for (int i = 0; i < 16; i++)
            reap(pids[i], false);
        for (int i = 0; i < 16; i++)
            CHECK_EQ_U64(atomic_load(&inodes[i]), inode_of(in_folder("race.gen")));
    }
    munmap(gate, 4096);
}

static void look_for_a_gap(uint64_t unused) {
    (void)unused;
    struct vesta_error err;
    enum vs_found found;
    size_t looks = 0;
    for (; atomic_load(gate) == 0; looks++)
        if (attach(in_folder("made.gen"), &found, &err) != VESTA_OK || found == VS_FOUND_NONE) {
            CHECK_FAIL("after %zu looks: %s", looks, err.text[0] ? err.text : "no file");
            return;
        }
    CHECK(looks > 100);
}

static void a_stale_files_place_is_never_empty(void) {
    const char *path = made(), other_boot[] = "00000000-0000-0000-0000-000000000000";
    struct vs_mapping out;
    struct vesta_error err;
    gate = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t pid = spawn(look_for_a_gap, 0);
    for (int round = 0; round < 300; round++) {
        patch(path, offsetof(struct vs_header, boot_id), other_boot, sizeof other_boot);
        NEED(make(path, &out, &err) == VESTA_OK);
        vs_mapping_unmap(out.map);
    }
    atomic_store(gate, 1);
    reap(pid, false);
    munmap(gate, 4096);
}

static void nothing_else_is_left_behind(void) {
    struct vs_mapping out;
    struct vesta_error err;
    const char *path = made();
    char left[200];
    CHECK(make(path, &out, &err) == VESTA_OK); /* theirs is mapped */
    CHECK_EQ_U64(out.ino, inode_of(path));
    vs_mapping_unmap(out.map);
    snprintf(left, sizeof left, "%s.new.%d", path, (int)getpid());
    CHECK(access(left, F_OK) != 0);
    CHECK(access(in_folder("made.gen.lock"), F_OK) == 0);
}

/* ------------------------------------------------------------------ what is refused */

static void foreign_files(void) {
    const char *path = made();
    CHECK(truncate(path, 0) == 0);
    refuses(path, "it is empty");
    path = made();
    CHECK(truncate(path, 100) == 0);
    refuses(path, "too short");
    path = made();
    CHECK(truncate(path, sizeof(struct vs_map) - 1) == 0);
    refuses(path, "it is truncated");
    path = made();
    patch(path, 0, "GIF89a..", 8);
    refuses(path, "it is not a generator file");
    path = made();
    patch(path, offsetof(struct vs_header, format), &(uint32_t){VS_MAP_FORMAT + 1}, 4);
    refuses(path, "a newer vesta made it");
    path = made();
    patch(path, offsetof(struct vs_header, size), &(uint64_t){sizeof(struct vs_map) + 4096}, 8);
    refuses(path, "in another file format");
    path = made();
    patch(path, offsetof(struct vs_header, pacing), &(uint32_t){9}, 4);
    refuses(path, "its header is damaged");
    path = made();
    char wall[VESTA_LAYOUT_TEXT_MAX];
    memset(wall, 'x', sizeof wall);
    patch(path, offsetof(struct vs_header, layout), wall, sizeof wall);
    refuses(path, "its header is damaged");
}

static void things_that_are_no_files(void) {
    empty_folder();
    const char *path = in_folder("thing.gen");
    CHECK(mkdir(path, 0700) == 0);
    refuses(path, "Is a directory");
    CHECK(rmdir(path) == 0 && mkfifo(path, 0600) == 0);
    refuses(path, "is not a regular file");
    CHECK(unlink(path) == 0 && symlink("/etc/passwd", path) == 0);
    refuses(path, "is a symbolic link");
    CHECK(unlink(path) == 0 && symlink("nowhere", path) == 0);
    refuses(path, "is a symbolic link");
    CHECK(unlink(path) == 0);
}

/* As nobody, in a child: root is refused nothing. */
static void as_nobody(void (*run)(uint64_t)) {
    pid_t pid = fork();
    if (pid == 0) {
        atomic_store(&check_failures, 0);
        if (setgroups(0, NULL) == 0 && setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0)
            run(0);
        else if (geteuid() == 0)
            CHECK_FAIL("cannot become nobody");
        if (atomic_load(&check_failures)) fprintf(stderr, "%s\n", check_first);
        _exit(atomic_load(&check_failures) ? 9 : 0);
    }
    reap(pid, false);
}

static void unreadable(uint64_t unused) {
    (void)unused;
    refuses(in_folder("made.gen"), "Permission denied");
}

static void no_right_to_make(uint64_t unused) {
    struct vs_mapping out;
    struct vesta_error err;
    (void)unused;
    CHECK(make(in_folder("theirs.gen"), &out, &err) == VESTA_EIO);
    CHECK_HAS(err.text, "theirs.gen");
    CHECK_HAS(err.text, "Permission denied");
}

static void rights(void) {
    const char *path = made();
    CHECK(chmod(folder, 0755) == 0 && chmod(path, 0600) == 0);
    as_nobody(unreadable);
    as_nobody(no_right_to_make);
}

static void a_full_disk(void) {
    struct vs_mapping out;
    struct vesta_error err;
    empty_folder();
    const char *disk = in_folder("disk"), *path = in_folder("disk/small.gen");
    CHECK(mkdir(disk, 0755) == 0);
    if (mount("tmpfs", disk, "tmpfs", 0, "size=64k") != 0) {
        printf("# not shown: a full disk (no right to mount a small one: %s)\n", strerror(errno));
        return;
    }
    CHECK(make(path, &out, &err) == VESTA_EIO);
    CHECK_HAS(err.text, "make room for");
    CHECK_HAS(err.text, "No space left on device");
    CHECK(access(path, F_OK) != 0); /* and nothing half-made has its name */
    CHECK(umount(disk) == 0);
}

/* ------------------------------------------------------------------ file systems */

static void file_systems_of_the_network(void) {
    static const struct {
        unsigned long type;
        const char *name;
    } refused[] = {
        {0x6969, "NFS"}, {0xff534d42, "CIFS"}, {0xfe534d42, "SMB"}, {0x01021997, "9p"}, {0x65735546, "FUSE"}};
    for (size_t i = 0; i < VS_COUNT(refused); i++) {
        const char *path = made();
        fs_type = refused[i].type;
        refuses(path, refused[i].name);
        struct vs_mapping out;
        struct vesta_error err;
        CHECK(make(in_folder("fresh.gen"), &out, &err) == VESTA_EIO);
        CHECK_HAS(err.text, refused[i].name);
        CHECK(access(in_folder("fresh.gen"), F_OK) != 0);
        fs_type = 0;
    }
    static const unsigned long local[] = {0xef53 /* ext4 */, 0x01021994 /* tmpfs */, 0x58465342 /* xfs */,
                                          0x9123683e /* btrfs */};
    for (size_t i = 0; i < VS_COUNT(local); i++) {
        struct vesta_error err;
        enum vs_found found;
        const char *path = made();
        fs_type = local[i];
        CHECK(attach(path, &found, &err) == VESTA_OK && found == VS_FOUND_TRUSTED);
        fs_type = 0;
    }
}

/* ------------------------------------------------------------------ what is replaced, and what never */

static void becomes(const char *path, bool replaced) {
    struct vs_mapping out;
    struct vesta_error err = {.text = ""};
    enum vs_found found;
    uint64_t before = inode_of(path);
    int witness = open(path, O_RDONLY); /* while it is open, its inode's number is not used again */
    CHECK(attach(path, &found, &err) == VESTA_OK);
    CHECK_EQ_I64(found, replaced ? VS_FOUND_STALE : VS_FOUND_TRUSTED);
    CHECK(make(path, &out, &err) == VESTA_OK);
    CHECK_STR(err.text, "");
    CHECK((inode_of(path) != before) == replaced);
    CHECK_EQ_U64(out.ino, inode_of(path));
    CHECK_EQ_U64(atomic_load(&out.map->shared.slots_used), replaced ? 0 : 3);
    vs_mapping_unmap(out.map);
    close(witness);
}

/* A file with a past: three leases were taken from it. */
static const char *used(void) {
    const char *path = made();
    patch(path, offsetof(struct vs_map, shared) + offsetof(struct vs_shared, slots_used), &(uint32_t){3}, 4);
    return path;
}

static void copies_and_other_boots(void) {
    char command[400];
    char other[160];
    const char *path = used();
    snprintf(other, sizeof other, "%s", in_folder("copy.gen"));
    becomes(path, false);
    snprintf(command, sizeof command, "cp -a %s %s", path, other);
    CHECK(system(command) == 0);
    becomes(other, true);
    becomes(path, false); /* the original is untouched */
    path = used();
    patch(path, offsetof(struct vs_header, boot_id), "00000000-0000-4000-8000-000000000000", 36);
    becomes(path, true);
    path = used();
    patch(path, offsetof(struct vs_header, dev), &(uint64_t){1}, 8);
    becomes(path, true);
    path = used();
    int64_t born = 12345;
    patch(path, offsetof(struct vs_header, born_ns), &born, 8);
    becomes(path, true);
    path = used();
    snprintf(command, sizeof command, "mv %s %s", path, other); /* moved, it is the same file */
    CHECK(system(command) == 0);
    becomes(other, false);
}

static void deleted_while_open(void) {
    struct vs_mapping one, two;
    struct vesta_error err;
    empty_folder();
    const char *path = in_folder("gone.gen");
    CHECK(make(path, &one, &err) == VESTA_OK);
    CHECK(unlink(path) == 0);
    CHECK(make(path, &two, &err) == VESTA_OK);
    CHECK(one.ino != two.ino); /* two generators now: their leases keep them apart */
    atomic_store(&one.map->shared.want, 5);
    CHECK_EQ_U64(atomic_load(&two.map->shared.want), 0);
    vs_mapping_unmap(one.map);
    vs_mapping_unmap(two.map);
}

static void put_aside(void) {
    struct vs_mapping out;
    struct vesta_error err;
    empty_folder();
    const char *path = in_folder("full.gen");
    CHECK(make(path, &out, &err) == VESTA_OK);
    vs_process_lock();
    CHECK(vs_mapping_retire(path, out.dev, out.ino + 1, &err) == VESTA_OK); /* another's file: left alone */
    CHECK_EQ_U64(inode_of(path), out.ino);
    CHECK(vs_mapping_retire(path, out.dev, out.ino, &err) == VESTA_OK);
    CHECK(access(path, F_OK) != 0);
    CHECK(vs_mapping_retire(path, out.dev, out.ino, &err) == VESTA_OK); /* twice is once */
    vs_process_unlock();
    CHECK_EQ_U64(inode_of(in_folder("full.gen.retired")), out.ino);
    vs_mapping_unmap(out.map);
}

static const struct check_case cases[] = {
    {"a stale file gives its place to its successor without a moment in which the name is free",
     a_stale_files_place_is_never_empty},
    {"sixteen processes make one file", sixteen_make_one_file},
    {"nothing else is left behind", nothing_else_is_left_behind},
    {"empty, short, truncated, foreign, newer, other and damaged files are refused", foreign_files},
    {"directories, pipes and symbolic links are refused", things_that_are_no_files},
    {"no right to read, none to make", rights},
    {"a full disk is an error, not a signal later", a_full_disk},
    {"file systems of the network are refused", file_systems_of_the_network},
    {"copies and files of another boot are replaced, files of this boot never", copies_and_other_boots},
    {"a file deleted while open has a successor of its own", deleted_while_open},
    {"only the used-up file itself is put aside", put_aside},
};

CHECK_MAIN_IN_FOLDER(cases)
