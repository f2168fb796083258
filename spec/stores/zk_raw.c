/* zk_raw.c -- reads and writes nodes of a ZooKeeper, for tests that damage a store.
 *
 *     zk_raw HOST:PORT USER:PASSWORD|- put PATH < text | get PATH | remove PATH | open PATH
 *
 * `put` creates or overwrites a node, `remove` removes it with its children, `open` lets anyone write it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zookeeper/zookeeper.h>

static zhandle_t *zh;

static void ignore(zhandle_t *handle, int type, int state, const char *path, void *context) {
    (void)handle, (void)type, (void)state, (void)path, (void)context;
}

static int put(const char *path) {
    static char text[2 << 20];
    int length = (int)fread(text, 1, sizeof text, stdin);
    int rc = zoo_set(zh, path, text, length, -1);
    if (rc != ZNONODE) return rc;
    return zoo_create(zh, path, text, length, &ZOO_CREATOR_ALL_ACL, ZOO_PERSISTENT, NULL, 0);
}

static int get(const char *path) {
    static char text[2 << 20];
    int length = sizeof text, rc = zoo_get(zh, path, 0, text, &length, NULL);
    if (rc == ZOK && length > 0) fwrite(text, 1, (size_t)length, stdout);
    return rc;
}

static int remove_all(const char *path) {
    struct String_vector children;
    int rc = zoo_get_children(zh, path, 0, &children);
    for (int i = 0; rc == ZOK && i < children.count; i++) {
        char child[1000];
        snprintf(child, sizeof child, "%s/%s", path, children.data[i]);
        rc = remove_all(child);
    }
    if (rc == ZOK) deallocate_String_vector(&children);
    return rc == ZOK ? zoo_delete(zh, path, -1) : rc;
}

int main(int argc, char **argv) {
    if (argc != 5) return 2;
    zoo_set_debug_level((ZooLogLevel)0);
    zh = zookeeper_init(argv[1], ignore, 10000, NULL, NULL, 0);
    if (!zh) return 2;
    for (int i = 0; i < 1000 && zoo_state(zh) != ZOO_CONNECTED_STATE; i++)
        usleep(10000);
    if (strcmp(argv[2], "-") != 0) zoo_add_auth(zh, "digest", argv[2], (int)strlen(argv[2]), NULL, NULL);
    int rc = ZBADARGUMENTS;
    if (strcmp(argv[3], "put") == 0) rc = put(argv[4]);
    if (strcmp(argv[3], "get") == 0) rc = get(argv[4]);
    if (strcmp(argv[3], "remove") == 0) rc = remove_all(argv[4]);
    if (strcmp(argv[3], "open") == 0) rc = zoo_set_acl(zh, argv[4], -1, &ZOO_OPEN_ACL_UNSAFE);
    if (rc != ZOK) fprintf(stderr, "%s %s: %s\n", argv[3], argv[4], zerror(rc));
    zookeeper_close(zh);
    return rc != ZOK;
}
