/* vesta_client.h -- libvesta_client (pkg-config vesta-client): ids from vesta servers, issued in this process.
 *
 * A client requests a block, which is a run of ids that no other client gets, and issues these ids one by one.  So it
 * sends one request per block instead of one per id, and it needs neither a worker id nor a clock.  It holds two
 * blocks.  Its thread fetches the next block in advance, so a call for an id does not wait for the network.
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
 * Promise: no id is issued twice, by this or another client, whatever happens to servers, networks, clocks and
 * processes.  A block belongs to the client that requested it, and a block that is lost on the way is never issued.
 * The ids of one thread ascend within a block.  Ids from different threads, servers or blocks may be out of order by up
 * to the age of a block (ttl_ms).
 *
 * Servers are tried in the order of the list.  A server that fails is skipped for 0.1 s, doubled with each failure up
 * to 6.4 s.  A server that rejects the client is skipped for 6.4 s.  After this time, the client connects to the server
 * again, and uses it as soon as it answers.  If all servers are skipped and a caller waits, the client tries one of
 * them early, ten times a second.  Each attempt has a time limit (timeout_ms).  If a call times out or its reply is
 * invalid, its connection is closed, so that a late reply is never read as the answer to the next call.  While no
 * server answers, ids come from `fallback`, a generator in this process with its own lease.  The worker id in an id
 * shows which generator made it.
 *
 * fork() and clone(2): a child starts with its own thread, connections and blocks.  It never uses those of the parent.
 * The child's copies of the parent's descriptors stay open until the child ends or runs another program.
 * Do not use a client in signal handlers.  Errors, pauses, conventions: as vesta.h.  Link both -lvesta_client and
 * -lvesta, as pkg-config vesta-client prints. */
#ifndef VESTA_CLIENT_H
#define VESTA_CLIENT_H

#include "vesta.h"
#include "vesta_uuid.h"

