/* odd.c -- finds oddities in the fields of a list of ids: constants of another layout, times in the future, ticks that
 * go back.  Only equal ids are errors.  A person must judge whether an oddity is a problem. */
#include "main/ids/audit.h"
#include "id/id.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORKERS_SHOWN 16

struct odd_worker {
    uint64_t number, count, last_tick;
};

struct vs_oddities {
    struct odd_worker *workers; /* open addressing by worker id (count 0: free) */
    size_t room, used;          /* room is a power of two */
    uint64_t foreign, future, inversions, unsorted;
    size_t foreign_at, future_at, inversions_at, unsorted_at; /* index of the first id of each kind */
    const struct vesta_layout *layout;
    uint64_t before_id, before_time; /* id and time of the previous id */
    bool differs[VESTA_FIELDS_MAX];  /* fields above the time that determined the order of an unsorted id */
    int64_t first_ms, last_ms;
    uint64_t read;
    const struct vs_ids *ids;
    char leased[VESTA_NAME_MAX];
};

static struct odd_worker *odd_place_of(struct odd_worker *workers, size_t room, uint64_t number) {
    size_t i = (size_t)(number * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (room - 1);
    while (workers[i].count && workers[i].number != number)
        i = (i + 1) & (room - 1);
    return &workers[i];
}

static bool odd_grow(struct vs_oddities *self) {
    size_t room = self->room ? self->room * 2 : 1024;
    struct odd_worker *bigger = calloc(room, sizeof *bigger);
    if (!bigger) return false;
    for (size_t i = 0; i < self->room; i++)
        if (self->workers[i].count) *odd_place_of(bigger, room, self->workers[i].number) = self->workers[i];
    free(self->workers);
    self->workers = bigger;
    self->room = room;
    return true;
}

static void odd_count_one(uint64_t *counter, size_t *at, size_t index) {
    if ((*counter)++ == 0) *at = index;
}

/* Returns whether ids can sort differently as numbers than by time. */
static bool odd_has_upper_fields(const struct vesta_layout *layout) {
    for (int i = 0; i < layout->time; i++)
        if (!layout->field[i].fixed) return true;
    return false;
}

/* Compares an id with the previous id, which may be from any worker: as a number, and by time. */
static void odd_see_order(struct vs_oddities *self, size_t index, const struct vesta_parts *parts) {
    uint64_t id = self->ids->ids[index], before = self->before_id, before_time = self->before_time;
    self->before_id = id;
    self->before_time = parts->time;
    if (self->read == 0 || parts->time == before_time || (id > before) == (parts->time > before_time)) return;
    odd_count_one(&self->unsorted, &self->unsorted_at, index);
    for (int i = 0; i < self->layout->time; i++)
        self->differs[i] |= vs_field_get(&self->layout->field[i], id) != vs_field_get(&self->layout->field[i], before);
}

static void odd_see(struct vs_oddities *self, const struct vesta_layout *layout, size_t index, int64_t now_ms) {
    struct vesta_parts parts;
    if (vesta_explain(layout, self->ids->ids[index], &parts, NULL) != VESTA_OK) {
        odd_count_one(&self->foreign, &self->foreign_at, index);
        return;
    }
    if (parts.unix_ms > now_ms + (layout->unit_us + 999) / 1000) odd_count_one(&self->future, &self->future_at, index);
    odd_see_order(self, index, &parts);
    if (self->read++ == 0 || parts.unix_ms < self->first_ms) self->first_ms = parts.unix_ms;
    if (self->read == 1 || parts.unix_ms > self->last_ms) self->last_ms = parts.unix_ms;
    uint64_t tick = parts.time << vs_seq(layout)->width | parts.seq;
    struct odd_worker *worker = odd_place_of(self->workers, self->room, parts.worker);
    if (worker->count == 0) {
        worker->number = parts.worker;
        self->used++;
    } else if (tick < worker->last_tick)
        odd_count_one(&self->inversions, &self->inversions_at, index);
    worker->count++;
    worker->last_tick = tick;
}

int vs_oddities_find(const struct vs_ids *ids, const struct vesta_layout *layout, int64_t now_ms,
                     struct vs_oddities **out) {
    struct vs_oddities *self = calloc(1, sizeof *self);
    if (!self) goto no_memory;
    self->ids = ids;
    self->layout = layout;
    strcpy(self->leased, layout->worker < 0 ? "worker" : layout->field[layout->worker].name);
    for (size_t i = 0; i < ids->count; i++) {
        if (self->used * 2 >= self->room && !odd_grow(self)) goto free_self;
        odd_see(self, layout, i, now_ms);
    }
    *out = self;
    return VS_DONE;
free_self:
    vs_oddities_free(self);
no_memory:
    vs_say("no memory to count the workers of %zu ids", ids->count);
    return VS_FAILED;
}

void vs_oddities_free(struct vs_oddities *self) {
    if (self) free(self->workers);
    free(self);
}

static int odd_by_number(const void *a, const void *b) {
    uint64_t x = ((const struct odd_worker *)a)->number, y = ((const struct odd_worker *)b)->number;
    return x < y ? -1 : x > y;
}

/* Moves the workers to the front of the table in ascending order.  After this, the table can no longer be used as a
 * hash table. */
static void odd_pack(struct vs_oddities *self) {
    size_t n = 0;
    for (size_t i = 0; i < self->room; i++)
        if (self->workers[i].count) self->workers[n++] = self->workers[i];
    if (n > 0) qsort(self->workers, n, sizeof *self->workers, odd_by_number);
    self->room = 0;
}

bool vs_audit_count(const char *name, uint64_t count) {
    char grouped[VS_GROUPED_MAX];
    vs_outf("%s%-12s %14s%s", count ? VS_YELLOW : "", name, vs_grouped(count, grouped), count ? VS_PLAIN : "");
    vs_outf("%s", count ? "  " : "\n");
    return count > 0;
}

static void odd_print(const struct vs_oddities *self, const char *name, uint64_t count, size_t at,
                      const char *meaning) {
    const char *file;
    uint64_t line;
    if (!vs_audit_count(name, count)) return;
    vs_ids_where(self->ids, at, &file, &line);
    vs_out_fittedf(29, 29, "%s. The first is %" PRIu64 ", %s line %" PRIu64, meaning, self->ids->ids[at], file, line);
}

static void odd_print_json(const struct vs_oddities *self) {
    char first[VESTA_ISO_MAX], last[VESTA_ISO_MAX];
    vs_outf(",\"foreign\":%" PRIu64 ",\"future\":%" PRIu64 ",\"inversions\":%" PRIu64 ",\"unsorted\":%" PRIu64,
            self->foreign, self->future, self->inversions, self->unsorted);
    if (self->read)
        vs_outf(",\"first\":\"%s\",\"last\":\"%s\"", vs_iso(self->first_ms, first), vs_iso(self->last_ms, last));
    vs_outf(",\"workers\":{");
    for (size_t i = 0; i < self->used; i++)
        vs_outf("%s\"%" PRIu64 "\":%" PRIu64, i ? "," : "", self->workers[i].number, self->workers[i].count);
    vs_outf("}");
}

static void odd_print_unsorted(const struct vs_oddities *self) {
    char meaning[VS_NAMES_MAX + 80] = "sorts on the other side of the id before it than its time, because of";
    size_t used = strlen(meaning);
    for (int i = 0; i < self->layout->time; i++)
        if (self->differs[i])
            used += (size_t)snprintf(meaning + used, sizeof meaning - used, " %s", self->layout->field[i].name);
    odd_print(self, "unsorted", self->unsorted, self->unsorted_at, meaning);
}

void vs_oddities_print(struct vs_oddities *self, int json) {
    char grouped[VS_GROUPED_MAX], first[VESTA_ISO_MAX], last[VESTA_ISO_MAX];
    odd_pack(self);
    if (json) {
        odd_print_json(self);
        return;
    }
    odd_print(self, "foreign", self->foreign, self->foreign_at, "another layout made these");
    odd_print(self, "future", self->future, self->future_at, "later than this machine's clock");
    odd_print(self, "inversions", self->inversions, self->inversions_at, "older than the id before it of its worker");
    if (odd_has_upper_fields(self->layout)) odd_print_unsorted(self);
    if (self->read) vs_outf("%-12s %s to %s\n", "time", vs_iso(self->first_ms, first), vs_iso(self->last_ms, last));
    for (size_t i = 0; i < self->used && i < WORKERS_SHOWN; i++)
        vs_outf("%-7s %-4" PRIu64 " %14s\n", self->leased, self->workers[i].number,
                vs_grouped(self->workers[i].count, grouped));
    if (self->used > WORKERS_SHOWN) vs_outf("and %zu more\n", self->used - WORKERS_SHOWN);
}
