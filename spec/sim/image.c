/* image.c -- restores the processes of a path from an image, as if a machine was copied after vesta_prepare_snapshot
 * and then ran twice. The ids of the first run stay issued, and the store and other paths continue. The second run
 * starts at the image, with each thread where it was. */
#include "sim.h"

#include <string.h>

static struct {
    bool exists;
    struct path path;
    int index, files, procs;
    struct file file[FILES_MAX];
    struct proc proc[PROCS_MAX];
} image;
static struct vs_map kept_maps[FILES_MAX];
static unsigned lives[PATHS_MAX];

static bool belongs(int proc) {
    return sim.proc[proc].alive && sim.proc[proc].path == image.index;
}

void image_forget(void) {
    image.exists = false;
    threads_forget();
}

bool image_exists(int path) {
    return image.exists && image.index == path;
}

unsigned image_lives(int path) {
    return lives[path];
}

void image_take(int path) {
    TRACE("an image of %s is taken", sim.path[path].identity);
    image.exists = true;
    image.index = path;
    image.path = sim.path[path];
    image.files = sim.files;
    image.procs = sim.procs;
    memcpy(image.file, sim.file, sizeof *sim.file * (size_t)sim.files);
    memcpy(image.proc, sim.proc, sizeof *sim.proc * (size_t)sim.procs);
    for (int i = 0; i < sim.files; i++)
        if (sim.file[i].path == path) kept_maps[i] = *sim.file[i].map;
    threads_keep(belongs);
}

void image_restore(void) {
    int path = image.index;
    TRACE("%s goes on from its image", sim.path[path].identity);
    for (int i = 0; i < sim.procs; i++)
        if (belongs(i)) proc_kill(i);
    sim.path[path] = image.path;
    for (int i = 0; i < image.files; i++)
        if (image.file[i].path == path) {
            sim.file[i] = image.file[i];
            *sim.file[i].map = kept_maps[i];
        }
    for (int i = 0; i < image.procs; i++)
        if (image.proc[i].path == path) sim.proc[i] = image.proc[i];
    threads_put_back();
    oracle_clock(image.path.host); /* the restored processes see the current clock */
    lives[path]++;
    image.exists = false;
    sim.counts.restored++;
}
