/* reply.h -- what the backends share: how an answer is filled in, what their URIs look like. */
#ifndef VS_STORE_REPLY_H
#define VS_STORE_REPLY_H

#include "store/store.h"

/* What each backend's store begins with. */
struct vs_store vs_store_base(const struct vs_backend *backend, const struct vs_store_opts *opts);

/* A reply says "not done" (DOWN) from its beginning, "perhaps" (UNKNOWN) from the moment in which a write is sent, and
 * anything else only by one of these.  An outcome that nobody set is never OK. */

/* Empties the reply for a call. */
static inline void vs_reply_clear(struct vs_reply *reply) {
    *reply = (struct vs_reply){.outcome = VS_STORE_DOWN};
}

/* A write is about to leave: whatever goes wrong from here on, it may be done. */
void vs_sent(struct vs_reply *reply);

/* The server said that it did not do it. */
void vs_not_done(struct vs_reply *reply);

/* The one place where an outcome becomes OK: the answer to the statement that did the work came, was read to its end,
 * and says that it was done. */
void vs_done(struct vs_reply *reply);

/* A write was not done, for what stands in reply->record (or ns). */
void vs_not_first(struct vs_reply *reply);

/* Why not, in a sentence; never OK.  False, so that a check can end with it. */
__attribute__((format(printf, 3, 4))) bool vs_answer(struct vs_reply *reply, enum vs_outcome outcome,
                                                     const char *format, ...);

/* As vs_answer, for a fault whose remedy is printed behind the sentence.  If the format begins with a conversion and a
 * colon, as "%.60s: %s", these are the store's place. */
__attribute__((format(printf, 4, 5))) bool vs_answer_fault(struct vs_reply *reply, enum vs_outcome outcome,
                                                           enum vs_fault fault, const char *format, ...);
/* As vs_answer, with the sentence and the fault of another reply. */
bool vs_answer_as(struct vs_reply *reply, enum vs_outcome outcome, const struct vs_reply *as);

/* Reads a stored text into reply->record (or ns), whole.  False: REFUSED, with `where` in the sentence. */
bool vs_take_record(struct vs_reply *reply, const char *text, size_t length, const char *where, uint64_t worker);
bool vs_take_ns(struct vs_reply *reply, const char *text, size_t length, const char *where);

/* The namespace's record as an ns_read met it: what a swap holds the stored one against. */
struct vs_met {
    uint64_t ver, incarnation; /* 0: none was met yet */
};
/* reply->ns has just been read: remembers it. */
void vs_meet(struct vs_met *met, const struct vs_reply *reply);
/* reply->ns has just been read: true if it is the one that was met (or the first); else the reply says MOVED. */
bool vs_is_met(struct vs_met *met, struct vs_reply *reply);

/* Whether a write may be done over what stands there: the version must be the one that it was decided on, and the write
 * go on with the claim of that version, or be the next one.  A store that lost writes may have come to the same version
 * by another way; then nobody's renewal is done over another's claim. */
bool vs_follows(const struct vs_record *next, const struct vs_record *stands, uint64_t old_ver);

/* Whether what stands there is this very write. */
bool vs_is_same_write(const struct vs_record *record, const struct vs_record *stands);

/* A list of records while it grows: what the operation is to fill, and how many there is room for; that begins with 0.
 */
struct vs_growing_list {
    struct vs_listed **listed;
    size_t *count, room;
};
/* Adds the reply's record as that number's.  False with the reply filled where memory is out. */
bool vs_list_add(struct vs_growing_list *list, uint64_t worker, struct vs_reply *reply);
void vs_list_sort(struct vs_listed *listed, size_t count);

/* A record is named by its number, in digits and nothing else: 007 is no record. */
bool vs_is_number(const char *name, uint64_t *number);

/* ------------------------------------------------------------------ a call's time */

/* A call begins, and may take this long.  Returns its beginning, in boot time. */
int64_t vs_call_begin(struct vs_store *store, int64_t ms_max);
/* What is left of it; 0 or less: it is over. */
int64_t vs_call_left_ms(const struct vs_store *store);
/* As much of that as may be waited for at once: a store that is cut meanwhile is noticed behind it. */
int64_t vs_call_slice_ms(const struct vs_store *store);

/* ------------------------------------------------------------------ URIs:
 * scheme://[user[:password]@]hosts/path[?k=v&k=v]
 */

#define VS_URI_KEYS_MAX 5

struct vs_uri {
    char user[128], password[256];    /* percent-decoded */
    char hosts[512];                  /* h1:p,h2:p */
    char path[256];                   /* with its slash; "" where there is none */
    char value[VS_URI_KEYS_MAX][256]; /* of the keys, in their order; "" where it was not said */
};

/* Reads a URI strictly.  Shape: keys end with NULL.  Errors: VESTA_EOPTION. */
int vs_uri_parse(const char *text, const char *const *keys, struct vs_uri *out, struct vesta_error *err);

/* "host:port", "host", "[v6]:port": the host without brackets, and the port, if it is said: *port stays otherwise.
 * Errors: VESTA_EOPTION. */
int vs_uri_host(const char *text, char *host, size_t size, unsigned *port, struct vesta_error *err);

/* Where a secret may come from: the caller, else a file's first line, else the URI itself ("": it has none). */
struct vs_store_secret {
    const char *given; /* NULL: nobody gave one */
    const char *file, *own;
};
/* Errors: VESTA_EIO, VESTA_EOPTION. */
int vs_uri_secret(const struct vs_store_secret *from, char *buf, size_t size, struct vesta_error *err);

/* The path of a store on this machine, without %XX: scheme:/PATH, scheme:///PATH, scheme://localhost/PATH.
 * Errors: VESTA_EOPTION, with the store's form. */
int vs_uri_path(const struct vs_backend *backend, const char *uri, char path[VS_URI_MAX], struct vesta_error *err);

#endif
