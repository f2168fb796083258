/* anchor.c -- generator files: how they are made, and which files are used or rejected. */
#include "base/array.h"
#include "files.h"
#include "fs_type.h"

#include <sys/mount.h>

/* ------------------------------------------------------------------ making */

static atomic_int *gate;
static unsigned char (*keys)[VS_KEY_BYTES];

static void make_with_others(uint64_t index) {
    struct vs_anchor out;
    struct vesta_error err = {.text = ""};
    atomic_fetch_add(gate, 1);
    while (atomic_load(gate) < 16)
        ;
    if (make(in_folder("race.gen"), &out, &err) == VESTA_OK)
        memcpy(keys[index], out.header.key, VS_KEY_BYTES);
    else
        CHECK_FAIL("%s", err.text);
}

static size_t count_entries(const char *path) {
    char command[200], text[32] = "";
    snprintf(command, sizeof command, "ls -A %s | wc -l", path);
    FILE *pipe = popen(command, "r");
    CHECK(pipe && fgets(text, sizeof text, pipe));
    if (pipe) pclose(pipe);
    return (size_t)atoi(text);
}

static void sixteen_make_one_file(void) {
    pid_t pids[16];
    gate = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    keys = (void *)((char *)gate + 64);
    for (int round = 0; round < 10; round++) {
        empty_folder();
        atomic_store(gate, 0);
        for (uint64_t i = 0; i < 16; i++)
            pids[i] = spawn(make_with_others, i);
        for (int i = 0; i < 16; i++)
            reap(pids[i], false);
        for (int i = 1; i < 16; i++)
            CHECK(memcmp(keys[0], keys[i], VS_KEY_BYTES) == 0);
        CHECK_EQ_U64(count_entries(folder), 1);
    }
    munmap(gate, 4096);
}

static void each_has_a_key_of_its_own(void) {
    struct vs_anchor a = made(in_folder("a.gen")), b = made(in_folder("b.gen"));
    CHECK(memcmp(a.header.key, b.header.key, VS_KEY_BYTES) != 0);
}

/* ------------------------------------------------------------------ rejected files */

static void foreign_files(void) {
    const char *path = in_folder("made.gen");
    made(path);
    CHECK(truncate(path, 0) == 0);
    refuses(path, "it is empty");
    made(path);
    CHECK(truncate(path, 100) == 0);
    refuses(path, "too short");
    made(path);
    CHECK(truncate(path, sizeof(struct vs_header) - 1) == 0);
    refuses(path, "too short");
    made(path);
    patch(path, 0, "GIF89a..", 8);
    refuses(path, "it is not a generator file");
    made(path);
    patch(path, 0, VS_MAP_MAGIC, sizeof VS_MAP_MAGIC); /* a map is not a generator file */
    refuses(path, "it is not a generator file");
    made(path);
    patch(path, offsetof(struct vs_header, format), &(uint32_t){VS_ANCHOR_FORMAT + 1}, 4);
    refuses(path, "a newer vesta made it");
    made(path);
    patch(path, offsetof(struct vs_header, format), &(uint32_t){2}, 4);
    refuses(path, "in another file format");
    made(path);
    patch(path, offsetof(struct vs_header, pacing), &(uint32_t){9}, 4);
    refuses(path, "its header is damaged");
    made(path);
    patch(path, offsetof(struct vs_header, maps), "somewhere", 10);
    refuses(path, "its header is damaged");
    char wall[VESTA_LAYOUT_TEXT_MAX];
    memset(wall, 'x', sizeof wall);
    made(path);
    patch(path, offsetof(struct vs_header, layout), wall, sizeof wall);
    refuses(path, "its header is damaged");
}

