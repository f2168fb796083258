/* serving.h -- the settings of `vesta serve`, from flags or a config file, and the functions that apply them.  README
 * lists the files. */
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
    const char *address; /* the address to bind */
    const char *written; /* the address as written in the config or a flag: its host may have several addresses */
    unsigned mode; /* file mode of a unix: address */
    int fd;        /* the socket (-1: not bound yet) */
    bool handed;   /* the socket was inherited from a service manager */
    bool is_secure; /* the listener uses TLS */
    bool is_reached; /* reachable from other machines (determined once by serve.c) */
};

#define VS_SERVING_FLAGS_MAX 40

struct vs_serving {
    struct vs_conf_opts conf; /* the sources of the config, for a reload */
    struct vesta_opts opts;   /* options of the single namespace of a server without a config file */
    struct vs_conf_flag conf_flag[VS_SERVING_FLAGS_MAX];
    struct vs_config *config; /* the config as read at the start (the following members point into it) */
    bool has_policies;        /* the config had policies at the start */
    struct vs_serving_listener listener[VS_LISTENERS_MAX];
    int listener_count;
    char host_address[VS_LISTENERS_MAX][VS_ADDRESS_TEXT_MAX];
    int threads;
    uint64_t auth_ms;
    struct vs_network proxy[VS_CONF_HOSTS_MAX];
    int proxy_count;
    struct vs_limits limits; /* limits of clients, as configured */
    struct vs_handed handed[VS_HANDED_MAX];
    struct vs_log_opts log;
    const char *access_path; /* path of the access log (NULL: none) */
    const char *password_file;  /* path in --resp-password-file (NULL: none) */
    const char *user;           /* NAME[:GROUP], to switch to after binding (NULL: do not switch) */
    char user_group[140];       /* NAME:GROUP, joined from two keys */
    struct vs_control *control; /* NULL: there are no policies, and a reload cannot add any */
    struct vs_life *life;
    struct vs_secure *secure; /* NULL: no listener uses TLS */
    struct vs_start *start;
    struct vs_crews crews; /* which threads open and close which namespaces */
    struct vs_segments *segments; /* NULL: the config has no segments */
    struct vs_lease_clerks *leasing;   /* NULL: the config has no leases */
    struct vs_watermarks *marks;
    int64_t ended_us;             /* vs_monotonic_us when stopping began (0: the server is not stopping) */
    struct vs_server server;
};

/* The command `vesta serve`. */
extern const struct vs_command vs_serve_command;

extern const char *const vs_protocol_names[VS_PROTOCOLS];

/* Reads flags, the environment and the config.  Opens nothing.  Returns VS_GO, or an exit code after a message or
 * help. */
int vs_flags_read(struct vs_serving *serving, int argc, char **argv);
/* Logs warnings about the config. */
void vs_flags_tell(const struct vs_serving *serving);
void vs_flags_free(struct vs_serving *serving);
/* Returns the configured limits of clients, and the needs of the config's tags. */
struct vs_limits vs_limits_of(const struct vs_config *config);

/* Names the namespaces, without opening them.  Returns VS_GO, or an exit code after a message. */
int vs_namespaces_prepare(struct vs_serving *serving);
/* Returns VESTA_OK, unless the namespace is a generation and there is no proof that its ids differ from those of
 * earlier generations (see store/lineage.h).  Errors: VESTA_EMISMATCH, or VESTA_EIO, for which a retry may help. */
int vs_namespace_prove(const struct vs_conf_namespace *conf, struct vesta_error *err);
/* Opens a generator for each protocol of a namespace.  Call vs_namespace_prove first.  Errors: as vesta_open. */
int vs_namespace_open_gen(struct vs_serving *serving, int ns, struct vesta_error *err);
void vs_namespace_close(struct vs_serving *serving, int ns);
/* Logs that a namespace is served.  If the namespace is one that lists do not show individually, the severity is
 * lower. */
void vs_namespace_say(const struct vs_server *server, const struct vs_namespace *ns);
/* Logs the state of each namespace. */
void vs_namespaces_state(const struct vs_serving *serving);

