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
    const char *address; /* that is bound */
    const char *written; /* as written in the config or a flag: its host may have several addresses */
    unsigned mode; /* file mode of a unix: address */
    int fd;        /* -1: not bound yet */
    bool handed;   /* by a service manager */
    bool is_secure; /* TLS */
    bool is_reached; /* reachable from other machines (determined once by serve.c) */
};

#define VS_SERVING_FLAGS_MAX 40

struct vs_serving {
    struct vs_conf_opts conf; /* to read the config again */
    struct vesta_opts opts;   /* options of the single namespace of a server without a config file */
    struct vs_conf_flag conf_flag[VS_SERVING_FLAGS_MAX];
    struct vs_config *config; /* as read at the start (the following members point into it) */
    bool has_policies;        /* the config of the start has policies */
    struct vs_serving_listener listener[VS_LISTENERS_MAX];
    int listener_count;
    char host_address[VS_LISTENERS_MAX][VS_ADDRESS_TEXT_MAX];
    int threads;
    uint64_t auth_ms;
    struct vs_network proxy[VS_CONF_HOSTS_MAX];
    int proxy_count;
    struct vs_limits limits; /* of clients, as configured */
    struct vs_handed handed[VS_HANDED_MAX];
    struct vs_log_opts log;
    const char *access_path; /* of the access log (NULL: none) */
    const char *password_file;  /* of --resp-password-file (NULL: none) */
    const char *user;           /* NAME[:GROUP], to switch to after binding (NULL: do not switch) */
    char user_group[140];       /* NAME:GROUP, from two keys */
    struct vs_control *control; /* NULL: there are no policies, and a reload cannot add any */
    struct vs_life *life;
    struct vs_secure *secure; /* NULL: no listener uses TLS */
    struct vs_start *start;
    struct vs_crews crews; /* which threads open and close which namespaces */
    struct vs_segments *segments; /* NULL: the config has no segments */
    int64_t ended_us;             /* vs_monotonic_us when stopping began (0: it has not) */
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

/* Names the namespaces, which are not open yet.  Returns VS_GO, or an exit code after a message. */
int vs_namespaces_prepare(struct vs_serving *serving);
/* Returns VESTA_OK unless the namespace is a generation whose ids have not been proved to differ from those of earlier
 * generations (see store/lineage.h).  Errors: VESTA_EMISMATCH; VESTA_EIO, for which a retry may help. */
int vs_namespace_prove(const struct vs_conf_namespace *conf, struct vesta_error *err);
/* Opens a generator for each protocol of a namespace, after vs_namespace_prove succeeded.  Errors: as vesta_open. */
int vs_namespace_open_gen(struct vs_serving *serving, int ns, struct vesta_error *err);
void vs_namespace_close(struct vs_serving *serving, int ns);
/* Logs that a namespace is served.  Namespaces that lists do not show one by one are logged with a lower severity. */
void vs_namespace_say(const struct vs_server *server, const struct vs_namespace *ns);
/* Logs the state of each namespace. */
void vs_namespaces_state(const struct vs_serving *serving);

/* Decides which threads open and close which namespaces.  false: no memory.  Own: free it in any case. */
bool vs_crews_make(struct vs_crews *crews, const struct vs_config *config);
void vs_crews_free(struct vs_crews *crews);
/* Returns how many threads call stores at most: these, or the shifts of the keepers. */
int vs_crews_keepers(const struct vs_crews *crews);

/* Opens the namespaces and leases their worker ids while the loops run.  vs_start_begin does not wait. */
struct vs_start *vs_start_make(struct vs_serving *serving);
void vs_start_begin(struct vs_start *start);
/* Returns whether a namespace has issued ids, and how many have not yet. */
bool vs_start_is_ready(struct vs_start *start, int ns);
int vs_start_waiting(struct vs_start *start);
/* Records that all tags that can be read were read: a start waits for that as for namespaces. */
void vs_start_segments_settled(struct vs_start *start);
/* Stops opening namespaces, without waiting. */
void vs_start_stop(struct vs_start *start);
/* After vs_start_stop: returns whether a namespace's opener has ended, at the latest at that instant
 * (vs_monotonic_us). */
bool vs_start_stopped(struct vs_start *start, int ns, int64_t until_us);
/* After vs_start_stop, as the last call.  false: a thread still hangs at that instant and uses the server's memory. */
bool vs_start_end(struct vs_start *start, int64_t until_us);
/* Returns VS_GO, or the exit code of a start that failed as a whole, which was logged. */
int vs_start_result(const struct vs_start *start);
void vs_start_free(struct vs_start *start);

/* Makes the tags' state.  Until the tables were read, their tags are unknown.  Returns VS_GO, or an exit code after a
 * message. */
int vs_segments_prepare(struct vs_serving *serving);
/* Returns the descriptors that the tags of a config need. */
struct vs_tags_plan vs_segments_plan(const struct vs_config *config);
/* Opens the tags while the loops run.  false: no thread can be started. */
bool vs_segments_begin(struct vs_serving *serving);
/* After the loops have ended: returns the rest of the tags' ranges until that instant (vs_monotonic_us).  What could
 * not be returned is logged and stays unused.  false: a thread hangs in a store's call. */
bool vs_segments_release(struct vs_serving *serving, int64_t until_us);
void vs_segments_close(struct vs_serving *serving);
/* Logs the state of the tags.  Called on a loop's thread. */
void vs_segments_state(const struct vs_serving *serving);

/* Makes TERM and INT end the program until the loops run, also as process 1 of a container. */
void vs_ending_prepare(void);
/* Begins stopping, for which there are 5 s. */
void vs_ending_begin(struct vs_serving *serving);
/* Releases the worker ids.  Returns VS_DONE, or VS_FAILED after a message for each that was not released.  Ends the
 * process if a store hangs. */
int vs_ending_release(struct vs_serving *serving);
/* Everything is released.  If END_MS pass before the remaining memory is freed, the process still ends, with
 * success. */
void vs_ending_given_back(void);
void vs_ending_close(struct vs_serving *serving);
/* Ends the log.  If the disk hangs, this waits as long as there is time. */
void vs_ending_log(const struct vs_serving *serving);

/* Returns whether there are policies, or a reload may add some. */
bool vs_policies_wanted(const struct vs_serving *serving);
/* Loads the policies and starts the thread that runs them, after the namespaces are open.  Returns VS_GO, or an exit
 * code. */
int vs_policies_open(struct vs_serving *serving);
void vs_policies_close(struct vs_serving *serving);

/* Makes the gate with the config's clients.  Returns VS_GO, or an exit code after a message. */
int vs_clients_open(struct vs_serving *serving);
/* Reads the file of clients again and logs the result.  If the file cannot be used, the current clients stay. */
void vs_clients_reload(struct vs_serving *serving);

/* Checks whether a config's certificate can be used.  `facts` is unchanged if there is no certificate.  Errors:
 * VESTA_EOPTION, which names the file, or what to install. */
struct vs_tls_facts;
int vs_secure_try(const struct vs_config *config, struct vs_tls_facts *facts, struct vesta_error *err);
/* Reads the certificate if a listener uses TLS.  Returns VS_GO, or an exit code after a message. */
int vs_secure_open(struct vs_serving *serving);
/* Logs the files of TLS that the server's new user may not read. */
void vs_secure_tell_rights(const struct vs_serving *serving);
/* Reads the files of TLS again if they have changed or a reload was requested, and warns before the certificate
 * expires.  Threads: one. */
void vs_secure_look(struct vs_serving *serving, bool is_asked);
void vs_secure_close(struct vs_serving *serving);
void vs_secure_use(struct vs_serving *serving, struct vs_serve_opts *opts);

/* Uses the sockets that were handed over in place of the addresses of their protocols.  Returns VS_GO, or an exit
 * code. */
int vs_take_handed(struct vs_serving *serving);
/* Replaces each listener with a host name by one listener per address.  Returns VS_GO, or an exit code. */
int vs_bind_resolve(struct vs_serving *serving);
/* Binds the addresses that have no socket yet.  Returns VS_GO, or an exit code. */
int vs_bind_all(struct vs_serving *serving);
void vs_unbind_all(struct vs_serving *serving);
/* Switches to the configured user and drops all privileges of root.  Returns VS_GO, or an exit code. */
int vs_drop_rights(const struct vs_serving *serving);
/* Logs the user if that matters, and warns if secrets are sent unencrypted. */
void vs_tell_rights(const struct vs_serving *serving);

/* ---- watch.c */

/* The state of a namespace at the last check. */
struct vs_seen {
    bool known, fails;
    bool is_stopped; /* it issues no ids, and not only because the time unit is exhausted */
    uint64_t worker, refused, refused_at; /* refused_at: rejected requests when the failure began */
    enum vesta_why why;
    int64_t failed_us;
    struct vs_news news; /* of its keeper */
};

/* Logs changes if `tell`: why no ids are issued, until when and what to do, and problems of the keeper. */
void vs_watch_namespace(struct vs_server *server, struct vs_namespace *ns, struct vs_seen *seen, bool tell);

/* ---- life.c */

/* Starts the thread that watches the server.  vs_life_end ends it.  Returns VS_GO, or an exit code. */
int vs_life_begin(struct vs_serving *serving);
void vs_life_end(struct vs_serving *serving);
/* Returns whether the service manager was notified that the server is ready. */
bool vs_life_is_ready(const struct vs_serving *serving);
/* All namespaces have settled, and `ready` of them issue ids. */
void vs_life_ready(const struct vs_serving *serving, int ready);
/* Callbacks of vs_serve; `self` is the struct vs_serving. */
void vs_life_signal(void *self, int number);
void vs_life_stopping(void *self);

#endif
