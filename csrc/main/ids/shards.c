/* shards.c -- `audit --mod N`: how many ids have each remainder, so each shard.  Never changes the exit code. */
#include "main/ids/audit.h"
#include "main/ids/chi.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define SINGLE_MAX 32 /* with more shards, the picture has ROWS rows of several shards each */
#define ROWS 16
#define BAR 30         /* columns of the longest bar */
#define EXPECTED_MIN 5 /* the usual minimum of expected counts for a chi-square test */
#define P_UNEVEN 0.01
#define LABEL_MAX 32

struct vs_shards {
    struct vs_mod mod;
    uint64_t total;
    double chi_square, p; /* p is -1 if there are too few ids for the test */
    uint64_t count[];
};

struct vs_shards *vs_shards_count(const struct vs_ids *ids, const struct vs_mod *mod) {
    struct vs_shards *self = calloc(1, sizeof *self + (size_t)mod->n * sizeof *self->count);
    if (!self) return vs_say("no memory to count %" PRIu64 " remainders", mod->n), NULL;
    self->mod = *mod;
    self->total = ids->count;
    for (size_t i = 0; i < ids->count; i++)
        self->count[(ids->ids[i] >> mod->shift) % mod->n]++;
    bool is_enough = self->total >= EXPECTED_MIN * mod->n;
    self->chi_square = self->total ? vs_chi_square(self->count, (size_t)mod->n, self->total) : 0;
    self->p = is_enough ? vs_chi_square_p(self->chi_square, (double)(mod->n - 1)) : -1;
    return self;
}

static void shards_print_json(const struct vs_shards *self) {
    vs_outf(",\"mod\":{\"n\":%" PRIu64 ",\"shift\":%" PRIu64 ",\"counts\":[", self->mod.n, self->mod.shift);
    for (uint64_t i = 0; i < self->mod.n; i++)
        vs_outf("%s%" PRIu64, i ? "," : "", self->count[i]);
    vs_outf("],\"chi_square\":%.6g,\"degrees\":%" PRIu64, self->chi_square, self->mod.n - 1);
    if (self->p < 0)
        vs_outf(",\"p\":null}");
    else
        vs_outf(",\"p\":%.6g}", self->p);
}

/* A row of the picture: the remainders from `from` to before `until`. */
struct shards_row {
    uint64_t from, until, sum, least, most;
    double mean;
};

static struct shards_row shards_row_of(const struct vs_shards *self, uint64_t row, uint64_t rows) {
    uint64_t n = self->mod.n;
    struct shards_row out = {.from = row * n / rows, .until = (row + 1) * n / rows, .least = UINT64_MAX};
    for (uint64_t i = out.from; i < out.until; i++) {
        uint64_t count = self->count[i];
        out.sum += count;
        if (count < out.least) out.least = count;
        if (count > out.most) out.most = count;
    }
    out.mean = (double)out.sum / (double)(out.until - out.from);
    return out;
}

static void shards_print_row(const struct shards_row *row, double most) {
    char label[LABEL_MAX], grouped[VS_GROUPED_MAX], bar[BAR * 3 + 1] = "";
    bool is_single = row->until - row->from == 1;
    int cells = (int)(row->mean / most * BAR + 0.5), used = 0;
    snprintf(label, sizeof label, is_single ? "%" PRIu64 : "%" PRIu64 "-%" PRIu64, row->from, row->until - 1);
    for (int i = 0; i < cells; i++)
        used += snprintf(bar + used, sizeof bar - (size_t)used, "\u2588");
    if (cells == 0 && row->sum > 0) snprintf(bar, sizeof bar, "\u258f"), cells = 1;
    vs_outf("  %-11s %13s%s%s", label, vs_grouped(row->sum, grouped), cells ? "  " : "", bar);
    if (!is_single) vs_outf("%*s", BAR + 4 - cells - (cells ? 2 : 0), "");
    if (!is_single && row->least == row->most) vs_outf("%" PRIu64 " each", row->most);
    if (!is_single && row->least != row->most) vs_outf("%" PRIu64 " to %" PRIu64 " each", row->least, row->most);
    vs_outf("\n");
}

static void shards_print_test(const struct vs_shards *self) {
    if (self->p < 0) {
        vs_outf("chi-square   not computed: it needs at least %" PRIu64 " ids, %d for each remainder\n",
                EXPECTED_MIN * self->mod.n, EXPECTED_MIN);
        return;
    }
    bool is_uneven = self->p <= P_UNEVEN;
    vs_outf("chi-square   %14.1f  with %" PRIu64 " degrees of freedom\n", self->chi_square, self->mod.n - 1);
    vs_outf("%sp            %14.4g  %s%s\n", is_uneven ? VS_YELLOW : "", self->p, is_uneven ? "uneven" : "even",
            is_uneven ? VS_PLAIN : "");
}

static void shards_print_report(const struct vs_shards *self) {
    uint64_t n = self->mod.n, rows = n <= SINGLE_MAX ? n : ROWS;
    double most = 1;
    for (uint64_t i = 0; i < rows; i++) {
        struct shards_row row = shards_row_of(self, i, rows);
        if (row.mean > most) most = row.mean;
    }
    if (self->mod.shift)
        vs_outf("shards       (id >> %" PRIu64 ") %% %" PRIu64 "\n", self->mod.shift, n);
    else
        vs_outf("shards       id %% %" PRIu64 "\n", n);
    for (uint64_t i = 0; i < rows; i++) {
        struct shards_row row = shards_row_of(self, i, rows);
        shards_print_row(&row, most);
    }
    shards_print_test(self);
}

void vs_shards_print(const struct vs_shards *self, bool json) {
    if (json)
        shards_print_json(self);
    else
        shards_print_report(self);
}