/* Decides which threads open and close which namespaces.  Returns false if there is no memory.  Own: call vs_crews_free
 * in either case. */
bool vs_crews_make(struct vs_crews *crews, const struct vs_config *config);
void vs_crews_free(struct vs_crews *crews);
/* Returns an upper bound for the number of threads that call stores.  It holds for these threads, and also for the
 * keepers' threads. */
int vs_crews_keepers(const struct vs_crews *crews);

/* Opens the namespaces and leases their worker ids while the loops run.  vs_start_begin does not wait. */
struct vs_start *vs_start_make(struct vs_serving *serving);
void vs_start_begin(struct vs_start *start);
/* vs_start_is_ready returns whether a namespace has issued ids.  vs_start_waiting returns how many namespaces have not
 * issued ids. */
bool vs_start_is_ready(struct vs_start *start, int ns);
int vs_start_waiting(struct vs_start *start);
/* Records that every readable tag was read.  A start waits for the tags in the same way as for a namespace. */
void vs_start_segments_settled(struct vs_start *start);
/* Stops opening namespaces, without waiting. */
void vs_start_stop(struct vs_start *start);
/* Call it after vs_start_stop.  Waits until until_us (vs_monotonic_us).  Returns whether the thread that opens the
 * namespace has finished with it. */
bool vs_start_stopped(struct vs_start *start, int ns, int64_t until_us);
/* Call it last, after vs_start_stop.  Returns false if at until_us a thread still hangs and uses the server's
 * memory. */
bool vs_start_end(struct vs_start *start, int64_t until_us);
/* Returns VS_GO, or the exit code if the start failed as a whole.  The failure has already been logged. */
int vs_start_result(const struct vs_start *start);
void vs_start_free(struct vs_start *start);

/* Creates the state of the tags.  A table's tags are unknown until the table was read.  Returns VS_GO, or an exit code
 * after a message. */
int vs_segments_prepare(struct vs_serving *serving);
/* Returns the descriptors that the tags of a config need. */
struct vs_tags_plan vs_segments_plan(const struct vs_config *config);
/* Opens the tags while the event loops run.  Returns false if no thread can be started. */
bool vs_segments_begin(struct vs_serving *serving);
/* Call it after the event loops have ended.  Returns the unused remainders of the tags' ranges to the databases until
 * until_us (vs_monotonic_us).  If a range cannot be returned, the failure is logged, and the next start on this machine
 * uses the range.  Returns false if a thread hangs in a store call. */
bool vs_segments_release(struct vs_serving *serving, int64_t until_us);
void vs_segments_close(struct vs_serving *serving);
/* Logs the state of the tags.  Threads: a loop's. */
void vs_segments_state(const struct vs_serving *serving);

/* Starts the threads that lease worker ids for other programs (leases.c).  Returns VS_GO, or an exit code after a
 * message. */
int vs_leasing_begin(struct vs_serving *serving);
/* Call it after the event loops have ended.  Returns false if a thread hangs in a store call at until_us. */
bool vs_leasing_end(struct vs_serving *serving, int64_t until_us);

/* Prepares the thread that reads watermarks (watermarks.c).  Returns false if there is no memory. */
bool vs_marks_begin(struct vs_serving *serving);
/* Call it after the event loops have ended.  Returns false if the thread hangs in a store call at until_us. */
bool vs_marks_end(struct vs_serving *serving, int64_t until_us);

/* Makes TERM and INT end the program until the event loops run, even if the process is PID 1 of a container. */
void vs_ending_prepare(void);
/* Begins to stop the server, which takes at most 5 s. */
void vs_ending_begin(struct vs_serving *serving);
/* Releases the worker ids.  Returns VS_DONE, or VS_FAILED after a message for each worker id that was not released.
 * Ends the process if a store hangs. */
int vs_ending_release(struct vs_serving *serving);
/* Records that everything is released.  If END_MS pass before the remaining memory is freed, the process still exits
 * with success. */
