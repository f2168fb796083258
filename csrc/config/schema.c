/* schema.c -- what may stand in a config: the one table of keys.  Knows no Lua and no file. */
#include "config/schema.h"
#include "config/checks.h"
#include "base/array.h"
#include "base/error.h"
#include "id/id.h"
#include "lease/lease.h"
#include "keeper/options.h"
#include "number/form.h"
#include "store/store.h"

#include <assert.h>
#include <stdlib.h>

#define DAY_MS 86400000
#define MINUTE_MS 60000
#define CONNECTIONS_MAX 1000000
#define URI_MAX 1000
#define PATH_BYTES_MAX 250 /* a generator's path is an identity in a lease */
#define SECRET_MAX 1023
#define TAGS_MAX 256
#define STEP_MAX ((int64_t)1 << 32) /* numbers of one range */

/* ------------------------------------------------------------------ the table */

#define CONFIG(member) offsetof(struct vs_config, member)
#define STORE(member) offsetof(struct vs_conf_store, member)
#define NAMESPACE(member) offsetof(struct vs_conf_namespace, member)
#define SEGMENT(member) offsetof(struct vs_conf_segment, member)

/* A row of vesta_options.h as a key.  A store is kept as it was written; whole.c finds its URI. */
#define OPTION(type, member, kind, limit, flag, values, about, without)                                                \
    {.path = "namespaces.*." #member, OPTION_##kind(opts.member, limit, values), .absent = without, .help = about},
#define OPTION_TEXT(member, limit, values) .offset = NAMESPACE(member), .kind = VS_CONF_TEXT, .max = limit
#define OPTION_LAYOUT(member, limit, values) OPTION_TEXT(member, limit, values), .check = vs_conf_check_layout
#define OPTION_PATH(member, limit, values) OPTION_TEXT(member, limit, values), .check = vs_conf_check_path
#define OPTION_NAME(member, limit, values) OPTION_TEXT(member, limit, values), .check = vs_conf_check_word
#define OPTION_URI(member, limit, values) OPTION_TEXT(store, limit, values)
#define OPTION_FIELDS(member, limit, values) .offset = NAMESPACE(member), .kind = VS_CONF_FIELDS, .max = limit
#define OPTION_WORD(member, limit, values) .offset = NAMESPACE(member), .kind = VS_CONF_WORD, .words = values
#define OPTION_CHOICE(member, limit, values)                                                                           \
    .offset = NAMESPACE(member), .kind = VS_CONF_CHOICE, .words = values, .min = 1, .stored = VS_CONF_AS_ENUM
#define OPTION_WORKER(member, limit, values)                                                                           \
    .offset = NAMESPACE(opts), .kind = VS_CONF_INTEGER, .max = limit, .stored = VS_CONF_AS_WORKER
#define OPTION_AHEAD(member, limit, values)                                                                            \
    .offset = NAMESPACE(member), .kind = VS_CONF_INTEGER, .max = limit, .stored = VS_CONF_AS_AHEAD

const struct vs_conf_key vs_conf_keys[] = {
    VESTA_NAMESPACE_OPTIONS(OPTION){
        .path = "namespaces.*.policy",
        .kind = VS_CONF_POLICY,
        .offset = NAMESPACE(policy),
        .max = PATH_BYTES_MAX,
        .is_live = true,
        .absent = "none: the fixed rules hold",
        .help = "the policy that judges pauses: a shipped one, a file, or { NAME, option = value }"},
    {.path = "namespaces.*.shadow_policy",
     .kind = VS_CONF_POLICY,
     .offset = NAMESPACE(shadow),
     .max = PATH_BYTES_MAX,
     .is_live = true,
     .absent = "none",
     .help = "a policy that is asked and not obeyed: what it would have said is in the log and /metrics"},
    {.path = "namespaces.*.policy_env",
     .kind = VS_CONF_LIST,
     .offset = NAMESPACE(policy_env),
     .max = VS_POLICY_ENV_MAX,
     .is_live = true,
     .absent = "none",
     .help = "the environment's variables that the policy may read with env(name)"},
    {.path = "namespaces.*.leased_as",
     .kind = VS_CONF_TEXT,
     .offset = NAMESPACE(leased_as),
     .max = VESTA_NAMESPACE_MAX - 1,
     .check = vs_namespace_check,
     .absent = "NAME",
     .help = "what `vesta store relayout` made for another layout: NAME.2"},
    {.path = "namespaces.*.wait_ms_max",
     .kind = VS_CONF_INTEGER,
     .offset = NAMESPACE(wait_ms_max),
     .max = MINUTE_MS,
     .absent = "1500; 100 where there is a policy",
     .help = "how long a request may wait for an id before the policy is asked"},
    {.path = "namespaces.*.policy_wait_ms_max",
     .kind = VS_CONF_INTEGER,
     .offset = NAMESPACE(policy_wait_ms_max),
     .max = 10 * MINUTE_MS,
     .initial = "10000",
     .help = "how long a policy may keep a request waiting in all"},
    {.path = "stores.*.uri",
     .kind = VS_CONF_TEXT,
     .offset = STORE(uri),
     .max = URI_MAX,
     .check = vs_conf_check_uri,
     .absent = "needed",
     .help = "where the store is: a URI as in [stores](stores.md)"},
    {.path = "stores.*.auth",
     .kind = VS_CONF_SECRET,
     .offset = STORE(auth),
     .max = SECRET_MAX,
     .absent = "none",
     .help = "what ZooKeeper identifies us by, user:password"},
    {.path = "stores.*.password",
     .kind = VS_CONF_SECRET,
     .offset = STORE(password),
     .max = SECRET_MAX,
     .absent = "none",
     .help = "the database's password"},
    {.path = "stores.*.tls",
     .kind = VS_CONF_CHOICE,
     .offset = STORE(tls),
     .words = "off|verify",
     .initial = "verify",
     .help = "over a network: encrypt and verify the server, or neither"},
    {.path = "segments.#.store",
     .kind = VS_CONF_TEXT,
     .offset = SEGMENT(store),
     .max = VS_CONF_NAME_BYTES_MAX,
     .absent = "see stores",
     .help = "the store whose table gives the ranges"},
    {.path = "segments.#.stores",
     .kind = VS_CONF_LIST,
     .offset = SEGMENT(stores),
     .max = VS_CONF_SEGMENT_STORES_MAX,
     .absent = "see store",
     .help =
         "n stores, of which the first gives the numbers that leave 0 when divided by n, the second those that leave "
         "1, and so on: one that is down costs no request"},
    {.path = "segments.#.table",
     .kind = VS_CONF_TEXT,
     .offset = SEGMENT(table),
     .max = VS_CONF_NAME_BYTES_MAX,
     .check = vs_conf_check_word,
     .initial = "leaf_alloc",
     .help = "the table of counters"},
    {.path = "segments.#.tags",
     .kind = VS_CONF_LIST,
     .offset = SEGMENT(tags),
     .max = TAGS_MAX,
     .check = vs_conf_check_tag,
     .absent = "needed",
     .help = "the tags that are served, or \"*\" for all that are there"},
    {.path = "segments.#.order",
     .kind = VS_CONF_CHOICE,
     .offset = SEGMENT(order),
     .words = "trend|strict|dense",
     .initial = "trend",
     .help = "trend: numbers of one tag rise on the whole; strict: they rise over all servers, and each request waits "
             "for the "
             "database, with those that come meanwhile; dense: they have no gap, are reserved one by one and "
             "committed, and each is two steps of the database"},
    {.path = "segments.#.form",
     .kind = VS_CONF_TEXT,
     .offset = SEGMENT(form),
     .max = VS_FORM_MAX - 1,
     .check = vs_conf_check_form,
     .absent = "numbers in digits",
     .help =
         "how the numbers are written, as [business numbers](numbers.md): 'INV-{day:%Y%m%d}-{number:6}'; with a day, "
         "month or year in it, order must be strict and the tags be named"},
    {.path = "segments.#.zone",
     .kind = VS_CONF_TEXT,
     .offset = SEGMENT(zone),
     .max = VS_ZONE_NAME_MAX - 1,
     .check = vs_conf_check_zone,
     .absent = "UTC",
     .help = "the time zone whose days, months or years the form counts, such as Europe/Berlin"},
    {.path = "segments.#.step",
     .kind = VS_CONF_INTEGER,
     .offset = SEGMENT(step),
     .min = 1,
     .max = STEP_MAX,
     .absent = "the row's own, else 1000",
     .help = "how many numbers are taken from the table at a time, at least, where a tag's row does not say it"},
    {.path = "segments.#.step_max",
     .kind = VS_CONF_INTEGER,
     .offset = SEGMENT(step_max),
     .min = 1,
     .max = STEP_MAX,
     .initial = "1000000",
     .help = "how far the step may double while a step is used up within 15 minutes"},
    {.path = "segments.#.wait_ms_max",
     .kind = VS_CONF_INTEGER,
     .offset = SEGMENT(wait_ms_max),
     .max = MINUTE_MS,
     .initial = "1500",
     .help = "how long a request may wait for a number while the table is asked"},
    {.path = "http.listen",
     .kind = VS_CONF_LIST,
     .offset = CONFIG(http),
     .max = VS_CONF_LISTEN_MAX,
     .check = vs_conf_check_address,
     .initial = "127.0.0.1:8088",
     .absent = "off",
     .variable = "VESTA_HTTP",
     .help = "addresses for HTTP, or \"off\""},
    {.path = "http.socket_mode",
     .kind = VS_CONF_TEXT,
     .offset = CONFIG(http_socket_mode),
     .max = 4,
     .check = vs_conf_check_mode,
     .initial = "0660",
     .help = "mode of the socket file of a unix: address, in octal, regardless of the umask: whoever may write it may "
             "connect"},
    {.path = "http.idle_ms_max",
     .kind = VS_CONF_INTEGER,
     .offset = CONFIG(http_idle_ms_max),
     .min = 100,
     .max = DAY_MS,
     .initial = "60000",
     .help = "how long an HTTP client may be idle before it is disconnected"},
    {.path = "http.connections_max",
     .kind = VS_CONF_INTEGER,
     .offset = CONFIG(http_connections_max),
     .min = 1,
     .max = CONNECTIONS_MAX,
     .absent = "an equal share of connections_max",
     .help = "how many connections HTTP clients may have"},
    {.path = "resp.listen",
     .kind = VS_CONF_LIST,
     .offset = CONFIG(resp),
     .max = VS_CONF_LISTEN_MAX,
     .check = vs_conf_check_address,
     .initial = "127.0.0.1:8089",
     .absent = "off",
     .variable = "VESTA_RESP",
     .help = "addresses of the Redis protocol, or \"off\""},
    {.path = "resp.socket_mode",
     .kind = VS_CONF_TEXT,
     .offset = CONFIG(resp_socket_mode),
     .max = 4,
     .check = vs_conf_check_mode,
     .initial = "0660",
     .help = "mode of the socket file of a unix: address, in octal, regardless of the umask: whoever may write it may "
             "connect"},
    {.path = "resp.password",
     .kind = VS_CONF_SECRET,
     .offset = CONFIG(resp_password),
     .max = SECRET_MAX,
     .absent = "none",
     .variable = "VESTA_RESP_PASSWORD",
     .help = "the password that Redis clients must give to AUTH"},
    {.path = "resp.idle_ms_max",
     .kind = VS_CONF_INTEGER,
     .offset = CONFIG(resp_idle_ms_max),
     .min = 100,
     .max = DAY_MS,
     .initial = "300000", /* connection pools rest longer than browsers */
     .help = "how long a Redis client may be idle before it is disconnected"},
    {.path = "resp.connections_max",
     .kind = VS_CONF_INTEGER,
     .offset = CONFIG(resp_connections_max),
     .min = 1,
     .max = CONNECTIONS_MAX,
     .absent = "an equal share of connections_max",
     .help = "how many connections Redis clients may have"},
    {.path = "resp.auth_ms_max",
     .kind = VS_CONF_INTEGER,
     .offset = CONFIG(resp_auth_ms_max),
     .min = 100,
     .max = DAY_MS,
     .initial = "10000",
     .help = "how long a Redis client may take to authenticate"},
    {.path = "admin.listen",
     .kind = VS_CONF_LIST,
     .offset = CONFIG(admin),
     .max = VS_CONF_LISTEN_MAX,
     .check = vs_conf_check_address,
     .absent = "off",
     .variable = "VESTA_ADMIN",
     .help = "addresses of the admin routes"},
    {.path = "admin.socket_mode",
     .kind = VS_CONF_TEXT,
     .offset = CONFIG(admin_socket_mode),
     .max = 4,
     .check = vs_conf_check_mode,
     .initial = "0600",
     .help = "mode of the socket file of a unix: address, in octal, regardless of the umask: whoever may write it may "
             "control the server"},
    {.path = "admin.token",
     .kind = VS_CONF_SECRET,
     .offset = CONFIG(admin_token),
     .max = SECRET_MAX,
     .absent = "none",
     .variable = "VESTA_ADMIN_TOKEN",
     .help = "the token that admin requests must carry; not needed on unix:"},
    {.path = "admin.connections_max",
     .kind = VS_CONF_INTEGER,
     .offset = CONFIG(admin_connections_max),
     .min = 1,
     .max = CONNECTIONS_MAX,
     .initial = "64",
     .help = "how many connections admins may have"},
    {.path = "threads",
     .kind = VS_CONF_INTEGER,
     .offset = CONFIG(threads),
     .min = 1,
     .max = 64,
     .initial = "1",
     .variable = "VESTA_THREADS",
     .help = "event loops, one per thread"},
    {.path = "connections_max",
     .kind = VS_CONF_INTEGER,
     .offset = CONFIG(connections_max),
     .min = 16,
     .max = CONNECTIONS_MAX,
     .initial = "10000",
     .help = "how many connections HTTP and Redis clients may have together"},
    {.path = "address_connections_max",
     .kind = VS_CONF_INTEGER,
     .offset = CONFIG(address_connections_max),
     .min = 1,
     .max = CONNECTIONS_MAX,
     .absent = "half of what each protocol may have",
     .help = "how many connections one address may have at each protocol"},
    {.path = "memory_mib_max",
     .kind = VS_CONF_INTEGER,
     .offset = CONFIG(memory_mib_max),
     .min = 4,
     .max = 1 << 20,
     .initial = "128",
     .help = "how much memory unread replies, incomplete requests and transactions of all clients may take"},
    {.path = "log.level",
     .kind = VS_CONF_CHOICE,
     .offset = CONFIG(log_level),
     .words = "debug|info|warn|error",
     .initial = "info",
     .variable = "VESTA_LOG_LEVEL",
     .help = "the least severe level that is logged"},
    {.path = "log.format",
     .kind = VS_CONF_CHOICE,
     .offset = CONFIG(log_format),
     .words = "logfmt|json",
     .initial = "logfmt",
     .variable = "VESTA_LOG_FORMAT",
     .help = "how a line is written"},
    {.path = "log.file",
     .kind = VS_CONF_TEXT,
     .offset = CONFIG(log_file),
     .max = PATH_BYTES_MAX,
     .check = vs_conf_check_path,
     .absent = "stderr",
     .variable = "VESTA_LOG_FILE",
     .help = "a file to append to"},
    {.path = "user",
     .kind = VS_CONF_TEXT,
     .offset = CONFIG(user),
     .max = VS_CONF_NAME_BYTES_MAX,
     .check = vs_conf_check_word,
     .absent = "the user who starts it",
     .help = "the user to switch to after binding"},
    {.path = "group",
     .kind = VS_CONF_TEXT,
     .offset = CONFIG(group),
     .max = VS_CONF_NAME_BYTES_MAX,
     .check = vs_conf_check_word,
     .absent = "the user's",
     .help = "the group to switch to"},
    {.path = "single_host",
     .kind = VS_CONF_SWITCH,
     .offset = CONFIG(single_host),
     .initial = "false",
     .help = "no other machine gives ids of these namespaces, so numbers drawn here are unique"},
    {.path = "start_wait_ms_max",
     .kind = VS_CONF_INTEGER,
     .offset = CONFIG(start_wait_ms_max),
     .max = DAY_MS,
     .initial = "0",
     .help = "how long a start may wait for worker numbers before the server gives up; 0: for ever"},
    {.path = "leaf_any_key",
     .kind = VS_CONF_SWITCH,
     .offset = CONFIG(leaf_any_key),
     .initial = "false",
     .help = "Leaf's route gives ids of the first namespace under any key, as Leaf does"},
    {.path = "tinyid.tokens",
     .kind = VS_CONF_SECRETS,
     .offset = CONFIG(tinyid_tokens),
     .max = VS_CONF_TOKENS_MAX,
     .absent = "none is asked for",
     .help = "the tokens of which tinyid's clients must send one"},
};
const int vs_conf_key_count = VS_COUNT(vs_conf_keys);
const struct vs_conf_key *vs_conf_key_of(const char *path) {
    for (int i = 0; i < vs_conf_key_count; i++)
        if (strcmp(vs_conf_keys[i].path, path) == 0) return &vs_conf_keys[i];
    assert(!"a key of the schema");
    return NULL;
}

_Static_assert(VS_COUNT(vs_conf_keys) <= VS_CONF_KEYS_MAX, "origins have room for every key");

#define PART(member, limit, struct_)                                                                                   \
    .array = CONFIG(member), .count = CONFIG(member##_count), .size = sizeof(struct struct_), .max = limit

const struct vs_conf_part vs_conf_parts[] = {
    {.prefix = "namespaces.*.", PART(ns, VS_CONF_NAMESPACES_MAX, vs_conf_namespace), .check = vs_namespace_check},
    {.prefix = "stores.*.", PART(store, VS_CONF_STORES_MAX, vs_conf_store), .check = vs_conf_check_store_name},
    {.prefix = "segments.#.", PART(segment, VS_CONF_SEGMENTS_MAX, vs_conf_segment)},
};
const int vs_conf_part_count = VS_COUNT(vs_conf_parts);

/* Every part, and the config itself, begins with its name and its origins. */
#define SAME(a, b) (offsetof(struct a, name) == 0 && offsetof(struct a, origin) == offsetof(struct b, origin))
_Static_assert(SAME(vs_config, vs_conf_namespace) && SAME(vs_conf_store, vs_conf_namespace) &&
                   SAME(vs_conf_segment, vs_conf_namespace),
               "a name and origins come first");
