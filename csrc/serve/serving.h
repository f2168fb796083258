/* serving.h -- what `vesta serve` is told, from flags or from a config file, and the files that act on it.
 *
 *   serve.c    the command: the order in which a server comes to life
 *   flags.c    flags and config, as one struct vs_serving
 *   namespaces.c  namespaces: their names, opening them, telling how they are
 *   start.c    from listening to serving: namespaces opened by a few threads for each store (crews/)
 *   ending.c   the way out, within 5 s: numbers are given back, or it is said that they are not
 *   segments.c the tags of the config's segments: known, served, given back; tables.c reads which there are
 *   policies.c the policies of the namespaces
 *   clients.c  who may ask
 *   secure/tls.c  the certificate, and what becomes of it
 *   life.c     what goes on beside the requests: signals, the service manager, the watchdog
 *   bind.c     sockets, bound or handed over, and the user to become once they are there */
#ifndef VS_SERVING_H
#define VS_SERVING_H

#include "config/config.h"
#include "log/news.h"
#include "os/address.h"
#include "command/command.h"
#include "serve/systemd.h"
#include "serve/crews/threads.h"
#include "server/server.h"

struct vs_serving_listener {
    enum vs_protocol protocol;
    const char *address; /* that is bound */
    const char *written; /* by the config or a flag: its host may have several addresses */
    unsigned mode; /* of a unix: address's file */
    int fd;        /* -1: not bound yet */
    bool handed;   /* by a service manager */
    bool is_secure; /* TLS is spoken there */
    bool is_reached; /* by other machines; serve.c looks once */
};

#define VS_SERVING_FLAGS_MAX 40

struct vs_serving {
    struct vs_conf_opts conf; /* read it again for what holds now */
    struct vesta_opts opts;   /* of the one namespace that flags tell of */
    struct vs_conf_flag conf_flag[VS_SERVING_FLAGS_MAX];
    struct vs_config *config; /* that of the start: what follows points into it */
    bool has_policies;        /* of that config; a reload reads anew */
    struct vs_serving_listener listener[VS_LISTENERS_MAX];
    int listener_count;
    char host_address[VS_LISTENERS_MAX][VS_ADDRESS_TEXT_MAX];
    int threads;
    uint64_t auth_ms;
    struct vs_network proxy[VS_CONF_HOSTS_MAX];
    int proxy_count;
    struct vs_limits limits; /* of clients */
    struct vs_handed handed[VS_HANDED_MAX];
    struct vs_log_opts log;
    const char *access_path; /* of the access log; NULL: none */
    const char *password_file;  /* of --resp-password-file; NULL: none */
    const char *user;           /* NAME[:GROUP], to become once everything is bound; NULL: stay */
    char user_group[140];       /* NAME:GROUP of two keys */
    struct vs_control *control; /* NULL: there are no policies, and none can come */
    struct vs_life *life;
    struct vs_secure *secure; /* NULL: TLS is spoken nowhere */
    struct vs_start *start;
    struct vs_crews crews; /* who opens and closes which namespace */
    struct vs_segments *segments; /* NULL: the config has none */
    int64_t ended_us;             /* vs_monotonic_us when it was told to end; 0: it was not */
    struct vs_server server;
};

/* The command `vesta serve`. */
extern const struct vs_command vs_serve_command;

extern const char *const vs_protocol_names[VS_PROTOCOLS];

/* Reads flags, the environment and the config; opens nothing.  VS_GO, or an exit code after a message or help. */
int vs_flags_read(struct vs_serving *serving, int argc, char **argv);
/* Logs what is odd about the config. */
void vs_flags_tell(const struct vs_serving *serving);
void vs_flags_free(struct vs_serving *serving);
/* What a config lets clients have, and what its tags need. */
struct vs_limits vs_limits_of(const struct vs_config *config);

/* Names the namespaces, none of which is open yet.  VS_GO, or an exit code after a message. */
int vs_namespaces_prepare(struct vs_serving *serving);
/* VESTA_OK unless the namespace is leased as another generation, whose ids are not shown to differ from those of the
 * ones before: see store/lineage.h.  Errors: VESTA_EMISMATCH; VESTA_EIO, which may pass. */
int vs_namespace_prove(const struct vs_conf_namespace *conf, struct vesta_error *err);
/* Opens a generator for each protocol of a namespace, once that is VESTA_OK.  Errors: vesta_open's. */
int vs_namespace_open_gen(struct vs_serving *serving, int ns, struct vesta_error *err);
void vs_namespace_close(struct vs_serving *serving, int ns);
/* Logs what is served; with a severity that is not heard, as a rule, where it is not told of one by one. */
void vs_namespace_say(const struct vs_server *server, const struct vs_namespace *ns);
/* Logs how each namespace is, just now. */
void vs_namespaces_state(const struct vs_serving *serving);

/* Which threads open and close which namespaces.  false: no memory.  Own: free it also then. */
bool vs_crews_make(struct vs_crews *crews, const struct vs_config *config);
void vs_crews_free(struct vs_crews *crews);
/* How many threads call stores for them, at most: these, or the shifts of their keepers. */
int vs_crews_keepers(const struct vs_crews *crews);

