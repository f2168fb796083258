/* store.h -- what every store of leases can do.  One backend a file; its foreign headers only there.
 * Calls block, are made by a keeper one at a time, and hold nothing between each other but the namespace's version. */
#ifndef VS_STORE_H
#define VS_STORE_H

#include "core/lease.h"

/* What a call came to; `outcome` decides which of the others mean something. */
struct vs_reply {
    enum vs_outcome outcome;
    int64_t store_ms;        /* the store's clock */
    struct vs_record record; /* read, swap */
    struct vs_ns_record ns;  /* ns_read, ns_swap */
    char text[160];          /* why it was refused, or what is wrong with the store */
};

struct vs_store {
    const struct vs_store_ops *ops;
};

struct vs_store_opts {
    const char *namespace_;
    int group;                       /* gid that shares what is made, or -1 */
    const struct vesta_clock *clock; /* the store's clock, where it has none of its own */
};

struct vs_store_ops {
    const char *scheme; /* "file" of file:/var/lib/vesta */
    bool is_local;      /* on this machine: asking it takes no longer than a disk */
    int (*open)(const char *place, const struct vs_store_opts *opts, struct vs_store **store, struct vesta_error *err);
    void (*close)(struct vs_store *store);
    /* The namespace's records with ascending numbers: a hint, never a decision.  *listed is the caller's to free. */
    void (*list)(struct vs_store *store, struct vs_listed **listed, size_t *count, struct vs_reply *reply);
    void (*read)(struct vs_store *store, uint64_t worker, struct vs_reply *reply);
    /* Writes `record` if the stored version is old_ver (0: there is none); stamps written_ms.  One atomic step, in
     * which the namespace's record must still be the one that this object's last ns_read met, or the outcome is MOVED.
     */
    void (*swap)(struct vs_store *store, uint64_t worker, uint64_t old_ver, const struct vs_record *record,
                 struct vs_reply *reply);
    void (*ns_read)(struct vs_store *store, struct vs_reply *reply);
    void (*ns_swap)(struct vs_store *store, uint64_t old_ver, const struct vs_ns_record *record,
                    struct vs_reply *reply);
};

extern const struct vs_store_ops vs_store_file;

/* Opens the store of a URI.  Errors: VESTA_EOPTION: a scheme that this build does not have; VESTA_EIO. */
int vs_store_open(const char *uri, const struct vs_store_opts *opts, struct vs_store **store, struct vesta_error *err);

/* VESTA_OK if this build has the URI's scheme. */
int vs_store_check(const char *uri, struct vesta_error *err);

#endif
