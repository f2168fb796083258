/* commands.h -- the table of commands behind both protocols (table.h), and how a request finds its row. */
#ifndef VS_SERVER_COMMANDS_H
#define VS_SERVER_COMMANDS_H

#include "server/request.h"

#define VS_REDIS_VERSION "7.0.0" /* in INFO and HELLO, because clients derive features from it */

#define VS_READ_METHODS (VS_GET | VS_HEAD)
#define VS_ANY_METHOD (VS_GET | VS_HEAD | VS_POST)
#define VS_LEASE_METHODS (VS_PUT | VS_DELETE)
#define VS_CALL_NAME_MAX 32

enum vs_call_flags {
    VS_CALL_GIVES = 1,
    VS_CALL_KEY = 2,      /* the first argument is a name of a namespace or tag */
    VS_CALL_KEYS = 4,     /* all arguments are such names */
    VS_CALL_STRANGER = 8, /* allowed before authentication */
    VS_CALL_NOW = 16,     /* runs at once in a transaction, instead of being queued */
    VS_CALL_ALONE = 32,   /* not allowed in a transaction */
    VS_CALL_OPS = 64,     /* HTTP: served on all listeners, including the admin's */
    VS_CALL_ADMIN = 128,  /* HTTP: served only on the admin's listeners */
    VS_CALL_TINYID = 256, /* HTTP: errors have tinyid's form, with status 200 */
    VS_CALL_STATE = 512,  /* HTTP: shows the server's state, which the config may restrict to the admin's listeners */
    /* the right that a client needs: one of these two, or a bit of enum vs_class shifted by VS_CALL_NEEDS */
    VS_CALL_OPEN = 1024,      /* none, for probes and load balancers */
    VS_CALL_SHOWS_ALL = 2048, /* access to all names, because the reply shows all */
    VS_CALL_DEAR = 4096,      /* may take long, so the clock is read after the command */
    VS_CALL_HIDES = 16384, /* HTTP: the rest of the path is a secret, so it is not logged */
    VS_CALL_EXEC = 8192,      /* runs the queued commands */
    VS_CALL_NEEDS = 16,       /* shift of the bits of enum vs_class (not a flag) */
    VS_NEEDS_GIVE = VS_GIVE << VS_CALL_NEEDS,
    VS_NEEDS_BLOCK = VS_BLOCK << VS_CALL_NEEDS,
    VS_NEEDS_READ = VS_READ << VS_CALL_NEEDS,
    VS_NEEDS_MAKE = VS_MAKE << VS_CALL_NEEDS,
    VS_NEEDS_LEASE = VS_LEASE << VS_CALL_NEEDS
};

struct vs_call {
    const char *name; /* RESP, upper case (NULL: not a RESP command) */
    vs_handler *handler;
    int args_min, args_max; /* RESP: number of arguments, without the command's name */
    unsigned flags;         /* enum vs_call_flags */
    const char *route;      /* HTTP (NULL: none).  A route that ends in '/' passes the rest of the path as args[0] */
    unsigned methods;       /* enum vs_method */
    const char *params;     /* HTTP: names of parameters in the order of the arguments, such as "ns,n".  "*" accepts any
                         * parameters, passed as name, value, ... */
    bool json;              /* HTTP: the reply is JSON by default, not plain text */
    const char *help;       /* RESP: "GET name -- the next id" */
    const char *route_help; /* HTTP: "/genid?ns=NAME -- the next id" */
};

static inline const char *vs_call_help(const struct vs_call *call, enum vs_protocol protocol) {
    return protocol == VS_RESP ? call->help : call->route_help;
}

/* Returns the cost that net_quantum charges for a command in addition to its bytes. */
static inline size_t vs_call_cost(const struct vs_call *call) {
    return call->flags & VS_CALL_DEAR ? NET_QUANTUM_LOOK : 0;
}

/* Returns the i-th command, or NULL after the last. */
const struct vs_call *vs_call_at(int i);
const struct vs_call *vs_call_named(struct vs_slice name);
/* Writes a command's name in lower case, as Redis shows it.  Returns its length. */
static inline size_t vs_call_lower(const char *name, char lower[VS_CALL_NAME_MAX]) {
    size_t i = 0;
    for (; name[i] && i < VS_CALL_NAME_MAX - 1; i++)
        lower[i] = (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] | 0x20 : name[i]);
    lower[i] = '\0';
    return i;
}
/* Returns the command that a path selects on the given protocol.  *rest is the path after a route that ends in '/'. */
const struct vs_call *vs_call_routed(struct vs_slice path, enum vs_protocol protocol, struct vs_slice *rest);
bool vs_call_is_at(const struct vs_call *call, enum vs_protocol protocol);
/* Returns whether the config restricts the command to admin listeners, and the session uses another listener. */
bool vs_call_is_kept(const struct vs_call *call, const struct vs_session *session);
/* Sets the handler's arguments: all arguments but the command's name. */
static inline void vs_resp_bind(struct vs_request *r, const struct vs_args *args) {
    r->arg = args->at + 1;
    r->arg_count = args->count - 1;
}

/* Checks Host, Origin and Sec-Fetch-Site, because a web page may have sent the request without the user's knowledge.
 * Sets r->origin.  If the request is rejected, returns false, and the reply is an error. */
bool vs_http_admits(struct vs_request *r, const struct vs_http *http);

/* Writes an error in the form that tinyid's clients expect. */
void vs_tinyid_failure(struct vs_request *request, const char *text);

/* A block of past dates: VESTA.BLOCK with `from` and `until`. */
vs_handler vs_on_past_block;

/* The handlers of all rows. */
#define CALL(name, handler, ...) vs_handler handler;
#include "server/table.h"
#undef CALL

#endif
