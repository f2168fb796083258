/* story.c -- runs a schedule that is written down step by step. Unlike a seed's schedule, it does not depend on random
 * numbers, on faults or on the set of points in the core. If a step can no longer be done, the story fails and names
 * it.
 *
 *     kills RETIRES_OPEN DUPLICATE    a planted bug that this story must find, and the finding; may be repeated
 *     timing local | shared | hasty   the lease's timing, before the first process (default: local)
 *     pacing history | clock          (default: history)
 *     units of 1 ms                   before the first process: eight ids per millisecond (default: per second)
 *     p has number 1 | p draws        the worker id of path p (default: 1); `draws` takes the first free one
 *     A starts at p                   starts process A at path p without threads; the first process creates the file
 *     A forks B
 *     A wants                         requests a lease like a caller without one: starts or wakes A.keeper
 *     A.keeper to POINT [TIMES]       runs only that thread until it reaches VS_POINT(POINT) for the n-th time
 *     A.keeper to its end
 *     A.keeper for 50 ms
 *     A.1 takes 3 [to POINT]          a thread calls vesta_next three times; without a point all calls must succeed
 *     A.1 tries 3                     the same, but the calls may fail
 *     A.1 is refused                  a call that must fail
 *     A opens a lane of 4
 *     A.1 takes 3 by lane [to POINT]  the same through that lane; also `tries` and `is refused`
 *     A closes its lane
 *     A gives back                    releases the lease
 *     A leaves its number             requests another worker id
 *     A drops / crashes / loses its lock / prepares a snapshot (in thread A.snapshot)
 *     p loses its map                 removes the map's name, which processes that use the map notice
 *     p goes on from its image        restores the machine that A.snapshot copied; `may go on`: if there is a copy
 *     all for 3 s                     runs all threads, in order, while time passes
 *     wait 3 s                        time passes, and no thread runs
 *     clock of p +3 s                 sets the clock of p's host
 *     ticks of p end                  stops the late clock of p's host
 *     store loses the next write / does the next write unheard / does the next write after 3 s
 *     store keeps a copy / goes back to it / is put right
 */
#include "sim.h"
#include "base/array.h"

#include <stdlib.h>
#include <string.h>

#define LINE_BYTES_MAX 200
#define WORDS_MAX 12
#define ACTORS_MAX 24

static struct {
    int line;
    char wrong[256]; /* why a step cannot be done */
    int proc['Z' - 'A' + 1];
    int path['z' - 'a' + 1];
    enum vesta_pacing pacing;
} story;

/* Issuers and the ids that they must take. */
static struct actor {
    char name[8];
    struct thread *thread;
    int wanted, given;
    bool by_lane;
    enum vesta_why why;
} actors[ACTORS_MAX];
static int actor_count;
static struct actor *starting;

struct words {
    int count;
    char *word[WORDS_MAX];
    char line[LINE_BYTES_MAX];
};

static __attribute__((format(printf, 1, 2))) bool wrong(const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(story.wrong, sizeof story.wrong, format, args);
    va_end(args);
    return false;
}

static bool split(const char *line, struct words *out) {
    char *rest, *word;
    snprintf(out->line, sizeof out->line, "%s", line);
    out->line[strcspn(out->line, "#\n")] = '\0';
    out->count = 0;
    for (word = strtok_r(out->line, " ", &rest); word && out->count < WORDS_MAX; word = strtok_r(NULL, " ", &rest))
        out->word[out->count++] = word;
    return out->count > 0;
}

/* Returns whether the words from `at` on equal the text. */
static bool says(const struct words *w, int at, const char *text) {
    char joined[LINE_BYTES_MAX] = "";
    size_t used = 0;
    for (int i = at; i < w->count; i++)
        used += (size_t)snprintf(joined + used, sizeof joined - used, "%s%s", i > at ? " " : "", w->word[i]);
    return strcmp(joined, text) == 0;
}

/* ------------------------------------------------------------------ names */

static int *proc_named(const char *name) {
    return name[0] >= 'A' && name[0] <= 'Z' && (name[1] == '\0' || name[1] == '.') ? &story.proc[name[0] - 'A'] : NULL;
}

static int *path_named(const char *name) {
    return name[0] >= 'a' && name[0] <= 'z' && name[1] == '\0' ? &story.path[name[0] - 'a'] : NULL;
}

