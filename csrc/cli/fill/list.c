/* list.c -- the list of `vesta fill`; see list.h.
 *
 * A Redis that is started again may bring back from its disk, and a replica that takes over may still have, ids that
 * were popped since.  The mark tells: it holds the run id of the server under which the list was filled, and where that
 * is another one now the list is cleared before anything is pushed. */
#include "cli/fill/list.h"

#include "base/array.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define UNTOLD "unknown" /* the mark where the server says no run id */

void vs_list_init(struct vs_list *list) {
    const char *brace = strchr(list->name, '{');
    bool has_tag = brace && strchr(brace, '}');
    list->redis.fd = -1;
    snprintf(list->mark, sizeof list->mark, has_tag ? "%s:vesta" : "{%s}:vesta", list->name);
}

/* A refusal of ours, in Redis's manner. */
static enum vs_redis_outcome refuse(struct vs_list *list, const char *why) {
    snprintf(list->redis.text, sizeof list->redis.text, "%s", why);
    return VS_REDIS_REFUSED;
}

static enum vs_redis_outcome call(struct vs_list *list, int argc, const char *const *argv) {
    return list->redis.client->call(&list->redis, argc, argv);
}

/* ------------------------------------------------------------------ a new connection */

static enum vs_redis_outcome log_in(struct vs_list *list) {
    char db[24];
    enum vs_redis_outcome outcome = VS_REDIS_OK;
    if (list->password && list->user)
        outcome = call(list, 3, (const char *const[]){"AUTH", list->user, list->password});
    else if (list->password)
        outcome = call(list, 2, (const char *const[]){"AUTH", list->password});
    if (outcome == VS_REDIS_OK && list->db) {
        snprintf(db, sizeof db, "%" PRIu64, list->db);
        outcome = call(list, 2, (const char *const[]){"SELECT", db});
    }
    if (outcome != VS_REDIS_OK) return outcome;
    outcome = call(list, 3, (const char *const[]){"CLIENT", "SETNAME", "vesta-fill"});
    return outcome == VS_REDIS_REFUSED ? VS_REDIS_OK : outcome; /* a courtesy */
}

/* A replica that takes writes would lose them; one that does not says so itself, but only to a write. */
static enum vs_redis_outcome meet(struct vs_list *list) {
    char role[16];
    enum vs_redis_outcome outcome = list->redis.client->info(&list->redis, "replication", "role", role, sizeof role);
    if (outcome == VS_REDIS_OK && strcmp(role, "master") != 0) return refuse(list, "READONLY it is a replica");
    if (outcome == VS_REDIS_REFUSED && strncmp(list->redis.text, "NOAUTH", 6) == 0) return outcome;
    if (outcome == VS_REDIS_REFUSED && strncmp(list->redis.text, "LOADING", 7) == 0) return outcome;
    if (outcome == VS_REDIS_OK || outcome == VS_REDIS_REFUSED)
        outcome = list->redis.client->info(&list->redis, "server", "run_id", list->run_id, sizeof list->run_id);
    if (outcome == VS_REDIS_REFUSED) snprintf(list->run_id, sizeof list->run_id, "%s", UNTOLD);
    return outcome == VS_REDIS_REFUSED ? VS_REDIS_OK : outcome;
}

static enum vs_redis_outcome get_length(struct vs_list *list, int64_t *length) {
    enum vs_redis_outcome outcome = call(list, 2, (const char *const[]){"LLEN", list->name});
    if (outcome == VS_REDIS_OK && list->redis.number < 0) return refuse(list, "ERR LLEN answers no number");
    if (outcome == VS_REDIS_OK) *length = list->redis.number;
    return outcome;
}

/* Whether what stands in the list was put there under this run of the server. */
static enum vs_redis_outcome check_mark(struct vs_list *list) {
    int64_t length = 0;
    enum vs_redis_outcome outcome = get_length(list, &length);
    if (outcome == VS_REDIS_OK) outcome = call(list, 2, (const char *const[]){"GET", list->mark});
    if (outcome != VS_REDIS_OK || length == 0) return outcome;
    if (list->redis.is_nil && !list->is_ours)
        return refuse(list, "FOREIGN the list is not empty, and no vesta fill has filled it");
    if (list->redis.is_nil || strcmp(list->redis.text, list->run_id) == 0) return VS_REDIS_OK;
    outcome = call(list, 2, (const char *const[]){"DEL", list->name});
    if (outcome == VS_REDIS_OK) list->cleared += length;
    return outcome;
}

