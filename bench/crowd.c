/* crowd.c -- one process with generators of many namespaces: time to open one up to its first id, its memory, and
 * CPU time of all when idle.
 *
 *     bench_crowd FOLDER NAMESPACES REST_MS      in an empty folder; one JSON object */
#include "bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MANY_MAX 20000
#define WAIT_US 20000000
#define SETTLES 4 /* idle periods before the measured one, so that the work of opening is done */

static struct vesta_gen *gens[MANY_MAX];

static struct vesta_gen *opened(const char *folder, int i) {
    char path[4096], store[4096], name[32];
    struct vesta_gen *gen;
    struct vesta_error err = {.text = ""};
    snprintf(path, sizeof path, "%s/n%d.gen", folder, i);
    snprintf(store, sizeof store, "file:%s/store", folder);
    snprintf(name, sizeof name, "n%d", i);
    struct vesta_opts opts = {
        .size = sizeof opts, .layout = "snowflake", .path = path, .store = store, .namespace_ = name, .any_worker = 1};
    errno = 0;
    if (vesta_open(&opts, &gen, &err) != VESTA_OK || vesta_keep(gen) != VESTA_OK) bench_die(err.text);
    return gen;
}

static double resident_kib(void) {
    char line[256];
    double sum = 0;
    FILE *file = fopen("/proc/self/status", "re");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "RssAnon:", 8) == 0 || strncmp(line, "RssShmem:", 9) == 0) sum += atof(strchr(line, ':') + 1);
    if (file) fclose(file);
    return sum;
}

int main(int argc, char **argv) {
    int many = argc == 4 ? atoi(argv[2]) : 0;
    struct vesta_pause pause;
    uint64_t id;
    if (many < 1 || many > MANY_MAX) {
        fputs("usage: bench_crowd FOLDER NAMESPACES REST_MS\n", stderr);
        return 2;
    }
    double before_kib = resident_kib();
    int64_t began_ns = bench_now_ns();
    for (int i = 0; i < many; i++)
        gens[i] = opened(argv[1], i);
    for (int i = 0; i < many; i++)
        if (vesta_next_wait(gens[i], &id, WAIT_US, &pause) != VESTA_OK) bench_die("no id came");
    double ms = (double)(bench_now_ns() - began_ns) / 1e6 / many, kib = (resident_kib() - before_kib) / many;
    int64_t rest_ns = atoll(argv[3]) * 1000000;
    struct timespec rest = {.tv_sec = rest_ns / 1000000000, .tv_nsec = rest_ns % 1000000000};
    for (int i = 0; i < SETTLES; i++)
        nanosleep(&rest, NULL);
    int64_t cpu_ns = bench_cpu_ns(true);
    nanosleep(&rest, NULL);
    printf("{\"ms\": %.4f, \"kib\": %.3f, \"core\": %.4f}\n", ms, kib, (double)(bench_cpu_ns(true) - cpu_ns) / (double)rest_ns);
    for (int i = 0; i < many; i++)
        vesta_close(gens[i]);
    return 0;
}