static bool proc_of(const char *name, int *proc) {
    const int *at = proc_named(name);
    if (!at || *at < 0) return wrong("%s is no process", name);
    *proc = *at;
    return true;
}

static struct actor *actor_of(const char *name) {
    for (int i = 0; i < actor_count; i++)
        if (strcmp(actors[i].name, name) == 0) return &actors[i];
    if (actor_count == ACTORS_MAX) return NULL;
    struct actor *a = &actors[actor_count++];
    *a = (struct actor){.thread = NULL};
    snprintf(a->name, sizeof a->name, "%s", name);
    return a;
}

static bool duration(const char *number, const char *unit, int64_t *us) {
    *us = (int64_t)(strtod(number, NULL) * (strcmp(unit, "ms") == 0 ? 1e3 : 1e6));
    return strcmp(unit, "ms") == 0 || strcmp(unit, "s") == 0 || wrong("%s %s is no time", number, unit);
}

/* ------------------------------------------------------------------ threads */

static bool run_to(const char *name, struct thread *thread, const char *point, int times) {
    if (!thread_is_alive(thread)) return wrong("%s does not run", name);
    if (thread_run_to(thread, point, times) || sim.found) return true;
    return point ? wrong("%s did not come to %s", name, point) : wrong("%s did not end", name);
}

static int take_one(struct proc *self, struct vesta_pause *pause) {
    struct before before;
    uint64_t id;
    oracle_before(self->file, &before);
    int rc = vesta_next(&self->gen, &id, pause);
    if (rc == VESTA_OK) oracle_ids(&before, proc_index(self), &id, 1);
    return rc;
}

static void issuer_told(struct proc *self) {
    struct actor *actor = starting;
    struct vesta_pause pause = {.why = 0};
    while (actor->wanted-- > 0) {
        int rc = actor->by_lane ? lane_next(self, 0, &pause) : take_one(self, &pause);
        actor->given += rc == VESTA_OK;
        actor->why = rc == VESTA_OK ? 0 : pause.why;
    }
    actor->thread = NULL;
}

/* Returns whether the step has "by lane" at this place, and removes it. */
static bool cut_lane(struct words *w, int at) {
    bool is = w->count >= at + 2 && strcmp(w->word[at], "by") == 0 && strcmp(w->word[at + 1], "lane") == 0;
    if (is) memmove(&w->word[at], &w->word[at + 2], (size_t)(w->count - at - 2) * sizeof *w->word);
    w->count -= 2 * is;
    return is;
}

static bool start_taking(const char *name, int n, bool by_lane, struct actor **out) {
    int proc = -1;
    struct actor *actor = actor_of(name);
    if (!actor || !proc_of(name, &proc)) return wrong("%s is unknown", name);
    if (thread_is_alive(actor->thread)) return wrong("%s is still running", name);
    if (by_lane && !sim.proc[proc].lane[0].is_open) return wrong("%s has no lane", name);
    actor->wanted = n;
    actor->given = 0;
    actor->by_lane = by_lane;
    actor->thread = thread_start(proc, "issuer", issuer_told);
    thread_is(actor->thread, strtoull(name + 2, NULL, 10));
    starting = *out = actor;
    return true;
}

static bool takes(struct words *w) {
    struct actor *actor;
    int n = atoi(w->word[2]);
    if (!start_taking(w->word[0], n, cut_lane(w, 3), &actor)) return false;
    if (w->count == 5) return run_to(w->word[0], actor->thread, w->word[4], 1);
    if (!run_to(w->word[0], actor->thread, NULL, 0)) return false;
    if (actor->given < n && strcmp(w->word[1], "takes") == 0)
        oracle_found(STUCK, "%s was given %d of %d ids, then told to wait (%d)", actor->name, actor->given, n,
                     (int)actor->why);
    return true;
}

static bool is_refused(struct words *w) {
    struct actor *actor;
    if (!start_taking(w->word[0], 1, cut_lane(w, 3), &actor) || !run_to(w->word[0], actor->thread, NULL, 0))
        return false;
    return actor->given == 0 || wrong("%s was given an id", w->word[0]);
}

static struct thread *thread_named(const char *name) {
    int *proc = proc_named(name);
    if (!proc || *proc < 0) return NULL;
    if (strcmp(name + 1, ".keeper") == 0) return sim.proc[*proc].keeper;
    if (strcmp(name + 1, ".snapshot") == 0) return sim.proc[*proc].copier;
    const struct actor *actor = actor_of(name);
    return actor ? actor->thread : NULL;
}

