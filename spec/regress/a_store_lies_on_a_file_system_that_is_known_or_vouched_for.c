/* A store must be on a file system that is known, by name, to keep its guarantees. Any other is rejected with its
 * number, unless the operator lists it in VESTA_FILE_SYSTEMS. File systems that two machines can write are always
 * rejected. */
#include "base/array.h"
#include "crowd.h"
#include "fs_type.h"

#include "os/clock.h"
#include "store/store.h"

static struct vesta_error err;

static int opens(const char *scheme, const char *path, unsigned long type) {
    struct vs_store *store = NULL;
    char uri[200];
    struct vs_store_opts opts = {.namespace_ = "ns", .group = -1, .clock = vs_clock_system()};
    snprintf(uri, sizeof uri, "%s:%s", scheme, path);
    fs_type = type;
    int rc = vs_store_open(uri, &opts, &store, &err);
    fs_type = 0;
    if (store) store->backend->close(store);
    return rc;
}

static const struct { const char *scheme, *path; } places[] = {{"file", "place"}, {"sqlite", "vesta.db"}};

static const struct {
    unsigned long type;
    const char *name; /* the name of a rejected file system, or NULL if it is accepted */
} known[] = {
    {0xef53, NULL},         {0x58465342, NULL},   {0x9123683e, NULL},    {0x2fc12fc1, NULL},     {0xf2f52010, NULL},
    {0x01021994, NULL},     {0x794c7630, NULL},   {0xca451a4e, NULL},    {0x6969, "NFS"},        {0xff534d42, "CIFS"},
    {0xfe534d42, "SMB"},    {0x01021997, "9p"},   {0x65735546, "FUSE"},  {0x786f4256, "vboxsf"}, {0xbacbacbc, "vmhgfs"},
    {0x0bd00bd0, "Lustre"}, {0x00c36400, "Ceph"}, {0x7461636f, "OCFS2"}, {0x01161970, "GFS2"},   {0x5346414f, "AFS"},
    {0x47504653, "GPFS"},
};

static void a_list_of_the_good(void) {
    empty_folder();
    for (size_t p = 0; p < VS_COUNT(places); p++)
        for (size_t i = 0; i < VS_COUNT(known); i++) {
            int rc = opens(places[p].scheme, in_folder(places[p].path), known[i].type);
            if (rc != (known[i].name ? VESTA_EIO : VESTA_OK))
                CHECK_FAIL("%s on 0x%lx: %d %s", places[p].scheme, known[i].type, rc, err.text);
            if (!known[i].name) continue;
            CHECK_HAS(err.text, known[i].name);
            CHECK_HAS(err.text, "must be on a local file system");
        }
}

static void one_that_nobody_knows(void) {
    empty_folder();
    for (size_t p = 0; p < VS_COUNT(places); p++) {
        const char *path = in_folder(places[p].path);
        CHECK(opens(places[p].scheme, path, 0x12345678) == VESTA_EIO);
        CHECK_HAS(err.text, "is on a file system of the unknown type 0x12345678");
        CHECK_HAS(err.text, "VESTA_FILE_SYSTEMS=0x12345678");
        setenv("VESTA_FILE_SYSTEMS", "0x7,0x12345678", 1);
        CHECK(opens(places[p].scheme, path, 0x12345678) == VESTA_OK);
        CHECK(opens(places[p].scheme, path, 0x12345679) == VESTA_EIO);
        setenv("VESTA_FILE_SYSTEMS", "0x6969", 1); /* VESTA_FILE_SYSTEMS cannot allow NFS. */
        CHECK(opens(places[p].scheme, path, 0x6969) == VESTA_EIO);
        setenv("VESTA_FILE_SYSTEMS", "0x12345678x", 1);
        CHECK(opens(places[p].scheme, path, 0x12345678) == VESTA_EIO);
        unsetenv("VESTA_FILE_SYSTEMS");
    }
}

static const struct check_case cases[] = {
    {"stores are accepted on known file systems", a_list_of_the_good},
    {"an unknown file system is rejected with its number until the operator lists it", one_that_nobody_knows},
};

CHECK_MAIN_IN_FOLDER(cases)
