/* zk_foreign.c -- what a person's commands read below the root that the URI names: the names of namespaces, and the
 * numbers in other generators' nodes: Butterfly's
 * /sequence/<name>/worker_<n>, Leaf's /<name>/forever/<ip>:<port>-<n>.  Reads only, and has time: its calls wait. */
#define THREADED /* the header's word for calls that wait */
#include "core/core.h"
#include "store/foreign.h"
#include "store/zk_link.h"

#include <stdio.h>
#include <stdlib.h>

#define PATH_ROOM 512
#define SEQUENCE_DIGITS 10 /* of a sequential node */

/* Fills the reply by an error of a read, with the path that was read. */
static bool is_well(struct zk_store *self, int rc, const char *path, struct vs_reply *reply) {
    if (rc == ZNONODE)
        vs_answer(reply, VS_STORE_REFUSED, "%.70s: there is no node %.60s", self->where, path);
    else if (rc != ZOK)
        vs_zk_trouble(self, rc, reply);
    return rc == ZOK;
}

/* Empty where it was given back, or never taken; else with the time at which its holder gives up. */
static bool take_butterfly(struct zk_store *self, const char *parent, const char *child, struct vs_foreign_list *list,
                           struct vs_reply *reply) {
    char path[PATH_ROOM], json[VS_RECORD_TEXT_MAX], ip[64] = "", process[32] = "", who[VS_HOLDER_MAX];
    int length = sizeof json - 1;
    uint64_t worker;
    int64_t until_ms = VS_FOREIGN_FREE;
    if (strncmp(child, "worker_", 7) != 0 || !vs_is_number(child + 7, &worker)) return true; /* config, locks */
    snprintf(path, sizeof path, "%.380s/%.100s", parent, child);
    int rc = zoo_get(self->zh, path, 0, json, &length, NULL);
    if (rc == ZNONODE) return true;
    if (!is_well(self, rc, path, reply)) return false;
    json[length > 0 ? length : 0] = '\0';
    if (length > 0 && !vs_foreign_number(json, "lastExpireTime", &until_ms)) {
        vs_answer(reply, VS_STORE_REFUSED, "%.60s%.60s is not what Butterfly writes", self->where, path);
        return false;
    }
    vs_foreign_text(json, "ip", ip, sizeof ip);
    vs_foreign_text(json, "processId", process, sizeof process);
    snprintf(who, sizeof who, "%s %s", ip, process);
    return vs_foreign_add(list, worker, until_ms, length > 0 ? who : "", reply);
}

/* The number is in the name, behind the last '-'; Leaf never frees one. */
static bool take_leaf(struct zk_store *self, const char *parent, const char *child, struct vs_foreign_list *list,
                      struct vs_reply *reply) {
    const char *dash = strrchr(child, '-'), *digits = dash ? dash + 1 : child;
    if (!dash || strlen(digits) != SEQUENCE_DIGITS || digits[strspn(digits, "0123456789")]) {
        vs_answer(reply, VS_STORE_REFUSED, "%.40s%.40s has a node that is none of Leaf's: '%.40s'", self->where, parent,
                  child);
        return false;
    }
    return vs_foreign_add(list, strtoull(digits, NULL, 10), VS_FOREIGN_EVER, child, reply);
}

/* The root's nodes: ~clock is no name that a namespace can have. */
void vs_zk_names(struct vs_store *store, void (*tell)(void *to, const char *name), void *to, struct vs_reply *reply) {
    struct zk_store *self = (struct zk_store *)store;
    struct String_vector children;
    if (!vs_zk_begin(self, VS_STORE_LIST_MS, reply)) return;
    int rc = zoo_get_children(self->zh, "/", 0, &children);
    if (rc != ZOK) {
        vs_zk_trouble(self, rc, reply);
        return;
    }
    for (int i = 0; i < children.count; i++)
        tell(to, children.data[i]);
    deallocate_String_vector(&children);
}

void vs_zk_foreign(struct vs_store *store, enum vs_foreign_kind kind, const char *name, struct vs_foreign **rows,
                   size_t *count, struct vs_reply *reply) {
    struct zk_store *self = (struct zk_store *)store;
    struct vs_foreign_list list = {rows, count, 0};
    struct String_vector children;
    char parent[PATH_ROOM];
    bool is_leaf = kind == VS_LEAF;
    *rows = NULL;
    *count = 0;
    vs_reply_clear(reply);
    if ((!is_leaf && kind != VS_BUTTERFLY_ZK) || !name || strlen(name) > VS_FOREIGN_NAME_MAX) {
        vs_answer(reply, VS_STORE_REFUSED, "%.60s: a ZooKeeper has no numbers of that kind", self->where);
        return;
    }
    if (!vs_zk_connect(self, VS_STORE_LIST_MS, reply)) return;
    snprintf(parent, sizeof parent, is_leaf ? "/%s/forever" : "/sequence/%s", name);
    if (!is_well(self, zoo_get_children(self->zh, parent, 0, &children), parent, reply)) return;
    for (int i = 0; i < children.count && reply->outcome == VS_STORE_OK; i++)
        (is_leaf ? take_leaf : take_butterfly)(self, parent, children.data[i], &list, reply);
    deallocate_String_vector(&children);
}
