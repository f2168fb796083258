/* source.c -- a namespace's ids or a counter's numbers, by flags or by a config.  Knows no Redis. */
#include "main/fill/source.h"

#include "main/where.h"
#include "config/config.h"

#include <string.h>

static int read_config(struct vs_source *source) {
    struct vs_conf_opts from = {.path = source->config_path};
    struct vesta_error err;
    if (vs_where_has_flags(&source->opts) || source->table)
        return vs_usage("--config says how what it has is opened: beside it only --namespace or --tag can be given");
    if (vs_config_read(&from, &source->config, &err) != VESTA_OK) return vs_say("%s", err.text), VS_FAILED;
    return VS_GO;
}

/* ------------------------------------------------------------------ a namespace */

static int open_namespace(struct vs_source *source) {
    struct vesta_error err;
    struct vesta_info info;
    int rc = vs_where_opts(source->config_path, &source->opts, &source->config);
    if (rc != VS_GO) return rc;
    source->opts.any_worker = !source->opts.has_worker; /* counts only where there is no generator file yet */
    if (vesta_open(&source->opts, &source->gen, &err) != VESTA_OK) return vs_report(&err);
    vesta_get_info(source->gen, &info);
    if (info.warning[0]) vs_say("warning: %s", info.warning);
    return VS_GO;
}

/* ------------------------------------------------------------------ a tag */

static int choose_row(const struct vs_source *source, struct vesta_segment_opts *opts) {
    const struct vs_conf_segment *row;
    struct vesta_error err;
    if (vs_conf_segment_of(source->config, source->tag, &row, &err) != VESTA_OK) return vs_report(&err);
    for (int i = 0; i < row->uri_count; i++) {
        opts->stores[i] = row->uri[i];
        opts->secrets[i] = row->secret[i];
    }
    opts->table = vs_conf_segment_table(row);
    opts->step = (uint64_t)row->step;
    opts->step_max = (uint64_t)row->step_max;
    if (row->order == VS_CONF_DENSE)
        return vs_usage("the tag '%s' gives numbers without a gap, which a list cannot commit", source->tag), VS_USAGE;
    opts->order = row->order == VS_CONF_STRICT ? VESTA_STRICT : VESTA_TREND;
    return VS_GO;
}

static int check_flags(const struct vs_source *source) {
    struct vesta_opts opts = source->opts;
    opts.store = opts.group = NULL; /* which a counter has, too */
    if (vs_where_has_flags(&opts) || opts.namespace_)
        return vs_usage("--tag is of a counter: beside it stand --store, --table, --group or --config only");
    return source->opts.store || source->config_path ? VS_GO
                                                     : vs_usage("--tag needs the counter's --store, or -c FILE");
}

static int open_tag(struct vs_source *source) {
    struct vesta_segment_opts opts = VESTA_SEGMENT_OPTS_INIT;
    struct vesta_segment_info info;
    struct vesta_error err;
    opts.stores[0] = source->opts.store;
    opts.table = source->table;
    opts.group = source->opts.group;
    int rc = source->config ? choose_row(source, &opts) : VS_GO;
    if (rc != VS_GO) return rc;
    opts.tag = source->tag;
    if (vesta_segment_open(&opts, &source->seg, &err) != VESTA_OK) return vs_report(&err);
    vesta_segment_get_info(source->seg, &info);
    source->is_strict = info.order == VESTA_STRICT;
    if (info.warning[0]) vs_say("warning: %s", info.warning);
    return VS_GO;
}