/* Opens the namespaces and leases their numbers while the loops run: begin does not wait. */
struct vs_start *vs_start_make(struct vs_serving *serving);
void vs_start_begin(struct vs_start *start);
/* Whether a namespace has given ids; how many still wait to. */
bool vs_start_is_ready(struct vs_start *start, int ns);
int vs_start_waiting(struct vs_start *start);
/* The tags that can be known are known, which a start waits for as it does for namespaces. */
void vs_start_segments_settled(struct vs_start *start);
/* Gives up what still waits, and does not wait for that. */
void vs_start_stop(struct vs_start *start);
/* Behind vs_start_stop: whether all is done for a namespace, by that instant (vs_monotonic_us) at the latest. */
bool vs_start_stopped(struct vs_start *start, int ns, int64_t until_us);
/* Behind vs_start_stop, and the last word.  false: a thread hangs until then, and uses what is the server's. */
bool vs_start_end(struct vs_start *start, int64_t until_us);
/* VS_GO, or the exit code of a start that failed as a whole; said. */
int vs_start_result(const struct vs_start *start);
void vs_start_free(struct vs_start *start);

/* Makes what serves the config's segments, and says of their tags that they are not known yet.  VS_GO, or an exit code
 * after a message. */
int vs_segments_prepare(struct vs_serving *serving);
/* What the tags of a config need of the process. */
struct vs_tags_plan vs_segments_plan(const struct vs_config *config);
/* Opens them while the loops run.  false: there is no thread for it. */
bool vs_segments_begin(struct vs_serving *serving);
/* Gives back what is left of their ranges, once the loops have ended, until that instant (vs_monotonic_us); what is not
 * is said, and only stays unused.  false: a thread hangs in a store's call. */
bool vs_segments_release(struct vs_serving *serving, int64_t until_us);
void vs_segments_close(struct vs_serving *serving);
/* Logs how they are, just now.  Called on a loop's thread. */
void vs_segments_state(const struct vs_serving *serving);

/* Makes TERM and INT end the program before there are loops, also as process 1 of a container. */
void vs_ending_prepare(void);
/* It was told to end: from now on it has 5 s. */
void vs_ending_begin(struct vs_serving *serving);
/* Gives the worker numbers back.  VS_DONE, or VS_FAILED after a message for each that is not; ends the process where a
 * store hangs. */
int vs_ending_release(struct vs_serving *serving);
/* Everything is given back.  If END_MS are over before the rest of the memory is freed, the process ends all the same,
 * and that is no failure. */
void vs_ending_given_back(void);
void vs_ending_close(struct vs_serving *serving);
/* The log's end: a disk that hangs is waited for as long as there is time. */
void vs_ending_log(const struct vs_serving *serving);

/* Whether there are policies, or may come to be some. */
bool vs_policies_wanted(const struct vs_serving *serving);
/* Loads the policies and starts the thread that judges by them; the namespaces are open.  VS_GO, or an exit code. */
int vs_policies_open(struct vs_serving *serving);
void vs_policies_close(struct vs_serving *serving);

/* Makes the gate, with the config's clients.  VS_GO, or an exit code after a message. */
int vs_clients_open(struct vs_serving *serving);
/* Reads their file again: where it cannot be used the old ones stay.  Both are said. */
void vs_clients_reload(struct vs_serving *serving);

/* Whether a config's certificate can be used.  `facts` stays as it is if there is no certificate.
 * Errors: VESTA_EOPTION, which names the file, or what to install. */
struct vs_tls_facts;
int vs_secure_try(const struct vs_config *config, struct vs_tls_facts *facts, struct vesta_error *err);
/* Reads the certificate, where TLS is spoken.  VS_GO, or an exit code after a message. */
int vs_secure_open(struct vs_serving *serving);
/* Says what its new user may not read. */
void vs_secure_tell_rights(const struct vs_serving *serving);
/* Reads its files again where they have changed, or where that is asked for; warns before it expires.  Threads: one. */
void vs_secure_look(struct vs_serving *serving, bool is_asked);
void vs_secure_close(struct vs_serving *serving);
void vs_secure_use(struct vs_serving *serving, struct vs_serve_opts *opts);

/* Takes the sockets that were handed over, instead of the addresses of their protocols.  VS_GO, or an exit code. */
int vs_take_handed(struct vs_serving *serving);
/* Replaces each listener that names a host by one for each address of it.  VS_GO, or an exit code. */
int vs_bind_resolve(struct vs_serving *serving);
/* Binds what is not there yet.  VS_GO, or an exit code. */
int vs_bind_all(struct vs_serving *serving);
void vs_unbind_all(struct vs_serving *serving);
/* Becomes the user of the options, and keeps nothing of what root could do.  VS_GO, or an exit code. */
int vs_drop_rights(const struct vs_serving *serving);
/* Logs as whom it serves, where that is worth a word, and where secrets can be read on the way. */
void vs_tell_rights(const struct vs_serving *serving);

/* ---- watch.c */

/* Of a namespace, when it was looked at last. */
struct vs_seen {
    bool known, fails;
    bool is_stopped; /* for longer than a used-up unit */
    uint64_t worker, refused, refused_at; /* refused_at: when it began to fail */
    enum vesta_why why;
    int64_t failed_us;
    struct vs_news news; /* of its keeper */
};

/* Tells the log what has changed, if `tell`: why no ids are given, until when and what to do; what the keeper met. */
void vs_watch_namespace(struct vs_server *server, struct vs_namespace *ns, struct vs_seen *seen, bool tell);

/* ---- life.c */

/* Starts what watches over the server; vs_life_end ends it.  VS_GO, or an exit code. */
int vs_life_begin(struct vs_serving *serving);
void vs_life_end(struct vs_serving *serving);
/* Whether the service manager was told that it is ready. */
bool vs_life_is_ready(const struct vs_serving *serving);
/* All namespaces are settled, and so many of them give ids. */
void vs_life_ready(const struct vs_serving *serving, int ready);
/* Callbacks of vs_serve; `self` is the struct vs_serving. */
void vs_life_signal(void *self, int number);
void vs_life_stopping(void *self);

#endif
