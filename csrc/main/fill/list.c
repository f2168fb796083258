/* list.c -- the list of `vesta fill`; see list.h.
 *
 * A Redis that is started again may bring back from its disk ids that were popped since.  So may a replica that takes
 * over, and a master that was a replica for a while.  The mark tells: it holds under which history of Redis the list
 * was filled, that is the server's run id and its replication id.  If the history is another one, or is not known, the
 * list is emptied before anything is pushed. */
#include "main/fill/list.h"

#include "base/array.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define UNTOLD "unknown" /* a part of the history that the server does not tell */

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

/* A field of INFO; UNTOLD where the server has no such field, or does not let this user ask. */
static enum vs_redis_outcome ask(struct vs_list *list, const char *section, const char *field, char *buf, size_t size) {
    enum vs_redis_outcome outcome = list->redis.client->info(&list->redis, section, field, buf, size);
    if (outcome != VS_REDIS_REFUSED) return outcome;
    if (strncmp(list->redis.text, "NOAUTH", 6) == 0 || strncmp(list->redis.text, "LOADING", 7) == 0) return outcome;
    snprintf(buf, size, "%s", UNTOLD);
    return VS_REDIS_OK;
}

static enum vs_redis_outcome ask_replid(struct vs_list *list, char replid[VS_RUN_ID_MAX]) {
    return ask(list, "replication", "master_replid", replid, VS_RUN_ID_MAX);
}

/* A replica that takes writes would lose them; one that does not says so itself, but only to a write. */
static enum vs_redis_outcome meet(struct vs_list *list) {
    char role[16], run_id[VS_RUN_ID_MAX];
    enum vs_redis_outcome outcome = ask(list, "replication", "role", role, sizeof role);
    if (outcome != VS_REDIS_OK) return outcome;
    if (strcmp(role, "master") != 0 && strcmp(role, UNTOLD) != 0) return refuse(list, "READONLY it is a replica");
    outcome = ask(list, "server", "run_id", run_id, sizeof run_id);
    if (outcome == VS_REDIS_OK) outcome = ask_replid(list, list->replid);
    snprintf(list->history, sizeof list->history, "%s/%s", run_id, list->replid);
    list->is_told = strcmp(run_id, UNTOLD) != 0;
    return outcome;
}

static enum vs_redis_outcome get_length(struct vs_list *list, int64_t *length) {
    enum vs_redis_outcome outcome = call(list, 2, (const char *const[]){"LLEN", list->name});
    if (outcome == VS_REDIS_OK && list->redis.number < 0) return refuse(list, "ERR LLEN answers no number");
    if (outcome == VS_REDIS_OK) *length = list->redis.number;
    return outcome;
}

/* Whether what stands in the list was put there under this history.  A list without a mark is another program's, unless
 * this process has filled it before: then the mark was evicted, or is lost with what Redis has forgotten. */
static enum vs_redis_outcome check_mark(struct vs_list *list) {
    int64_t length = 0;
    enum vs_redis_outcome outcome = get_length(list, &length);
    if (outcome == VS_REDIS_OK) outcome = call(list, 2, (const char *const[]){"GET", list->mark});
    if (outcome != VS_REDIS_OK || length == 0) return outcome;
    if (list->redis.is_nil && !list->is_ours)
        return refuse(list, "FOREIGN the list is not empty, and no vesta fill has filled it");
    if (list->is_told && !list->redis.is_nil && strcmp(list->redis.text, list->history) == 0) return VS_REDIS_OK;
    outcome = call(list, 2, (const char *const[]){"DEL", list->name});
    if (outcome == VS_REDIS_OK) list->cleared += length;
    return outcome;
}

static enum vs_redis_outcome set_mark(struct vs_list *list) {
    return call(list, 3, (const char *const[]){"SET", list->mark, list->history});
}

/* On a connection that is there: the server may have been a replica since the last look, and Redis may have evicted the
 * mark of a list that it still has. */
static enum vs_redis_outcome look_again(struct vs_list *list, int64_t length) {
    enum vs_redis_outcome outcome = call(list, 2, (const char *const[]){"GET", list->mark});
    if (outcome != VS_REDIS_OK) return outcome;
    bool is_marked = !list->redis.is_nil && strcmp(list->redis.text, list->history) == 0;
    if (is_marked || (length > 0 && !list->redis.is_nil)) return VS_REDIS_OK; /* another fill's, of another history */
    return set_mark(list);
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

/* Whether the connection leads to the history that it led to when it was made. */
static enum vs_redis_outcome check_history(struct vs_list *list, bool *is_same) {
    char replid[VS_RUN_ID_MAX];
    enum vs_redis_outcome outcome = ask_replid(list, replid);
    *is_same = outcome == VS_REDIS_OK && strcmp(replid, list->replid) == 0;
    return outcome;
}

enum vs_redis_outcome vs_list_look(struct vs_list *list, int64_t *length) {
    bool is_new, is_same = true;
    enum vs_redis_outcome outcome = list->redis.client->connect(&list->redis, &is_new);
    if (outcome == VS_REDIS_OK && !is_new) outcome = check_history(list, &is_same);
    if (outcome == VS_REDIS_OK && (is_new || !is_same)) outcome = begin(list);
    if (outcome == VS_REDIS_OK) outcome = get_length(list, length);
    return outcome == VS_REDIS_OK ? look_again(list, *length) : outcome;
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