static bool goes_to(const struct words *w) {
    struct thread *thread = thread_named(w->word[0]);
    int64_t us;
    if (strcmp(w->word[1], "for") == 0) {
        if (!thread_is_alive(thread) || !duration(w->word[2], w->word[3], &us))
            return wrong("which thread runs, and how long?");
        threads_pass(sim.now_us + us, thread);
        return true;
    }
    if (says(w, 1, "to its end")) return run_to(w->word[0], thread, NULL, 0);
    return run_to(w->word[0], thread, w->word[2], w->count > 3 ? atoi(w->word[3]) : 1);
}

/* ------------------------------------------------------------------ processes */

static struct path *make_path(const char *name) {
    int *path = path_named(name);
    if (!path) return NULL;
    if (*path < 0) {
        *path = sim.paths++;
        world_path(*path, story.pacing);
    }
    return &sim.path[*path];
}

static bool number(const struct words *w) {
    struct path *path = make_path(w->word[0]);
    if (!path) return wrong("a path is a small letter");
    path->has_worker = w->count == 4;
    if (path->has_worker) path->worker = strtoull(w->word[3], NULL, 10);
    return true;
}

static bool starts(const struct words *w) {
    int *proc = proc_named(w->word[0]);
    const struct path *path = make_path(w->word[3]);
    if (!proc || !path) return wrong("a process is a capital letter, a path a small one");
    *proc = proc_start((int)(path - sim.path));
    return true;
}

/* Does the same as vesta_switch. */
static void leave(struct proc *self) {
    struct vs_map *map = atomic_load(&self->gen.map);
    vs_map_leave(map, (uint32_t)vs_map_active(map), host_boot_us(&sim.host[sim.path[self->path].host]));
    proc_kick(proc_index(self));
}

static bool forks(const struct words *w) {
    int parent = -1, *child = proc_named(w->word[2]);
    if (!child || !proc_of(w->word[0], &parent)) return wrong("a process is a capital letter");
    *child = proc_fork(parent);
    return true;
}

static bool opens(const struct words *w) {
    int proc = -1;
    if (!proc_of(w->word[0], &proc)) return false;
    lane_open(&sim.proc[proc], 0, strtoull(w->word[5], NULL, 10));
    return true;
}

static bool does(const struct words *w) {
    int proc = -1;
    if (!proc_of(w->word[0], &proc)) return false;
    if (says(w, 1, "wants"))
        proc_kick(proc);
    else if (says(w, 1, "leaves its number"))
        leave(&sim.proc[proc]);
    else if (says(w, 1, "gives back"))
        proc_release(proc, false);
    else if (says(w, 1, "drops"))
        vs_map_drop(atomic_load(&sim.proc[proc].gen.map));
    else if (says(w, 1, "closes its lane"))
        lane_close(&sim.proc[proc], 0);
    else if (says(w, 1, "crashes"))
        proc_kill(proc);
    else if (says(w, 1, "loses its lock"))
        keeper_forget_lock(sim.proc[proc].path);
    else if (says(w, 1, "prepares a snapshot"))
        proc_snapshot(proc);
    else
        return wrong("no such step");
    return true;
}

/* ------------------------------------------------------------------ the world */

static bool from_image(const struct words *w) {
    const int *path = path_named(w->word[0]);
    bool exists = path && *path >= 0 && image_exists(*path);
    if (exists) image_restore();
    return exists || strcmp(w->word[1], "may") == 0 || wrong("there is no image of %s", w->word[0]);
}

static bool loses_map(const struct words *w) {
    const int *path = path_named(w->word[0]);
    if (!path || *path < 0) return wrong("there is no path %s", w->word[0]);
    file_lose(*path);
    return true;
}

static bool waits(const struct words *w) {
    int64_t us;
    if (!duration(w->word[w->count - 2], w->word[w->count - 1], &us)) return false;
    threads_pass(sim.now_us + us, w->count == 4 ? EVERYONE : NULL);
    return true;
}

static bool set_clock(const struct words *w) {
    const int *path = path_named(w->word[2]);
    int64_t us;
    if (!path || *path < 0 || !duration(w->word[3], w->word[4], &us)) return wrong("whose clock, and by how much?");
    host_step(sim.path[*path].host, us);
    return true;
}

