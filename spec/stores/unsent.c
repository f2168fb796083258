/* unsent.c -- LD_PRELOAD: ZooKeeper's client library reports that it could not send a request that it has registered,
 * as if memory ran out.  The file $UNSENT selects the requests: "get" or "multi".  Without the file, all requests are
 * sent. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zookeeper/zookeeper.h>

static int or_unsent(int rc, const char *what) {
    char said[16] = "";
    int fd = open(getenv("UNSENT"), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return rc;
    ssize_t got = read(fd, said, sizeof said - 1);
    close(fd);
    return rc == ZOK && got > 0 && strcmp(said, what) == 0 ? ZMARSHALLINGERROR : rc;
}

__attribute__((visibility("default"))) int zoo_aget(zhandle_t *zh, const char *path, int watch,
                                                    data_completion_t completion, const void *data) {
    static int (*real)(zhandle_t *, const char *, int, data_completion_t, const void *);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "zoo_aget");
    return or_unsent(real(zh, path, watch, completion, data), "get");
}

__attribute__((visibility("default"))) int zoo_amulti(zhandle_t *zh, int count, const zoo_op_t *ops,
                                                      zoo_op_result_t *results, void_completion_t completion,
                                                      const void *data) {
    static int (*real)(zhandle_t *, int, const zoo_op_t *, zoo_op_result_t *, void_completion_t, const void *);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "zoo_amulti");
    return or_unsent(real(zh, count, ops, results, completion, data), "multi");
}