static void other_kinds_of_files(void) {
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

static void unreadable(uint64_t unused) {
    (void)unused;
    refuses(in_folder("made.gen"), "Permission denied");
}

static void no_right_to_make(uint64_t unused) {
    struct vs_anchor out;
    struct vesta_error err;
    (void)unused;
    CHECK(make(in_folder("theirs.gen"), &out, &err) == VESTA_EIO);
    CHECK_HAS(err.text, "theirs.gen");
    CHECK_HAS(err.text, "Permission denied");
}

static void rights(void) {
    made(in_folder("made.gen"));
    CHECK(chmod(folder, 0755) == 0);
    as_nobody(unreadable);
    as_nobody(no_right_to_make);
}

static void a_full_disk(void) {
    struct vs_anchor out;
    struct vesta_error err;
    empty_folder();
    const char *disk = in_folder("disk"), *path = in_folder("disk/small.gen");
    CHECK(mkdir(disk, 0755) == 0);
    if (mount("tmpfs", disk, "tmpfs", 0, "size=4k") != 0) {
        printf("# skipped: a full disk (no right to mount a small one: %s)\n", strerror(errno));
        return;
    }
    int fd = open(in_folder("disk/all"), O_WRONLY | O_CREAT, 0600);
    CHECK(fd >= 0 && posix_fallocate(fd, 0, 4096) == 0);
    close(fd);
    CHECK(make(path, &out, &err) == VESTA_EIO);
    CHECK_HAS(err.text, "No space left on device");
    CHECK(access(path, F_OK) != 0); /* no partial file remains under the name */
    CHECK_EQ_U64(count_entries(disk), 1);
    CHECK(umount(disk) == 0);
}

static void file_systems_of_the_network(void) {
    static const struct {
        unsigned long type;
        const char *name;
    } refused[] = {
        {0x6969, "NFS"}, {0xff534d42, "CIFS"}, {0xfe534d42, "SMB"}, {0x01021997, "9p"}, {0x65735546, "FUSE"}};
    char path[160];
    snprintf(path, sizeof path, "%s", in_folder("made.gen"));
    for (size_t i = 0; i < VS_COUNT(refused); i++) {
        made(path);
        fs_type = refused[i].type;
        refuses(path, refused[i].name);
        struct vs_anchor out;
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
        made(path);
        fs_type = local[i];
        CHECK(look_at(path, &err) == VESTA_OK);
        fs_type = 0;
    }
}

/* ------------------------------------------------------------------ owners and groups */

/* Combinations of owners: root (0), another user (1), and a caller that is root or that user. */
static void owners(void) {
    struct vesta_error err;
    const char *path = in_folder("made.gen");
    if (geteuid() != 0) {
        printf("# skipped: files of other users (not root)\n");
        return;
    }
    made(path); /* Rejected although root owns the folder: its owner could change the file at any time. */
    CHECK(chown(path, NOBODY, NOBODY) == 0);
    refuses(path, "belongs to user 65534");
    CHECK(chown(folder, NOBODY, NOBODY) == 0); /* another user's folder, used by root */
    CHECK(look_at(path, &err) == VESTA_OK);
    CHECK(chmod(folder, 01777) == 0); /* the folder's owner could replace any file in it */
    CHECK(look_at(path, &err) == VESTA_EIO);
    CHECK_HAS(err.text, "is writable by everyone and belongs to user 65534");
    CHECK(chown(folder, 0, 0) == 0);
    refuses(path, "belongs to user 65534");
    CHECK(chown(path, 0, 0) == 0);
    CHECK(look_at(path, &err) == VESTA_OK); /* root's own file in such a folder */
    CHECK(chmod(folder, 0777) == 0);
    CHECK(look_at(path, &err) == VESTA_EIO);
    CHECK_HAS(err.text, "could replace this file");
    CHECK(chmod(folder, 0755) == 0);
    CHECK(chmod(path, 0666) == 0);
    refuses(path, "chmod o-w");
}

static void groups(void) {
    struct vs_anchor out;
    struct vesta_error err;
    bool found;
    const char *path = in_folder("made.gen");
    if (geteuid() != 0) return;
    made(path);
    CHECK(chown(path, NOBODY, 4) == 0 && chmod(path, 0660) == 0);
    refuses(path, "belongs to user 65534");
    CHECK(vs_anchor_read(path, 4, &found, &out, &err) == VESTA_OK && found); /* the caller named the group */
    CHECK(vs_anchor_read(path, 5, &found, &out, &err) == VESTA_EIO);
    CHECK(chown(folder, 0, 4) == 0 && chmod(folder, 0770) == 0); /* the group shares the folder */
    CHECK(look_at(path, &err) == VESTA_OK);
    CHECK(chown(folder, 0, 5) == 0);
    refuses(path, "belongs to user 65534");
}

static void files_that_root_makes_for_a_service(void) {
    struct vs_anchor out;
    struct vesta_error err;
    struct stat st;
    if (geteuid() != 0) return;
    empty_folder();
    CHECK(chown(folder, NOBODY, NOBODY) == 0);
    CHECK(make(in_folder("made.gen"), &out, &err) == VESTA_OK);
    CHECK(stat(in_folder("made.gen"), &st) == 0);
    CHECK_EQ_U64(st.st_uid, NOBODY);
    CHECK_EQ_U64(out.owner, NOBODY);
    CHECK_EQ_U64(st.st_mode & 07777, 0600);
    out.header.incarnation = 77;
    CHECK(vs_anchor_note(in_folder("made.gen"), &out));
    CHECK(stat(in_folder("made.gen"), &st) == 0 && st.st_uid == NOBODY);
}

/* ------------------------------------------------------------------ later notes */

static void notes(void) {
    const char *path = in_folder("made.gen");
    struct vs_anchor was = made(path), now, other;
    struct vesta_error err;
    bool found;
    was.header.incarnation = 99;
    snprintf(was.header.store, sizeof was.header.store, "file:/elsewhere");
    CHECK(vs_anchor_note(path, &was));
    CHECK(vs_anchor_read(path, -1, &found, &now, &err) == VESTA_OK);
    CHECK_EQ_U64(now.header.incarnation, 99);
    CHECK_STR(now.header.store, "file:/elsewhere");
    CHECK(memcmp(now.header.key, was.header.key, VS_KEY_BYTES) == 0);
    CHECK(unlink(path) == 0 && make(path, &other, &err) == VESTA_OK); /* now another generator has the path */
    CHECK(!vs_anchor_note(path, &was));
    CHECK(vs_anchor_read(path, -1, &found, &now, &err) == VESTA_OK && now.header.incarnation == 0);
    CHECK(unlink(path) == 0);
    CHECK(!vs_anchor_note(path, &was));
    CHECK_EQ_U64(count_entries(folder), 0);
}

static const struct check_case cases[] = {
    {"sixteen processes make one file, and leave no other file", sixteen_make_one_file},
    {"each file has a key of its own", each_has_a_key_of_its_own},
    {"empty, short, foreign, newer, older and damaged files are rejected", foreign_files},
    {"directories, pipes and symbolic links are rejected", other_kinds_of_files},
    {"errors without permission to read or to make a file", rights},
    {"a full disk is an error that leaves no file", a_full_disk},
    {"network file systems are rejected", file_systems_of_the_network},
    {"a file is used if it belongs to the caller, root or the folder's owner", owners},
    {"a group's file is used if the group was named or shares the folder", groups},
    {"files that root makes in a service's folder belong to the service", files_that_root_makes_for_a_service},
    {"the store that granted leases is recorded in this file only", notes},
};

CHECK_MAIN_IN_FOLDER(cases)