#ifdef __cplusplus
extern "C" {
#endif

#define VESTA_SERVERS_MAX 8
#define VESTA_ADDRESS_MAX 256      /* bytes of a server's address, with the NUL */
#define VESTA_BLOCK_IDS_MAX 100000 /* the maximum number of ids in a block from a server */

struct vesta_client;

/* Options of vesta_client_open.  Every member except size and servers may be 0. */
struct vesta_client_opts {
    size_t size;          /* sizeof the caller's struct, set by VESTA_CLIENT_OPTS_INIT */
    const char *servers;  /* addresses of the Redis protocol, in order of preference: HOST:PORT, [IPv6]:PORT,
                           * unix:PATH, redis://NAME:SECRET@HOST:PORT, or rediss:// for TLS.  Separate them with
                           * commas, and write special characters in a name or secret as %XX.  At most
                           * VESTA_SERVERS_MAX, in at most 2000 bytes.  Error texts and vesta_client_info contain
                           * only HOST:PORT */
    const char *name;     /* a namespace or tag that the servers have. NULL: default */
    const char *password; /* the client's secret, or the servers' password, at most 511 bytes. NULL: none */
    struct vesta_gen
        *fallback;           /* issues ids while no server answers. Must outlive the client. NULL: no fallback */
    int64_t block_min;       /* ids in the first block, and the minimum for every block. 0: 100 */
    int64_t block_max;       /* the maximum for every block, up to VESTA_BLOCK_IDS_MAX. 0: 10000.  Between the two
                                limits, a block is sized to last about a second */
    int64_t ttl_ms;          /* a block is dropped this long after its request, which limits the age of an id. Up to
                                a day. 0: 10 s */
    int64_t timeout_ms;      /* time limit for connecting and greeting, and for each block. Up to a minute. 0: 2 s */
    const char *user;        /* the client's name, for servers whose address has no name. NULL: the secret alone
                                identifies it */
    const char *secret_file; /* a file with the secret in its first line, instead of password.  Read for each
                                connection, so that you can replace the secret */
    const char *tls_ca;      /* PEM: the CAs that may sign the certificates of rediss:// servers. NULL: the system's */
    const char
        *tls_certificate; /* PEM: a client certificate, if servers require one. Read, like tls_ca, per connection */
    const char *tls_key;  /* PEM: the key of tls_certificate. NULL: it is in the same file */
    int tls_unverified;   /* for tests only: accept any certificate, so that any server can read the secret */
};
#define VESTA_CLIENT_OPTS_INIT                                                                                         \
    { sizeof(struct vesta_client_opts), NULL, NULL, NULL, NULL, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, 0 }

/* Opens a client without connecting.  The first call for an id makes the client's thread connect.
 * Threads: any.  Own: close with vesta_client_close.
 * Errors: VESTA_EOPTION with the option, its value and the values it accepts, VESTA_EIO, VESTA_ENOMEM. */
VESTA_API int vesta_client_open(const struct vesta_client_opts *opts, struct vesta_client **client,
                                struct vesta_error *err);

/* Ends the client and its thread within a fraction of a second.  The ids that remain in its blocks are lost.  client
 * may be NULL.
 * Threads: no other call on this client may run at the same time or follow. */
VESTA_API void vesta_client_close(struct vesta_client *client);

/* Issues one id without waiting for a server.  It occasionally wakes the client's thread, or takes a lock that is held
 * for a few instructions only.  Threads: any, also after fork() in parent and child.
 * Errors: VESTA_EPAUSE with VESTA_RANGE: no block is available now, and one is being fetched.  wait_us is -1 if every
 * server rejects the client (an unknown name, a wrong password) and there is no fallback.  In this case a person must
 * act. */
VESTA_API int vesta_client_next(struct vesta_client *client, uint64_t *id, struct vesta_pause *pause);

/* Like vesta_client_next, but waits for up to wait_us_max, unless every server rejects the client.
 * Threads: any.  May block.
 * Errors: VESTA_EPAUSE. */
VESTA_API int vesta_client_next_wait(struct vesta_client *client, uint64_t *id, int64_t wait_us_max,
                                     struct vesta_pause *pause);

/* Issues up to n ids.  Issues at least one id, or returns a pause.  Shape: ids[0..*got) ascending, n >= 1.
 * Threads: any.
 * Errors: VESTA_EPAUSE. */
VESTA_API int vesta_client_next_n(struct vesta_client *client, uint64_t *ids, size_t n, size_t *got,
                                  struct vesta_pause *pause);

/* Issues exactly n ids, or fails.  Waits like vesta_client_next_wait.  If a pause makes the call fail, the ids already
 * taken are lost and are never issued.  Shape: ids[0..n).  Threads: any.  May block.  Errors: VESTA_EPAUSE. */
VESTA_API int vesta_client_batch_wait(struct vesta_client *client, uint64_t *ids, size_t n, int64_t wait_us_max,
                                      struct vesta_pause *pause);

/* Issue UUIDs, each made from one id of a block: vesta_client_next_uuid like vesta_client_next, and
 * vesta_client_batch_uuid_wait like vesta_client_batch_wait.  No request is needed per UUID.  UUIDs of one thread ascend
 * within a block.  If the clock of a server goes back, blocks and therefore UUIDs pause, unlike with vesta_next_uuid.
 * Shape: out[0..VESTA_UUID_BYTES), n times.  Threads: any.
 * Errors: as those functions.  VESTA_EOPTION if the layout of the block cannot have the shape, or if `name` is a tag. */
VESTA_API int vesta_client_next_uuid(struct vesta_client *client, enum vesta_shape shape, unsigned char *out,
                                     struct vesta_pause *pause);
VESTA_API int vesta_client_batch_uuid_wait(struct vesta_client *client, enum vesta_shape shape, unsigned char *out,
                                           size_t n, int64_t wait_us_max, struct vesta_pause *pause);

/* Describes a pause in one sentence, with the last result of each server.  Shape: buf[0..size).  Threads: any. */
VESTA_API void vesta_client_pause_text(struct vesta_client *client, const struct vesta_pause *pause, char *buf,
                                       size_t size);

/* The state of a server or of the fallback.  Counts start when this process opens the client or is forked. */
struct vesta_client_source {
    char address[VESTA_ADDRESS_MAX]; /* the server's address, or "fallback" */
    int is_up;            /* 1: the server is connected and not skipped. For the fallback: it issued the last block */
    uint64_t requests;    /* requests for blocks */
    uint64_t blocks, ids; /* blocks that this source granted, and the ids in them */
    uint64_t errors;      /* failed attempts to connect or to get a block */
    char error[160];      /* the last error. "" if there was none, or a block was granted since */
};

struct vesta_client_info {
    char name[VESTA_NAMESPACE_MAX];
    uint64_t ids;             /* ids taken from blocks: issued, or reserved for a thread (up to 63 for each thread) */
    uint64_t blocks;          /* blocks that were fetched */
    uint64_t requests;        /* requests for blocks, sent to servers */
    uint64_t drops, dropped;  /* stale blocks that were dropped, and the ids in them */
    uint64_t errors;          /* the sum of the errors of all sources */
    uint64_t fallback_blocks; /* how many of `blocks` came from the fallback */
    uint64_t left, next_left; /* ids left in the current block, and in the next one */
    uint64_t block_ids;       /* ids that the next request asks for */
    int server_count;
    struct vesta_client_source server[VESTA_SERVERS_MAX]; /* in the order of the list */
    struct vesta_client_source fallback;
};
/* Sets *out to the current state of the client.  Threads: any. */
VESTA_API void vesta_client_get_info(struct vesta_client *client, struct vesta_client_info *out);

#ifdef __cplusplus
}
#endif
#endif
