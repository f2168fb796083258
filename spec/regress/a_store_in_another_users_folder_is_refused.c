/* Ownership of a store's folder: the service can continue with files that root creates in its folder, and a folder
 * that another user could have created is rejected with a message. Needs root, to act as two users. */
#include "a_store.h"
#include "crowd.h"

#include <fcntl.h>
#include <grp.h>

#define SERVICE 65534 /* an unprivileged user */

static struct vesta_error err;
static const char *scheme; /* The current scheme. The store is in <folder>/place. */

static struct vs_store *store_here(int group) {
    struct vs_store *store = NULL;
    char uri[200];
    struct vs_store_opts opts = {.namespace_ = "ns", .group = group, .clock = vs_clock_system()};
    bool is_file = strcmp(scheme, "file") == 0;
    snprintf(uri, sizeof uri, "%s:%s%s", scheme, in_folder("place"), is_file ? "" : "/vesta.db");
    err.text[0] = '\0';
    return vs_store_open(uri, &opts, &store, &err) == VESTA_OK ? store : NULL;
}

static void become_the_service(void) {
    if (setgroups(0, NULL) != 0 || setresgid(SERVICE, SERVICE, SERVICE) != 0 || setresuid(SERVICE, SERVICE, SERVICE))
        abort();
}

static void write_next(struct vs_store *store) {
    store->leases->ns_read(store, &reply);
    if (reply.outcome == VS_STORE_OK && reply.ns.ver == 0) ns_swap_of(store, 0, 5, 6);
    if (reply.outcome != VS_STORE_OK) CHECK_FAIL("%s", reply.text);
    store->leases->read(store, 7, &reply);
    struct vs_record next = {.ver = reply.record.ver + 1, .until = 10, .owner = {1, 2}};
    store->leases->swap(store, 7, reply.record.ver, &next, &reply);
    if (reply.outcome != VS_STORE_OK) CHECK_FAIL("%s", reply.text);
}

static void write_as_the_service(uint64_t unused) {
    (void)unused;
    become_the_service();
    struct vs_store *store = store_here(-1);
    NEED(store);
    write_next(store);
    store->backend->close(store);
}

static int check_owner(const char *path, const struct stat *st, int kind, struct FTW *walk) {
    (void)kind, (void)walk;
    if (st->st_uid != SERVICE || st->st_gid != SERVICE) CHECK_FAIL("%s belongs to user %u", path, (unsigned)st->st_uid);
    return 0;
}

static bool is_root(void) {
    if (geteuid() == 0) return true;
    printf("# not shown: who makes what (needs root)\n");
    return false;
}

/* Root acts first (vesta gen, vesta store advance), or after the service has begun. */
static void root_in_a_services_folder(bool is_first) {
    if (!is_root()) return;
    empty_folder();
    CHECK(mkdir(in_folder("place"), 0755) == 0 && chown(in_folder("place"), SERVICE, SERVICE) == 0);
    if (!is_first) reap(spawn(write_as_the_service, 0), false);
    struct vs_store *store = store_here(-1);
    if (!store) CHECK_FAIL("%s", err.text);
    NEED(store);
    write_next(store);
    store->backend->close(store);
    nftw(in_folder("place"), check_owner, 8, FTW_PHYS);
    reap(spawn(write_as_the_service, 0), false);
}

static void root_in_a_file_store(void) {
    scheme = "file";
    root_in_a_services_folder(true);
    root_in_a_services_folder(false);
}

static void root_in_a_database(void) {
    scheme = "sqlite";
    root_in_a_services_folder(true);
    root_in_a_services_folder(false);
}

/* ------------------------------------------------------------------ folders of other users */

static void make_as_the_service(uint64_t unused) {
    (void)unused;
    become_the_service();
    CHECK(mkdir(in_folder("place"), 0700) == 0 && mkdir(in_folder("place/ns"), 0700) == 0);
}

static void refused(const char *because) {
    struct vs_store *store = store_here(-1);
    CHECK(!store);
    if (store) store->backend->close(store);
    CHECK_HAS(err.text, because);
}

static void a_folder_that_another_slipped_in(void) {
    if (!is_root()) return;
    empty_folder();
    CHECK(chmod(folder, 01777) == 0);
    reap(spawn(make_as_the_service, 0), false);
    refused("/place belongs to user 65534, and anyone can create files in");
    CHECK(chown(in_folder("place"), 0, 0) == 0);
    struct vs_store *store = store_here(-1); /* Its files belong to root now. */
    if (!store) CHECK_FAIL("%s", err.text);
    if (store) store->backend->close(store);
}

static void a_folder_that_anyone_may_replace(void) {
    empty_folder();
    CHECK(mkdir(in_folder("place"), 0700) == 0 && chmod(folder, 0777) == 0);
    refused("anyone can replace the files in");
    CHECK(chmod(folder, 0755) == 0);
    struct vs_store *store = store_here(-1);
    if (!store) CHECK_FAIL("%s", err.text);
    NEED(store);
    write_next(store);
    store->backend->close(store);
}

static void a_folder_that_anyone_may_write(void) {
    a_folder_that_anyone_may_replace();
    CHECK(chmod(in_folder("place/ns"), 0777) == 0);
    refused("anyone can write in");
    CHECK(chmod(in_folder("place/ns"), 01777) == 0);
    refused("anyone can write in");
}

static void make_database_as_the_service(uint64_t unused) {
    (void)unused;
    become_the_service();
    int fd = open(in_folder("place/vesta.db"), O_WRONLY | O_CREAT | O_EXCL, 0666);
    CHECK(fd >= 0);
    close(fd);
}

static void a_database_that_another_slipped_in(void) {
    if (!is_root()) return;
    empty_folder();
    CHECK(mkdir(in_folder("place"), 0700) == 0 && chmod(in_folder("place"), 01777) == 0);
    reap(spawn(make_database_as_the_service, 0), false);
    refused("/vesta.db belongs to user 65534, and anyone can create files in");
    CHECK(unlink(in_folder("place/vesta.db")) == 0);
    struct vs_store *store = store_here(-1);
    if (!store) CHECK_FAIL("%s", err.text);
    if (store) store->backend->close(store);
}

/* The mode changed while the store was open. */
static void a_folder_that_anyone_may_write_by_now(void) {
    scheme = "file";
    a_folder_that_anyone_may_replace();
    struct vs_store *store = store_here(-1);
    NEED(store);
    CHECK(chmod(in_folder("place/ns"), 0777) == 0);
    store->leases->read(store, 7, &reply);
    CHECK(reply.outcome == VS_STORE_REFUSED);
    CHECK_HAS(reply.text, "anyone can write in");
    store->backend->close(store);
}

static void folders_of_others(void) {
    scheme = "file";
    a_folder_that_another_slipped_in();
    a_folder_that_anyone_may_write();
}

static void folders_of_others_for_a_database(void) {
    scheme = "sqlite";
    a_folder_that_another_slipped_in();
    a_folder_that_anyone_may_replace();
    a_database_that_another_slipped_in();
}

static const struct check_case cases[] = {
    {"files that root creates in a service's file: store belong to the service", root_in_a_file_store},
    {"files that root creates in a service's sqlite: store belong to the service", root_in_a_database},
    {"a file: store in a folder that another user may have created or may write is rejected", folders_of_others},
    {"a sqlite: store in such a folder is rejected", folders_of_others_for_a_database},
    {"a folder that becomes world-writable is rejected at the next call", a_folder_that_anyone_may_write_by_now},
};

CHECK_MAIN_IN_FOLDER(cases)
