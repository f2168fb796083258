/* Two copies of the library in one process, for example from two plugins, count up in one file: store. A lock that
 * belongs to the process does not exclude the other copy. */
#include "crowd.h"

#include "os/clock.h"
#include "store/store.h"

#include <dlfcn.h>

#define EACH 400

static struct vs_store *open_by(const struct vs_backend *backend) {
    struct vs_store *store = NULL;
    struct vesta_error err = {.text = ""};
    char uri[200];
    struct vs_store_opts opts = {.namespace_ = "ns", .group = -1, .clock = vs_clock_system()};
    snprintf(uri, sizeof uri, "file:%s", folder);
    if (backend->open(uri, &opts, &store, &err) != VESTA_OK) CHECK_FAIL("%s", err.text);
    return store;
}

static const struct vs_backend *the_copy(void) {
    void *module = dlopen(STORE_COPY, RTLD_NOW | RTLD_LOCAL);
    if (!module) CHECK_FAIL("%s", dlerror());
    const struct vs_backend *(*get)(void);
    *(void **)&get = module ? dlsym(module, "copied_file_store") : NULL;
    return get ? get() : NULL;
}

static void count_up(struct vs_store *store, struct vs_reply *reply) {
    for (int done = 0; done < EACH && atomic_load(&check_failures) == 0;) {
        store->leases->read(store, 7, reply);
        CHECK(reply->outcome == VS_STORE_OK);
        struct vs_record next = {.ver = reply->record.ver + 1, .until = reply->record.until + 1, .owner = {1, 2}};
        store->leases->swap(store, 7, reply->record.ver, &next, reply);
        CHECK(reply->outcome == VS_STORE_OK || reply->outcome == VS_STORE_CONFLICT);
        done += reply->outcome == VS_STORE_OK;
    }
}

static void *count_up_in_thread(void *backend) {
    struct vs_reply reply;
    struct vs_store *store = open_by(backend);
    count_up(store, &reply);
    store->backend->close(store);
    return NULL;
}

static void no_update_is_lost(void) {
    struct vs_ns_record ns = {.ver = 1, .fingerprint = 5, .incarnation = 6};
    struct vs_reply reply;
    pthread_t threads[2];
    const struct vs_backend *backends[2] = {&vs_store_file, the_copy()};
    NEED(backends[1] && backends[1] != backends[0]);
    empty_folder();
    struct vs_store *store = open_by(backends[0]);
    store->leases->ns_swap(store, 0, &ns, &reply);
    CHECK(reply.outcome == VS_STORE_OK);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&threads[i], NULL, count_up_in_thread, (void *)backends[i]) == 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    store->leases->read(store, 7, &reply);
    CHECK(reply.outcome == VS_STORE_OK);
    CHECK_EQ_U64(reply.record.until, 2 * EACH);
    store->backend->close(store);
}

static const struct check_case cases[] = {
    {"two copies of the library in one process count up in one file: store without losing an "
     "update", no_update_is_lost},
};

CHECK_MAIN_IN_FOLDER(cases)
