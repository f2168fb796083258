/* foreign.c -- reads nodes under the URI's root for administrators: the names of namespaces, and the numbers of other
 * generators (Butterfly's /sequence/<name>/worker_<n>, and Leaf's /<name>/forever/<ip>:<port>-<n>). */
#include "store/foreign.h"
#include "store/zk/link.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEQUENCE_DIGITS 10 /* number of digits at the end of a sequential node's name */

#define WORKER "worker_"
_Static_assert(sizeof((struct zk_store *)0)->root + sizeof "/sequence//" + VS_FOREIGN_NAME_MAX +
                       sizeof WORKER "18446744073709551615" <
                   VS_ZK_PATH_MAX,
               "a cut path would be another node, or none");
_Static_assert(sizeof "/forever" <= sizeof "/sequence/", "Leaf's paths are not longer");

/* NUL-terminated names of children, one after another in memory. */
struct zk_foreign_names {
    char *at;
    size_t length;
    struct Stat parent;
};

/* Lists the children of a node under the root. */
static bool children_of(struct zk_store *self, const char *node, struct zk_foreign_names *names,
                        struct vs_reply *reply) {
    char path[VS_ZK_PATH_MAX];
    assert(!names->at); /* otherwise the previous list would leak */
    assert(node[0] == '/' || !node[0]);
    vs_zk_path(self, path, "%s", node);
    vs_zk_ask(self, ZK_CHILDREN, path);
    const struct zk_answer *answer = vs_zk_next(self, reply);
    if (!answer) return false;
    if (answer->rc == ZNONODE && node[0])
        return vs_answer(reply, VS_STORE_REFUSED, "%.70s: there is no node %.60s", self->place.where, node);
    if (answer->rc != ZOK) return vs_zk_trouble(self, answer->rc, reply);
    names->at = malloc(answer->length + 1);
    if (!names->at) return vs_answer(reply, VS_STORE_DOWN, "no memory for a list");
    memcpy(names->at, answer->text, answer->length);
    names->length = answer->length;
    names->parent = answer->stat;
    assert(!names->length || !names->at[names->length - 1]); /* the last name is NUL-terminated, too */
    return true;
}

/* Reads a node's content as a string.  Sets *found to whether the node exists. */
static bool zk_foreign_text_of(struct zk_store *self, const char *node, char text[static VS_RECORD_TEXT_MAX],
                               bool *found, struct vs_reply *reply) {
    char path[VS_ZK_PATH_MAX];
    assert(node[0] == '/');
    vs_zk_path(self, path, "%s", node);
    vs_zk_ask(self, ZK_GET, path);
    const struct zk_answer *answer = vs_zk_next(self, reply);
    if (!answer) return false;
    *found = answer->rc == ZOK;
    if (answer->rc == ZNONODE) return true;
    if (answer->rc != ZOK) return vs_zk_trouble(self, answer->rc, reply);
    snprintf(text, VS_RECORD_TEXT_MAX, "%.*s", (int)answer->length, answer->text);
    return true;
}

/* Adds the number of a Butterfly node.  The node is empty if the number is free.  Otherwise it contains the time at
 * which the number's holder stops. */
static bool take_butterfly(struct zk_store *self, const struct vs_foreign_ask *ask, const char *parent,
                           const char *child, struct vs_foreign_list *list, struct vs_reply *reply) {
    char path[VS_ZK_PATH_MAX], json[VS_RECORD_TEXT_MAX], ip[64] = "", process[32] = "";
    struct vs_foreign row = {.until_ms = VS_FOREIGN_FREE};
    bool found;
    const size_t prefix = sizeof WORKER - 1;
    /* The node belongs to a config or a lock. */
    if (strncmp(child, WORKER, prefix) != 0 || !vs_is_number(child + prefix, &row.worker)) return true;
    snprintf(path, sizeof path, "%.380s/%.100s", parent, child);
    if (!zk_foreign_text_of(self, path, json, &found, reply)) return false;
    if (!found) return true;
    if (json[0] && !vs_foreign_number(json, "lastExpireTime", &row.until_ms))
        return vs_answer(reply, VS_STORE_REFUSED, "%.60s%.60s does not have Butterfly's format", self->place.where,
                         path);
    vs_foreign_text(json, "ip", ip, sizeof ip);
    vs_foreign_text(json, "processId", process, sizeof process);
    if (json[0]) snprintf(row.who, sizeof row.who, "%s %s", ip, process);
    return vs_foreign_add(list, ask, &row, reply);
}

