/* vesta_client.h -- ids from vesta servers, made in this process: libvesta_client (pkg-config vesta-client).
 *
 * A client asks a server for a block, a run of ids that nobody else is given, and hands them out one by one: a request
 * for each block, not for each id; no worker number and no clock of its own.  It holds two blocks, and a thread of its
 * own fetches the next one ahead of need, so that a call for an id does not wait for a network.
 *
 *     #include <inttypes.h>
 *     #include <stdio.h>
 *     #include <vesta_client.h>
 *
 *     int main(void) {
 *         struct vesta_client_opts opts = VESTA_CLIENT_OPTS_INIT;
 *         struct vesta_client *client;
 *         struct vesta_error err;
 *         struct vesta_pause pause;
 *         uint64_t id;
 *         opts.servers = "ids1:8089,ids2:8089";
 *         opts.name = "orders";
 *         if (vesta_client_open(&opts, &client, &err) != VESTA_OK) return fprintf(stderr, "%s\n", err.text), 1;
 *         int rc = vesta_client_next_wait(client, &id, 2000 * 1000, &pause);
 *         if (rc == VESTA_OK) printf("%" PRIu64 "\n", id);
 *         vesta_client_close(client);
 *         return rc != VESTA_OK;
 *     }
 *
 * Promise: no id is given twice, by this client or another, whatever becomes of servers, networks, clocks and
 * processes: what a server granted belongs to who asked, and what is lost on the way is never given again.  Ids of one
 * thread rise within a block; those of several threads, servers or blocks may be out of order by as much time as a
 * block may be old (ttl_ms).
 *
 * Servers are asked in the order in which they are listed; one that fails is left alone for 0.1 s, then twice as long
 * each time up to 6.4 s, one that refuses for 6.4 s, and it is asked again as soon as it answers.  Where all of them
 * are left alone and somebody waits, one is asked before its time, ten times a second.  Each attempt has a deadline
 * (timeout_ms).  A connection on which a call timed out, or whose reply was not understood, is closed, so that no late
 * reply is ever taken for another's.  Where no server answers, ids come from `fallback`, a generator in this process
 * with a lease of its own, until one does.  An id's worker tells which generator made it.
 *
 * fork(), also by clone(2): a child begins anew, with its own thread, connections and blocks; the parent's are left
 * alone (the child's copies of the connections' descriptors stay open until it ends or runs another program).
 * Not for signal handlers.  Errors, pauses, conventions: as vesta.h.  Whoever links with -lvesta_client links -lvesta,
 * too; pkg-config vesta-client says so.
 */
#ifndef VESTA_CLIENT_H
#define VESTA_CLIENT_H

#include "vesta.h"

