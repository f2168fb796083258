/* reply.h -- helpers for the backends: filling in replies, checking records, deadlines, and URIs.
 *
 * If a function of a backend returns false or NULL, it has filled the reply with the reason, unless its comment states
 * otherwise. */
#ifndef VS_STORE_REPLY_H
#define VS_STORE_REPLY_H

#include "store/store.h"

/* Returns the common part of a backend's store. */
struct vs_store vs_store_base(const struct vs_backend *backend, const struct vs_store_opts *opts);

/* Clears a reply.  A reply starts as DOWN ("not done").  It becomes UNKNOWN ("perhaps") when a write is about to be
 * sent.  Only the functions below set other outcomes, so an outcome that no code has set is never OK. */

static inline void vs_reply_clear(struct vs_reply *reply) {
    *reply = (struct vs_reply){.outcome = VS_STORE_DOWN};
}

/* Call this before a write is sent.  After this, a failure means that the write may have been done. */
void vs_sent(struct vs_reply *reply);

/* Call this if the server replied that it did not do the write. */
void vs_not_done(struct vs_reply *reply);

/* Sets OK, which no other function does.  Call this after the reply to the decisive statement was read completely and
 * reports success. */
void vs_done(struct vs_reply *reply);

/* Sets CONFLICT.  The write was not done, because of the record that is now in reply->record (or ns). */
void vs_not_first(struct vs_reply *reply);

/* Sets an outcome other than OK, with the reason as a sentence.  Returns false, so that a check can end with it. */
__attribute__((format(printf, 3, 4))) bool vs_answer(struct vs_reply *reply, enum vs_outcome outcome,
                                                     const char *format, ...);

/* Works like vs_answer, for a fault.  The fault's remedy is printed after the sentence.  If the format starts with a
 * conversion and a colon ("%.60s: %s"), that part is the store's address. */
__attribute__((format(printf, 4, 5))) bool vs_answer_fault(struct vs_reply *reply, enum vs_outcome outcome,
                                                           enum vs_fault fault, const char *format, ...);
/* Works like vs_answer, with the text and the fault of another reply. */
bool vs_answer_as(struct vs_reply *reply, enum vs_outcome outcome, const struct vs_reply *as);

/* These two parse a complete stored text into reply->record (or ns).  If it is invalid, they fill the reply with
 * REFUSED and a text that contains `where`, and return false. */
bool vs_take_record(struct vs_reply *reply, const char *text, size_t length, const char *where, uint64_t worker);
bool vs_take_ns(struct vs_reply *reply, const char *text, size_t length, const char *where);

/* The namespace's record at the last ns_read.  A swap requires that this record is still stored. */
struct vs_met {
    uint64_t ver, incarnation; /* 0: no record has been read yet */
};
/* Stores reply->ns, which was just read, as that record. */
void vs_meet(struct vs_met *met, const struct vs_reply *reply);
/* Returns whether reply->ns, which was just read, is that record, or the first one that is read.  Otherwise sets the
 * reply to MOVED. */
bool vs_is_met(struct vs_met *met, struct vs_reply *reply);

/* Returns whether `next` may replace the stored record.  The stored version must be the version on which the write is
 * based, and `next` must continue that version's claim, or start the next claim.  If a store has lost writes, another
 * claim may have reached the same version, and this check prevents a renewal from overwriting it. */
bool vs_follows(const struct vs_record *next, const struct vs_record *stands, uint64_t old_ver);

/* Returns whether the stored record is the result of this very write. */
bool vs_is_same_write(const struct vs_record *record, const struct vs_record *stands);

/* A growing list of records.  Contains the operation's output, and the allocated length, which is 0 at first. */
struct vs_growing_list {
    struct vs_listed **listed;
    size_t *count, room;
};
/* Appends the reply's record with that worker id.  If there is no memory, fills the reply and returns false. */
bool vs_list_add(struct vs_growing_list *list, uint64_t worker, struct vs_reply *reply);
void vs_list_sort(struct vs_listed *listed, size_t count);

/* Returns whether a record's name is a number in canonical digits.  For example, 007 is not. */
bool vs_is_number(const char *name, uint64_t *number);

/* ------------------------------------------------------------------ a call's time */

/* Starts a call that may take ms_max.  Returns the start of the call, in boot time. */
int64_t vs_call_begin(struct vs_store *store, int64_t ms_max);
/* Returns the remaining time of the call, or 0 if it is over. */
int64_t vs_call_left_ms(const struct vs_store *store);
/* Returns how long the call may block at a time, so that it soon notices when the store's calls are cut (cut_us). */
int64_t vs_call_slice_ms(const struct vs_store *store);

/* ------------------------------------------------------------------ URIs:
 * scheme://[user[:password]@]hosts/path[?k=v&k=v]
 */

#define VS_URI_KEYS_MAX 5

struct vs_uri {
    char user[128], password[256];    /* percent-decoded */
    char hosts[512];                  /* for example "h1:p,h2:p" */
    char path[256];                   /* includes the leading slash, or is "" */
    char value[VS_URI_KEYS_MAX][256]; /* values of `keys`, in that order.  "": absent */
};

/* Parses a URI strictly.  `keys` ends with NULL.  Errors: VESTA_EOPTION. */
int vs_uri_parse(const char *text, const char *const *keys, struct vs_uri *out, struct vesta_error *err);

/* Parses "host:port", "host" or "[v6]:port".  Writes the host without brackets.  Leaves *port unchanged if the text has
 * none.  Errors: VESTA_EOPTION. */
int vs_uri_host(const char *text, char *host, size_t size, unsigned *port, struct vesta_error *err);

/* The sources of a secret, in order of priority: the caller, the first line of a file, the URI itself. */
struct vs_store_secret {
    const char *given; /* NULL or "": none */
    const char *file, *own;
};
/* Finds the secret.  Errors: VESTA_EIO, VESTA_EOPTION. */
int vs_uri_secret(const struct vs_store_secret *from, char *buf, size_t size, struct vesta_error *err);

/* Writes the percent-decoded path of a store on this machine, from scheme:/PATH, scheme:///PATH or
 * scheme://localhost/PATH.  Errors: VESTA_EOPTION, with the form of the store's URI. */
int vs_uri_path(const struct vs_backend *backend, const char *uri, char path[VS_URI_MAX], struct vesta_error *err);

#endif