static bool ticks_end(const struct words *w) {
    const int *path = path_named(w->word[2]);
    if (!path || *path < 0) return wrong("whose ticks?");
    host_stop_ticks(sim.path[*path].host);
    return true;
}

static bool store(const struct words *w) {
    if (says(w, 1, "loses the next write"))
        store_fate = FATE_LOST;
    else if (says(w, 1, "does the next write unheard"))
        store_fate = FATE_UNHEARD;
    else if (says(w, 1, "keeps a copy"))
        store_keep_copy();
    else if (says(w, 1, "goes back to it"))
        store_go_back();
    else if (says(w, 1, "is put right"))
        store_put_right();
    else if (w->count == 8 && strcmp(w->word[5], "after") == 0 && duration(w->word[6], w->word[7], &store_late_us))
        store_fate = FATE_LATE;
    else
        return wrong("the store does no such thing");
    return true;
}

static bool choose_timing(const struct words *w) {
    return world_timing(w->word[1]) || wrong("no timing is called %s", w->word[1]);
}

static bool choose_pacing(const struct words *w) {
    story.pacing = strcmp(w->word[1], "clock") == 0 ? VESTA_PACING_CLOCK : VESTA_PACING_HISTORY;
    return true;
}

static bool choose_units(void) {
    if (sim.procs > 0) return wrong("a running process already counts by seconds");
    world_by_milliseconds();
    return true;
}

/* ------------------------------------------------------------------ running a story */

static bool step(struct words *w) {
    const char *first = w->word[0], *second = w->count > 1 ? w->word[1] : "";
    if (strcmp(first, "kills") == 0) return true;
    if (strcmp(first, "timing") == 0 && w->count == 2) return choose_timing(w);
    if (strcmp(first, "pacing") == 0 && w->count == 2) return choose_pacing(w);
    if (says(w, 0, "units of 1 ms")) return choose_units();
    if (strcmp(first, "ticks") == 0 && w->count == 4) return ticks_end(w);
    if (strcmp(first, "store") == 0) return store(w);
    if (strcmp(first, "wait") == 0 && w->count == 3) return waits(w);
    if (strcmp(first, "all") == 0 && w->count == 4) return waits(w);
    if (strcmp(first, "clock") == 0 && w->count == 5) return set_clock(w);
    if (strcmp(second, "starts") == 0 && w->count == 4) return starts(w);
    if (says(w, 1, "draws") || (strcmp(second, "has") == 0 && w->count == 4)) return number(w);
    if (strcmp(second, "forks") == 0 && w->count == 3) return forks(w);
    bool is_taking = strcmp(second, "takes") == 0 || strcmp(second, "tries") == 0;
    if (is_taking && (w->count == 3 || w->count == 5 || w->count == 7)) return takes(w);
    if (strcmp(second, "to") == 0 && w->count >= 3) return goes_to(w);
    if (strcmp(second, "for") == 0 && w->count == 4) return goes_to(w);
    if (says(w, 1, "is refused") || says(w, 1, "is refused by lane")) return is_refused(w);
    if (strcmp(second, "opens") == 0 && w->count == 6) return opens(w);
    if (says(w, 1, "loses its map")) return loses_map(w);
    if (says(w, 1, "goes on from its image") || says(w, 1, "may go on from its image")) return from_image(w);
    return does(w);
}

static void begin(void) {
    story.line = 0;
    story.wrong[0] = '\0';
    story.pacing = VESTA_PACING_HISTORY;
    actor_count = 0;
    for (size_t i = 0; i < VS_COUNT(story.proc); i++)
        story.proc[i] = story.path[i] = -1;
    world_for_story();
}

bool story_tell(const char *file) {
    char line[LINE_BYTES_MAX];
    struct words words;
    FILE *in = fopen(file, "r");
    if (!in) {
        fprintf(stderr, "vesta_sim: cannot read %s\n", file);
        return false;
    }
    begin();
    while (!sim.found && !story.wrong[0] && fgets(line, sizeof line, in)) {
        story.line++;
        if (!split(line, &words)) continue;
        TRACE("%s", strtok(line, "\n"));
        step(&words);
    }
    fclose(in);
    if (!story.wrong[0]) return true;
    printf("%s:%d: %s\n", file, story.line, story.wrong);
    return false;
}