#ifdef __cplusplus
extern "C" {
#endif

#define VESTA_SERVERS_MAX 8
#define VESTA_ADDRESS_MAX 256      /* a server's address, with its NUL */
#define VESTA_BLOCK_IDS_MAX 100000 /* a server gives no more ids in a block */

struct vesta_client;

/* What vesta_client_open is told; all but size and servers may be 0. */
struct vesta_client_opts {
    size_t size;          /* of the struct that the caller knows: VESTA_CLIENT_OPTS_INIT sets it */
    const char *servers;  /* of the Redis protocol, the best one first: HOST:PORT, [IPv6]:PORT, unix:PATH, or
                             redis://NAME:SECRET@HOST:PORT, rediss:// with TLS, where what is special in a name or a
                             secret is written as %XX; commas in between; at most VESTA_SERVERS_MAX, in at most 2000
                             bytes.  Only HOST:PORT of it is shown to anybody */
    const char *name;     /* a namespace (or a tag) of the servers; NULL: default */
    const char *password; /* the client's secret, or the servers' password, of at most 511 bytes; NULL: none */
    struct vesta_gen *fallback; /* open for longer than the client is; NULL: no ids while no server answers */
    int64_t block_min;          /* ids of the smallest block that is asked for, which is the first; 0: 100 */
    int64_t block_max;          /* of the largest one, up to VESTA_BLOCK_IDS_MAX; 0: 10000.  In between a block is as
                                   large as lasts for a second or so */
    int64_t ttl_ms;             /* a block that was asked for longer ago is dropped, so that ids are not older than
                                   that; up to a day; 0: 10 s */
    int64_t timeout_ms; /* of one attempt: of connecting with its greeting, and of a block; up to a minute; 0: 2 s */
    const char *user;   /* the client's name, where a server's address has none; NULL: its secret says who it is */
    const char *secret_file;     /* a file with the secret in its first line, instead of password; it is read for each
                                    connection, so that the secret can be exchanged */
    const char *tls_ca;          /* PEM: who may sign the certificates of rediss:// servers; NULL: whom this system trusts */
    const char *tls_certificate; /* PEM: the client's own, where servers want one; as tls_ca read for each connection */
    const char *tls_key;         /* PEM: its key; NULL: it is in the same file */
    int tls_unverified;          /* whoever answers is taken for the server, and may read the secret: for trying out */
};
#define VESTA_CLIENT_OPTS_INIT                                                                                         \
    { sizeof(struct vesta_client_opts), NULL, NULL, NULL, NULL, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, 0 }

/* Opens a client; connects to nothing yet: the first call for an id does, through the client's thread.
 * Threads: any.  Own: close with vesta_client_close.
 * Errors: VESTA_EOPTION, which names the option, its value and what it may be; VESTA_EIO; VESTA_ENOMEM. */
VESTA_API int vesta_client_open(const struct vesta_client_opts *opts, struct vesta_client **client,
                                struct vesta_error *err);

/* Ends the client and its thread within a fraction of a second; what it has left of its blocks is lost.  client may be
 * NULL.  Threads: no other call on this client may run or follow. */
VESTA_API void vesta_client_close(struct vesta_client *client);

/* Gives one id.  Waits for no server; once in a while it takes a lock that nobody holds for longer than some
 * instructions take, and wakes the thread.  Threads: any; after a fork in parent and child.
 * Errors: VESTA_EPAUSE with VESTA_RANGE: no block is there just now, and one is being fetched; wait_us is -1 where
 * every server refuses (a name that it does not have, a password) and there is no fallback: a person has to act. */
VESTA_API int vesta_client_next(struct vesta_client *client, uint64_t *id, struct vesta_pause *pause);

/* The same, but waits for up to wait_us_max, unless every server refuses.  Threads: any; blocks.  Errors: VESTA_EPAUSE.
 */
VESTA_API int vesta_client_next_wait(struct vesta_client *client, uint64_t *id, int64_t wait_us_max,
                                     struct vesta_pause *pause);

/* Gives up to n ids: at least one, or a pause.  Shape: ids[0..*got) ascending; n >= 1.  Threads: any.
 * Errors: VESTA_EPAUSE. */
VESTA_API int vesta_client_next_n(struct vesta_client *client, uint64_t *ids, size_t n, size_t *got,
                                  struct vesta_pause *pause);

/* Exactly n ids, or none that the caller may use: waits like vesta_client_next_wait.  Ids taken before a failing pause
 * are spent, not repeated.  Shape: ids[0..n).  Threads: any; blocks.  Errors: VESTA_EPAUSE. */
VESTA_API int vesta_client_batch_wait(struct vesta_client *client, uint64_t *ids, size_t n, int64_t wait_us_max,
                                      struct vesta_pause *pause);

/* One sentence about a pause: each server with what last came of it.  Shape: buf[0..size).  Threads: any. */
VESTA_API void vesta_client_pause_text(struct vesta_client *client, const struct vesta_pause *pause, char *buf,
                                       size_t size);

/* A server, or the fallback, as this process has come to know it since it opened the client (or was forked). */
struct vesta_client_source {
    char address[VESTA_ADDRESS_MAX]; /* "fallback" */
    int is_up;            /* it is connected and not left alone just now; of the fallback: it gave the last block */
    uint64_t requests;    /* for blocks */
    uint64_t blocks, ids; /* that it granted */
    uint64_t errors;      /* attempts that failed: to connect, or to get a block */
    char error[160];      /* the last one; "" if there was none, or a block has come since */
};

struct vesta_client_info {
    char name[VESTA_NAMESPACE_MAX];
    uint64_t ids;             /* taken out of blocks: given, or in the hands of a thread, which holds up to 63 ahead */
    uint64_t blocks;          /* fetched */
    uint64_t requests;        /* sent to servers for them */
    uint64_t drops, dropped;  /* blocks that were dropped as stale, and ids in them */
    uint64_t errors;          /* of all sources */
    uint64_t fallback_blocks; /* of `blocks`: how often no server answered */
    uint64_t left, next_left; /* ids of the current block, and of the next one */
    uint64_t block_ids;       /* how many are asked for at present */
    int server_count;
    struct vesta_client_source server[VESTA_SERVERS_MAX]; /* in the order of the list */
    struct vesta_client_source fallback;
};
/* Threads: any. */
VESTA_API void vesta_client_get_info(struct vesta_client *client, struct vesta_client_info *out);

#ifdef __cplusplus
}
#endif
#endif
