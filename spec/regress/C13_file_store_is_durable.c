/* A disk that loses what was not synced: it keeps of a file what fsync(file) has written, and of a folder the names
 * that fsync(folder) has, and beside that any part of what came later.  The power is cut before and behind each call
 * that changes something; what was acknowledged must be there, whole.  That the disk would show a missing fsync is
 * shown, too: by disks that forget those of files, or those of folders. */
#include "crowd.h"

#include "os/os.h"
#include "store/store.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>

/* ------------------------------------------------------------------ what the disk has */

#define FILES_MAX 4096
#define NAMES_MAX 64

struct kept_file {
    ino_t ino;
    size_t length;
    char text[VS_RECORD_TEXT_MAX];
};

struct kept_folder {
    ino_t ino;
    size_t names;
    struct {
        char name[256];
        ino_t ino;
        bool is_folder;
    } name[NAMES_MAX];
};

static struct kept_file kept_file[FILES_MAX];
static struct kept_folder kept_folder[8];
static size_t kept_files, kept_folders;
static bool is_off = true, forgets_files, forgets_folders; /* off: what the spec itself does */
static void cut(void);

static struct kept_file *file_kept(ino_t ino) {
    for (size_t i = 0; i < kept_files; i++)
        if (kept_file[i].ino == ino) return &kept_file[i];
    return NULL;
}

static struct kept_folder *folder_kept(ino_t ino) {
    for (size_t i = 0; i < kept_folders; i++)
        if (kept_folder[i].ino == ino) return &kept_folder[i];
    return NULL;
}

static void keep_file(int fd, const struct stat *st) {
    struct kept_file *file = file_kept(st->st_ino);
    char path[64];
    if (!file && kept_files == FILES_MAX) abort();
    if (!file) file = &kept_file[kept_files++];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int again = open(path, O_RDONLY);
    ssize_t got = read(again, file->text, sizeof file->text);
    close(again);
    if (got < 0) abort();
    file->ino = st->st_ino;
    file->length = (size_t)got;
}

static void list_into(const char *path, struct kept_folder *to) {
    DIR *dir = opendir(path);
    struct dirent *entry;
    to->names = 0;
    while (dir && (entry = readdir(dir))) {
        if (entry->d_name[0] == '.') continue;
        if (to->names == NAMES_MAX) abort();
        snprintf(to->name[to->names].name, sizeof to->name[0].name, "%s", entry->d_name);
        to->name[to->names].ino = entry->d_ino;
        to->name[to->names++].is_folder = entry->d_type == DT_DIR;
    }
    if (dir) closedir(dir);
}

static void keep_folder(int fd, const struct stat *st) {
    struct kept_folder *kept = folder_kept(st->st_ino);
    char path[64];
    if (!kept && kept_folders == VS_COUNT(kept_folder)) abort();
    if (!kept) kept = &kept_folder[kept_folders++];
    kept->ino = st->st_ino;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    list_into(path, kept);
}

/* ------------------------------------------------------------------ the calls */

int __real_fsync(int fd);
int __real_renameat(int from_fd, const char *from, int to_fd, const char *to);
int __real_unlinkat(int fd, const char *path, int flags);
int __real_mkdir(const char *path, mode_t mode);
int __real_openat(int fd, const char *path, int flags, ...);
int __wrap_fsync(int fd);
int __wrap_renameat(int from_fd, const char *from, int to_fd, const char *to);
int __wrap_unlinkat(int fd, const char *path, int flags);
int __wrap_mkdir(const char *path, mode_t mode);
int __wrap_openat(int fd, const char *path, int flags, ...);

int __wrap_fsync(int fd) {
    struct stat st;
    if (is_off) return 0;
    if (fstat(fd, &st) != 0) return -1;
    cut();
    if (S_ISDIR(st.st_mode) && !forgets_folders) keep_folder(fd, &st);
    if (S_ISREG(st.st_mode) && !forgets_files) keep_file(fd, &st);
    cut();
    return 0;
}

int __wrap_renameat(int from_fd, const char *from, int to_fd, const char *to) {
    cut();
    int rc = __real_renameat(from_fd, from, to_fd, to);
    cut();
    return rc;
}

int __wrap_unlinkat(int fd, const char *path, int flags) {
    cut();
    int rc = __real_unlinkat(fd, path, flags);
    cut();
    return rc;
}

int __wrap_mkdir(const char *path, mode_t mode) {
    cut();
    int rc = __real_mkdir(path, mode);
    cut();
    return rc;
}

int __wrap_openat(int fd, const char *path, int flags, ...) {
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    int opened = __real_openat(fd, path, flags, mode);
    struct stat st;
    struct kept_file *old;
    /* a number that was given out again names a new file, of which nothing is kept */
    if (!is_off && opened >= 0 && flags & O_EXCL && fstat(opened, &st) == 0 && (old = file_kept(st.st_ino)))
        old->length = 0;
    if (flags & O_CREAT) cut();
    return opened;
}

/* ------------------------------------------------------------------ a power cut */

static uint64_t dice;
static char place[160], found[160]; /* of the store, and of what the disk has of it */
static uint64_t acked_until, acked_ns;
static size_t cuts, losses;