void vs_ending_given_back(void);
void vs_ending_close(struct vs_serving *serving);
/* Ends the log.  If the disk hangs, waits as long as END_MS allows. */
void vs_ending_log(const struct vs_serving *serving);

/* Returns whether there are policies, or a reload may add some. */
bool vs_policies_wanted(const struct vs_serving *serving);
/* Loads the policies and starts the thread that runs them, after the namespaces are open.  Returns VS_GO, or an exit
 * code. */
int vs_policies_open(struct vs_serving *serving);
void vs_policies_close(struct vs_serving *serving);

/* Creates the gate, which authenticates clients, from the config's accounts.  Returns VS_GO, or an exit code after a
 * message. */
int vs_clients_open(struct vs_serving *serving);
/* Reads the file of clients again and logs the result.  If the file cannot be used, the current clients stay. */
void vs_clients_reload(struct vs_serving *serving);

/* Checks whether a config's certificate can be used.  If there is no certificate, `facts` is unchanged.  Errors:
 * VESTA_EOPTION.  Its text names the file, or what to install. */
struct vs_tls_facts;
int vs_secure_try(const struct vs_config *config, struct vs_tls_facts *facts, struct vesta_error *err);
/* Reads the certificate if a listener uses TLS.  Returns VS_GO, or an exit code after a message. */
int vs_secure_open(struct vs_serving *serving);
/* Logs the TLS files that the server's new user may not read. */
void vs_secure_tell_rights(const struct vs_serving *serving);
/* Reads the TLS files again if they have changed or a reload was requested, and warns before the certificate expires.
 * Threads: one. */
void vs_secure_look(struct vs_serving *serving, bool is_asked);
void vs_secure_close(struct vs_serving *serving);
void vs_secure_use(struct vs_serving *serving, struct vs_serve_opts *opts);

/* Replaces the addresses of a protocol by the sockets that were inherited for it.  Returns VS_GO, or an exit code. */
int vs_take_handed(struct vs_serving *serving);
/* Replaces each listener with a host name by one listener per address.  Returns VS_GO, or an exit code. */
int vs_bind_resolve(struct vs_serving *serving);
/* Binds the addresses that have no socket yet.  Returns VS_GO, or an exit code. */
int vs_bind_all(struct vs_serving *serving);
void vs_unbind_all(struct vs_serving *serving);
/* Switches to the configured user and drops all privileges of root.  Returns VS_GO, or an exit code. */
int vs_drop_rights(const struct vs_serving *serving);
/* Logs the user if it is relevant, and warns if secrets are sent unencrypted. */
void vs_tell_rights(const struct vs_serving *serving);

/* ---- watch.c */

/* The state of a namespace at the last check. */
struct vs_seen {
    bool known, fails;
    bool is_stopped; /* it issues no ids, and the reason is not only an exhausted time unit */
    uint64_t worker, refused, refused_at; /* refused_at: number of rejected requests when the failure began */
    enum vesta_why why;
    int64_t failed_us;
    struct vs_news news; /* problems of the keeper that were logged */
};

/* Updates *seen.  If `tell` is set, also logs changes: why no ids are issued, until when, what to do, and problems of
 * the keeper. */
void vs_watch_namespace(struct vs_server *server, struct vs_namespace *ns, struct vs_seen *seen, bool tell);

/* ---- life.c */

/* Starts the thread that watches the server.  vs_life_end ends it.  Returns VS_GO, or an exit code. */
int vs_life_begin(struct vs_serving *serving);
void vs_life_end(struct vs_serving *serving);
/* Returns whether the service manager was notified that the server is ready. */
bool vs_life_is_ready(const struct vs_serving *serving);
/* Call it when all namespaces have settled.  `ready` is the number of namespaces that issue ids. */
void vs_life_ready(const struct vs_serving *serving, int ready);
/* Callbacks of vs_serve.  `self` is the struct vs_serving. */
void vs_life_signal(void *self, int number);
void vs_life_stopping(void *self);

#endif
