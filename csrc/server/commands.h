/* commands.h -- the table of commands behind both protocols (table.h), and how a request finds its row. */
#ifndef VS_SERVER_COMMANDS_H
#define VS_SERVER_COMMANDS_H

#include "server/request.h"

#define VS_REDIS_VERSION "7.0.0" /* clients read a version from it; ours stands in INFO's vesta_version */

#define VS_READ_METHODS (VS_GET | VS_HEAD)
#define VS_ANY_METHOD (VS_GET | VS_HEAD | VS_POST)
#define VS_CALL_NAME_MAX 32

/* What the Redis protocol must know of a command before it runs. */
enum vs_call_flags {
    VS_CALL_GIVES = 1,    /* ids */
    VS_CALL_KEY = 2,      /* its first argument is a name ... */
    VS_CALL_KEYS = 4,     /* ... or all are */
    VS_CALL_STRANGER = 8, /* also before the password */
    VS_CALL_NOW = 16,     /* in a transaction it is run, not queued */
    VS_CALL_ALONE = 32,   /* not in a transaction at all */
    VS_CALL_OPS = 64,     /* HTTP: on the admin's listeners, too ... */
    VS_CALL_ADMIN = 128,  /* ... and only there */
    VS_CALL_TINYID = 256, /* HTTP: failures are told as tinyid tells them, with status 200 */
    VS_CALL_STATE = 512,  /* HTTP: tells of the server's state, which may be the admin's business alone */
    /* what a client must have for it: enum vs_class */
    VS_CALL_OPEN = 1024,      /* nothing: it is for whoever looks whether the server is there */
    VS_CALL_SHOWS_ALL = 2048, /* all names: it tells of all */
    VS_CALL_DEAR = 4096,      /* its answer may take longer than its length shows: the clock is read behind it */
    VS_CALL_EXEC = 8192,      /* it stands for the commands that are queued */
    VS_CALL_NEEDS = 16,       /* a shift */
    VS_NEEDS_GIVE = VS_GIVE << VS_CALL_NEEDS,
    VS_NEEDS_BLOCK = VS_BLOCK << VS_CALL_NEEDS,
    VS_NEEDS_READ = VS_READ << VS_CALL_NEEDS,
    VS_NEEDS_MAKE = VS_MAKE << VS_CALL_NEEDS
};

struct vs_call {
    const char *name; /* RESP, upper case; NULL: not a RESP command */
    vs_handler *handler;
    int args_min, args_max; /* RESP, without the name */
    unsigned flags;         /* enum vs_call_flags */
    const char *route;      /* HTTP; NULL: none.  A route that ends in '/' takes the rest of the path as args[0] */
    unsigned methods;       /* enum vs_method */
    const char *params;     /* HTTP: query names in the order of args, "ns,n"; "*": any, as args name, value, ... */
    bool json;              /* HTTP: answers in JSON by default; else in plain text, as Vesta (Java) does */
    const char *help;       /* RESP: "GET name -- the next id" */
    const char *route_help; /* HTTP: "/genid?ns=NAME -- the next id" */
};

static inline const char *vs_call_help(const struct vs_call *call, enum vs_protocol protocol) {
    return protocol == VS_RESP ? call->help : call->route_help;
}

/* What a request of that command costs beside its bytes: net_quantum. */
static inline size_t vs_call_cost(const struct vs_call *call) {
    return call->flags & VS_CALL_DEAR ? NET_QUANTUM_LOOK : 0;
}

/* The i-th command, or NULL behind the last. */
const struct vs_call *vs_call_at(int i);
const struct vs_call *vs_call_named(struct vs_slice name);
/* A command's name as Redis shows it, in small letters.  Returns its length. */
static inline size_t vs_call_lower(const char *name, char lower[VS_CALL_NAME_MAX]) {
    size_t i = 0;
    for (; name[i] && i < VS_CALL_NAME_MAX - 1; i++)
        lower[i] = (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] | 0x20 : name[i]);
    lower[i] = '\0';
    return i;
}
/* The command of a path at that protocol; *rest is what follows a route that ends in '/'. */
const struct vs_call *vs_call_routed(struct vs_slice path, enum vs_protocol protocol, struct vs_slice *rest);
bool vs_call_is_at(const struct vs_call *call, enum vs_protocol protocol);
/* Whether this server keeps a command that is there from the session's listener. */
bool vs_call_is_kept(const struct vs_call *call, const struct vs_session *session);
/* A handler sees the arguments behind the command's name. */
static inline void vs_resp_bind(struct vs_request *r, const struct vs_args *args) {
    r->arg = args->at + 1;
    r->arg_count = args->count - 1;
}

/* Whether this server answers a request that a page may have had a browser send, by a name that may be another's; it
 * sets r->origin.  false: the reply is a failure. */
bool vs_http_admits(struct vs_request *r, const struct vs_http *http);

/* A failure as tinyid's clients expect it. */
void vs_tinyid_failure(struct vs_request *request, const char *text);

/* Every handler that a row names. */
#define CALL(name, handler, ...) vs_handler handler;
#include "server/table.h"
#undef CALL

#endif
