/* stores.h -- what the commands for operators of stores share: a store opened by its URI, a namespace in it, its list
 * of numbers, and what a store's answers mean to people. */
#ifndef VS_STORES_H
#define VS_STORES_H

#include "main/where.h"
#include "store/store.h"

#define VS_OPERATOR_CALL_MS 5000 /* a person waits longer than a keeper */

struct vs_at {
    const char *config_path; /* -c: where the others are, if they are not given */
    struct vs_where where;   /* what their texts lie in */
    const char *uri, *name;  /* of the namespace, in the store */
    const char *public_;     /* the config's name for it; NULL: the same */
    const char *secret;      /* NULL: what the URI says */
    struct vs_store *store;
    struct vs_ns_record ns; /* ver 0: it is not there */
    struct vesta_layout layout;
    struct vs_shape shape;
    uint64_t worker_max;
    int64_t store_ms;
    int effective, json; /* options */
};

/* Rows of options: every one of these commands has them. */
/* clang-format off */
#define VS_AT_OPTIONS(at) \
    {"config", 'c', VS_OPT_TEXT, &(at)->config_path, "FILE", "a server's config, which has the store", 0, 0, NULL}, \
    VS_TEXT("store", &(at)->uri, "URI", VS_STORE_FORMS), \
    VS_TEXT("namespace", &(at)->name, "NAME", "which namespace of it (default: default; of a config its first)"), \
    VS_EFFECTIVE(&(at)->effective)
/* clang-format on */

/* Completes what the options said from the config and the environment (see where.h); `one`: a namespace that nobody
 * named is the config's first.  VS_GO, or an exit code after a message, or after --effective; end with vs_at_free
 * either way. */
int vs_at_find(struct vs_at *at, bool one);
/* Checks what was given and opens the store; asks nobody yet.  VS_GO, or an exit code after a message. */
int vs_at_open(struct vs_at *at);
void vs_at_close(struct vs_at *at);
/* The same, and ends what vs_at_find read. */
void vs_at_free(struct vs_at *at);
/* Reads the namespace's record into `ns`, and what its layout comes to.  VS_GO with ver 0: it is not there. */
int vs_at_read(struct vs_at *at);
/* The same, and it must be there. */
int vs_at_need(struct vs_at *at);
/* Whether who has this layout gets leases of a namespace. */
bool vs_is_leased_to(const struct vesta_layout *layout, const struct vs_ns_record *ns);
/* A namespace for people: "orders.2, leased for orders".  Shape: buf of VS_AT_NAMED_MAX bytes. */
#define VS_AT_NAMED_MAX (2 * VESTA_NAMESPACE_MAX + 16)
const char *vs_at_named(const struct vs_at *at, char *buf);
/* And for programs: {"namespace":"orders.2","public":"orders" */
void vs_at_named_json(const struct vs_at *at);
/* Says what an answer means that is not OK.  Returns VS_FAILED. */
int vs_at_told(const struct vs_at *at, const struct vs_reply *reply);
/* How far this machine's clock is ahead of the store's. */
int64_t vs_at_ahead_ms(int64_t store_ms);

/* Every number that was ever used, and how many stand how. */
struct vs_workers {
    struct vs_listed *listed; /* free() it */
    size_t count;
    uint64_t standing[VS_STANDINGS], never; /* of the numbers that the layout has */
};
int vs_at_list(struct vs_at *at, struct vs_workers *workers);

/* import.c: `vesta workers import`, with argv[0] = "workers". */
int vs_workers_import(int argc, char **argv);

#endif