/* Adds the number of a Leaf node.  The number follows the last '-' in the node's name, and Leaf never frees it. */
static bool take_leaf(struct zk_store *self, const struct vs_foreign_ask *ask, const char *parent, const char *child,
                      struct vs_foreign_list *list, struct vs_reply *reply) {
    const char *dash = strrchr(child, '-'), *digits = dash ? dash + 1 : child;
    if (!dash || strlen(digits) != SEQUENCE_DIGITS || digits[strspn(digits, "0123456789")]) {
        return vs_answer(reply, VS_STORE_REFUSED, "%.40s%.40s has a node that is not Leaf's: '%.40s'",
                         self->place.where, parent, child);
    }
    struct vs_foreign row = {.worker = strtoull(digits, NULL, 10), .until_ms = VS_FOREIGN_EVER};
    snprintf(row.who, sizeof row.who, "%s", child);
    return vs_foreign_add(list, ask, &row, reply);
}

/* Lists the root's nodes.  Names such as ~clock are not valid namespace names. */
void vs_zk_names(struct vs_store *store, const char *of, void (*tell)(void *to, const char *name), void *to,
                 struct vs_reply *reply) {
    struct zk_store *self = (struct zk_store *)store;
    struct zk_foreign_names names = {.at = NULL};
    (void)of; /* unused, because all children are listed anyway */
    if (vs_zk_connect(self, VS_STORE_LIST_MS, reply) && children_of(self, "", &names, reply)) {
        for (size_t i = 0; i < names.length; i += strlen(names.at + i) + 1)
            tell(to, names.at + i);
        vs_done(reply);
    }
    free(names.at);
}

/* Computes the numbers issued so far.  ZooKeeper numbers a sequential node by how many children its parent has ever
 * had.  The parent's cversion is twice that number minus the number of existing children (DataNode.copyStat). */
static void take_creations(const struct Stat *parent, struct vs_foreign_list *list) {
    int64_t twice = (int64_t)parent->cversion + parent->numChildren;
    list->issued_first = 0;
    if (twice < 0 || twice % 2)
        list->doubt = "the node's counter of children has overflowed";
    else
        list->issued_until = (uint64_t)twice / 2;
}

static bool is_of_a_zookeeper(enum vs_foreign_kind kind, const char *name) {
    return (kind == VS_LEAF || kind == VS_BUTTERFLY_ZK) && name && strlen(name) <= VS_FOREIGN_NAME_MAX;
}

void vs_zk_foreign(struct vs_store *store, const struct vs_foreign_ask *ask, struct vs_foreign_list *list,
                   struct vs_reply *reply) {
    struct zk_store *self = (struct zk_store *)store;
    struct zk_foreign_names names = {.at = NULL};
    char parent[VS_ZK_PATH_MAX];
    const enum vs_foreign_kind kind = ask->kind;
    assert(kind < VS_FOREIGN_KINDS);
    assert(list->count == 0); /* rows that are already in the list would appear as rows of this server */
    vs_reply_clear(reply);
    if (!is_of_a_zookeeper(kind, ask->name)) {
        vs_answer(reply, VS_STORE_REFUSED, "%.60s: this generator does not keep its numbers in ZooKeeper",
                  self->place.where);
        return;
    }
    snprintf(parent, sizeof parent, kind == VS_LEAF ? "/%s/forever" : "/sequence/%s", ask->name);
    bool well = vs_zk_connect(self, VS_STORE_LIST_MS, reply) && children_of(self, parent, &names, reply);
    for (size_t i = 0; well && i < names.length; i += strlen(names.at + i) + 1)
        well = (kind == VS_LEAF ? take_leaf : take_butterfly)(self, ask, parent, names.at + i, list, reply);
    if (well && kind == VS_LEAF) take_creations(&names.parent, list);
    if (well && vs_foreign_end(list, ask, reply)) vs_done(reply);
    free(names.at);
}
