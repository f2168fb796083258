/* many.c -- one process with generators in very many namespaces.  The stores of some accept connections and never
 * reply.  All others must get ids.  VESTA_MANY and VESTA_MANY_AWAY are the numbers.  The costs are printed. */
#include "crowd.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>

#define MANY_MAX 20000

static struct vesta_gen *gens[MANY_MAX];

static int number_from(const char *name, int otherwise) {
    const char *text = getenv(name);
    return text ? atoi(text) : otherwise;
}

static int64_t used_us(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * INT64_C(1000000) + usage.ru_utime.tv_usec +
           usage.ru_stime.tv_usec;
}

static long status_of(const char *what) {
    char line[256];
    long value = -1;
    FILE *file = fopen("/proc/self/status", "re");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, what, strlen(what)) == 0) value = atol(line + strlen(what));
    if (file) fclose(file);
    return value;
}

/* Accepts connections and never replies. */
static int listen_dumb(int *port) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof at) == 0 && listen(fd, 1000) == 0);
    CHECK(getsockname(fd, (struct sockaddr *)&at, &size) == 0);
    *port = ntohs(at.sin_port);
    return fd;
}

static void path_of(int i, char path[300]) {
    snprintf(path, 300, "%s/n%d.gen", in_folder("."), i);
}

static struct vesta_gen *open_one(int i, const char *store) {
    char path[300], name[32];
    path_of(i, path);
    snprintf(name, sizeof name, "n%d", i);
    return must_open(
        (struct vesta_opts){.layout = FAST, .path = path, .namespace_ = name, .store = store, .any_worker = 1});
}

/* Removes the map of a removed file, so that it does not wait for a sweep. */
static void close_for_good(int i) {
    char path[300];
    path_of(i, path);
    CHECK(unlink(path) == 0);
    vesta_close(gens[i]);
}

static bool has_id(struct vesta_gen *gen) {
    struct vesta_pause pause;
    uint64_t id;
    return vesta_next_wait(gen, &id, CHECK_PATIENCE_MS * 1000, &pause) == VESTA_OK;
}

static void tell_costs(int many, int64_t open_ms, long kb_before, int64_t lease_ms) {
    int rest_s = number_from("VESTA_MANY_REST_S", 0);
    int64_t used = used_us();
    long kb = status_of("RssAnon:") + status_of("RssShmem:") - kb_before;
    printf("# %d namespaces: opened in %.2f ms each, first ids after %.2f ms each, %.1f KiB each, %ld threads\n", many,
           (double)open_ms / many, (double)lease_ms / many, (double)kb / many, status_of("Threads:"));
    if (!rest_s) return;
    sleep((unsigned)rest_s);
    printf("# at rest they use %.2f %% of a core\n", (double)(used_us() - used) / rest_s / 10000);
}

static void others_go_on(void) {
    int many = number_from("VESTA_MANY", 300), away = number_from("VESTA_MANY_AWAY", 10), port;
    char store[300];
    struct vesta_pause pause;
    uint64_t id;
    NEED(many <= MANY_MAX && away < many);
    empty_folder();
    int fd = listen_dumb(&port);
    for (int i = 0; i < away; i++) {
        snprintf(store, sizeof store, "mysql://u@127.0.0.1:%d/db%d", port, i);
        gens[i] = open_one(i, store);
        NEED(gens[i] && vesta_keep(gens[i]) == VESTA_OK);
    }
    long kb_before = status_of("RssAnon:") + status_of("RssShmem:");
    int64_t began_ms = check_now_ms();
    for (int i = away; i < many; i++)
        NEED((gens[i] = open_one(i, NULL)) != NULL);
    int64_t opened_ms = check_now_ms();
    for (int i = away; i < many; i++)
        CHECK(vesta_keep(gens[i]) == VESTA_OK);
    for (int i = away; i < many; i++)
        NEED(has_id(gens[i]));
    tell_costs(many - away, opened_ms - began_ms, kb_before, check_now_ms() - opened_ms);
    for (int i = 0; i < away; i++)
        CHECK(vesta_next(gens[i], &id, &pause) == VESTA_EPAUSE && pause.why == VESTA_LEASE);
    for (int i = 0; i < many; i++)
        close_for_good(i);
    AWAIT(status_of("Threads:") <= 1 + number_from("VESTA_MANY_AWAY", 10)); /* a connection that is being opened has a
                                                                               thread */
    close(fd);
}

static const struct check_case cases[] = {
    {"of very many namespaces, some have stores that never reply: all others get ids, and all can be closed",
     others_go_on},
};

CHECK_MAIN_IN_FOLDER(cases)