static int print_tag(const struct vs_source *source, int json) {
    struct vesta_segment_opts opts = VESTA_SEGMENT_OPTS_INIT;
    opts.stores[0] = source->opts.store;
    opts.table = source->table;
    int rc = source->config ? choose_row(source, &opts) : VS_GO;
    if (rc != VS_GO) return rc;
    struct vs_conf_value row = {
        .path = "config", .text = source->config_path, .origin = VS_FROM_FLAG, .by = "--config"};
    if (row.text) vs_effective_print(&row, json);
    row = (struct vs_conf_value){.path = "tag", .text = source->tag, .origin = VS_FROM_FLAG, .by = "--tag"};
    vs_effective_print(&row, json);
    row.origin = source->config ? VS_FROM_FILE : VS_FROM_FLAG;
    for (int i = 0; i < VESTA_DATABASES_MAX && opts.stores[i]; i++) {
        row.path = "store", row.text = opts.stores[i], row.by = source->config ? "the config" : "--store";
        vs_effective_print(&row, json);
    }
    row.path = "table", row.text = opts.table ? opts.table : "leaf_alloc", row.by = NULL;
    if (!opts.table) row.origin = VS_FROM_DEFAULT;
    vs_effective_print(&row, json);
    return VS_DONE;
}

/* ------------------------------------------------------------------ either */

static int check_source(struct vs_source *source) {
    int rc = source->tag ? check_flags(source) : VS_GO;
    if (rc == VS_GO && !source->tag && source->table) rc = vs_usage("--table goes with --tag");
    if (rc == VS_GO && source->config_path && source->tag) rc = read_config(source);
    return rc;
}

int vs_source_print(struct vs_source *source, int json) {
    int rc = check_source(source);
    if (rc == VS_GO)
        rc = source->tag ? print_tag(source, json) : vs_where_print_opts(source->config_path, &source->opts, json);
    return rc;
}

int vs_source_open(struct vs_source *source) {
    int rc = check_source(source);
    if (rc != VS_GO) return rc;
    return source->tag ? open_tag(source) : open_namespace(source);
}

/* What is left of a counter's range goes back, where nobody else on this host has a use for it. */
void vs_source_close(struct vs_source *source) {
    vesta_close(source->gen);
    if (source->seg) vesta_segment_release(source->seg, NULL);
    vesta_segment_close(source->seg);
    vs_config_free(source->config);
    source->gen = NULL;
    source->seg = NULL;
    source->config = NULL;
}

/* In strict order one transaction gives all n; else a range that is there gives what it has. */
static int ask(struct vs_source *source, size_t n, int64_t wait_us, struct vesta_numbers *numbers,
               struct vesta_pause *pause) {
    if (source->is_strict) return vesta_segment_batch_wait(source->seg, n, numbers, wait_us, pause);
    if (vesta_segment_next_n(source->seg, n, numbers, pause) == VESTA_OK) return VESTA_OK;
    numbers->count = numbers->stride = 1;
    return vesta_segment_next_wait(source->seg, &numbers->first, wait_us, pause);
}

static size_t take_numbers(struct vs_source *source, uint64_t *ids, size_t n, int wait_ms, char *why) {
    struct vesta_numbers numbers;
    struct vesta_pause pause;
    int rc = ask(source, n, (int64_t)wait_ms * 1000, &numbers, &pause);
    if (rc != VESTA_OK) return vesta_segment_pause_text(source->seg, &pause, why, VS_SOURCE_WHY_MAX), 0;
    for (uint64_t i = 0; i < numbers.count; i++)
        ids[i] = numbers.first + i * numbers.stride;
    return numbers.count;
}

static size_t take_ids(struct vs_source *source, uint64_t *ids, size_t n, int wait_ms, char *why) {
    struct vesta_pause pause;
    size_t got = 0;
    if (vesta_next_n(source->gen, ids, n, &got, &pause) == VESTA_OK) return got;
    if (vesta_next_wait(source->gen, ids, (int64_t)wait_ms * 1000, &pause) == VESTA_OK) return 1;
    vesta_pause_text(source->gen, &pause, why, VS_SOURCE_WHY_MAX);
    return 0;
}

size_t vs_source_take(struct vs_source *source, uint64_t *ids, size_t n, int wait_ms, char *why) {
    if (n > VESTA_BATCH_MAX) n = VESTA_BATCH_MAX;
    return source->seg ? take_numbers(source, ids, n, wait_ms, why) : take_ids(source, ids, n, wait_ms, why);
}