static enum vs_redis_outcome set_mark(struct vs_list *list) {
    assert(*list->run_id);
    return call(list, 3, (const char *const[]){"SET", list->mark, list->run_id});
}

static enum vs_redis_outcome begin(struct vs_list *list) {
    enum vs_redis_outcome outcome = log_in(list);
    if (outcome == VS_REDIS_OK) outcome = meet(list);
    if (outcome == VS_REDIS_OK) outcome = check_mark(list);
    if (outcome == VS_REDIS_OK) outcome = set_mark(list);
    if (outcome == VS_REDIS_OK)
        list->is_ours = true;
    else
        list->redis.client->close(&list->redis); /* so that the next look begins anew */
    return outcome;
}

/* ------------------------------------------------------------------ looking and pushing */

enum vs_redis_outcome vs_list_look(struct vs_list *list, int64_t *length) {
    bool is_new;
    enum vs_redis_outcome outcome = list->redis.client->connect(&list->redis, &is_new);
    if (outcome == VS_REDIS_OK && is_new) outcome = begin(list);
    if (outcome == VS_REDIS_OK) outcome = get_length(list, length);
    /* what was flushed meanwhile had the mark with it */
    return outcome == VS_REDIS_OK && *length == 0 ? set_mark(list) : outcome;
}

enum vs_redis_outcome vs_list_push(struct vs_list *list, const char *const *ids, int n, int64_t *length) {
    const char *argv[2 + VS_LIST_PUSH_MAX] = {"RPUSH", list->name};
    assert(n > 0);
    assert(n <= VS_LIST_PUSH_MAX);
    assert(list->is_ours);
    memcpy(argv + 2, ids, (size_t)n * sizeof *ids);
    enum vs_redis_outcome outcome = call(list, 2 + n, argv);
    if (outcome != VS_REDIS_OK) return outcome;
    if (list->redis.number < n) { /* no length of a list that these ids are in */
        snprintf(list->redis.text, sizeof list->redis.text, "RPUSH answers no length");
        list->redis.client->close(&list->redis);
        return VS_REDIS_UNKNOWN;
    }
    *length = list->redis.number;
    return VS_REDIS_OK;
}

/* ------------------------------------------------------------------ refusals */

/* With these words Redis refuses a command before it does anything. */
static const struct {
    const char *word, *todo;
} refusals[] = {
    {"READONLY", "give the address of its master"},
    {"WRONGTYPE", "the key is no list: choose another --list, or remove it (DEL)"},
    {"OOM", "it has no memory left (maxmemory): ids go on when there is some; or lower --high"},
    {"NOAUTH", "it asks for a password: --password-file, and --user for an ACL user"},
    {"WRONGPASS", "correct the password in --password-file, or --user"},
    {"NOPERM", "this user needs LLEN, RPUSH, GET, SET, DEL, INFO and CLIENT SETNAME on the list and its mark"},
    {"LOADING", "it reads its data from disk; that ends by itself"},
    {"MISCONF", "it cannot write its snapshot to disk: see its log"},
    {"MASTERDOWN", "it is a replica that has lost its master"},
    {"NOREPLICAS", "it has too few replicas to write (min-replicas-to-write)"},
    {"CLUSTERDOWN", "its cluster is down"},
    {"MOVED", "it is one node of a cluster: give the address of the node that has the list"},
    {"ASK", "its cluster is moving the list to another node; that ends by itself"},
    {"BUSY", "it runs a script that does not end (SCRIPT KILL)"},
    {"FOREIGN", "choose another --list; or remove what stands there (DEL)"},
};

const char *vs_list_remedy(const char *refusal) {
    size_t length = strcspn(refusal, " ");
    for (size_t i = 0; i < VS_COUNT(refusals); i++)
        if (strlen(refusals[i].word) == length && memcmp(refusals[i].word, refusal, length) == 0)
            return refusals[i].todo;
    return NULL;
}