static void write_kept(const char *path, const struct kept_file *file) {
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    size_t length = file ? file->length : 0;
    if (fd < 0 || write(fd, file ? file->text : "", length) != (ssize_t)length) abort();
    close(fd);
}

/* The folder's names: each as it was synced, or as it is by now. */
static void mix(struct kept_folder *out, const struct kept_folder *synced, const struct kept_folder *now) {
    *out = *synced;
    for (size_t i = 0; i < now->names; i++) {
        if (roll_below(&dice, 2)) continue;
        size_t at = 0;
        while (at < out->names && strcmp(out->name[at].name, now->name[i].name) != 0)
            at++;
        if (at == NAMES_MAX) abort();
        if (at == out->names) out->names++;
        out->name[at] = now->name[i];
    }
}

static void rebuild(const char *from, ino_t ino, const char *to, bool mixes) {
    static const struct kept_folder nothing;
    struct kept_folder now, names;
    char below_from[600], below_to[600];
    const struct kept_folder *synced = folder_kept(ino);
    if (!synced) synced = &nothing;
    list_into(from, &now);
    names = *synced;
    if (mixes) mix(&names, synced, &now);
    if (__real_mkdir(to, 0700) != 0) abort();
    for (size_t i = 0; i < names.names; i++) {
        snprintf(below_from, sizeof below_from, "%s/%s", from, names.name[i].name);
        snprintf(below_to, sizeof below_to, "%s/%s", to, names.name[i].name);
        if (names.name[i].is_folder)
            rebuild(below_from, names.name[i].ino, below_to, mixes);
        else
            write_kept(below_to, file_kept(names.name[i].ino));
    }
}

static struct vs_store *store_in(const char *dir) {
    struct vs_store *store = NULL;
    struct vesta_error err = {.text = ""};
    char uri[200];
    struct vs_store_opts opts = {.namespace_ = "ns", .group = -1, .clock = vs_clock_system()};
    snprintf(uri, sizeof uri, "file:%s", dir);
    if (vs_store_open(uri, &opts, &store, &err) != VESTA_OK) CHECK_FAIL("%s", err.text);
    return store;
}

static void look_what_is_found(bool mixes) {
    struct stat st;
    struct vs_reply reply;
    nftw(found, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    if (stat(place, &st) != 0) abort();
    rebuild(place, st.st_ino, found, mixes);
    char below[200];
    snprintf(below, sizeof below, "%s/deep", found);
    struct vs_store *store = store_in(below);
    store->ops->ns_read(store, &reply);
    bool lost = reply.outcome != VS_STORE_OK || reply.ns.ver < acked_ns;
    store->ops->read(store, 7, &reply);
    lost = lost || reply.outcome != VS_STORE_OK || reply.record.until < acked_until;
    store->ops->close(store);
    losses += lost;
    cuts++;
}

static void cut(void) {
    int kept_errno = errno;
    if (is_off) return;
    is_off = true;
    look_what_is_found(false);
    for (int i = 0; i < 4; i++)
        look_what_is_found(true);
    is_off = false;
    errno = kept_errno;
}

/* ------------------------------------------------------------------ a store at work */

#define WRITES 12

static void work(void) {
    struct vs_reply reply;
    char below[200];
    snprintf(below, sizeof below, "%s/deep", place);
    struct vs_store *store = store_in(below);
    NEED(store);
    struct vs_ns_record ns = {.ver = 1, .fingerprint = 5, .incarnation = 6};
    store->ops->ns_swap(store, 0, &ns, &reply);
    CHECK(reply.outcome == VS_STORE_OK);
    acked_ns = 1;
    for (uint64_t i = 0; i < WRITES; i++) {
        cut();
        struct vs_record next = {.ver = i + 1, .until = 100 * (i + 1), .owner = {1, 2}, .held = true};
        store->ops->swap(store, 7, i, &next, &reply);
        CHECK(reply.outcome == VS_STORE_OK);
        acked_until = next.until;
        cut();
    }
    store->ops->close(store);
}

static void run_disk(bool no_files, bool no_folders) {
    empty_folder();
    kept_files = kept_folders = cuts = losses = 0;
    acked_until = acked_ns = 0;
    dice = 7;
    snprintf(place, sizeof place, "%s", in_folder("place"));
    snprintf(found, sizeof found, "%s", in_folder("found"));
    CHECK(__real_mkdir(place, 0700) == 0);
    forgets_files = no_files;
    forgets_folders = no_folders;
    is_off = false;
    work();
    is_off = true;
    CHECK(cuts > WRITES * 5 * 6);
}

static void what_is_acknowledged_is_there(void) {
    run_disk(false, false);
    CHECK_EQ_U64(losses, 0);
}

static void a_missing_sync_of_files_is_seen(void) {
    run_disk(true, false);
    CHECK(losses > 0);
}

static void a_missing_sync_of_folders_is_seen(void) {
    run_disk(false, true);
    CHECK(losses > 0);
}

static const struct check_case cases[] = {
    {"what a file: store acknowledged is there after a power cut at any call", what_is_acknowledged_is_there},
    {"a file: store that did not sync its files would be seen", a_missing_sync_of_files_is_seen},
    {"a file: store that did not sync its folders would be seen", a_missing_sync_of_folders_is_seen},
};

CHECK_MAIN_IN_FOLDER(cases)
