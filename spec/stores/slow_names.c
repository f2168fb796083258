/* slow_names.c -- LD_PRELOAD: looking up a name that ends in .slow takes half a minute, as with unreachable name
 * servers, and then returns 127.0.0.1. */
#include <dlfcn.h>
#include <netdb.h>
#include <string.h>
#include <unistd.h>

#define SLOW_S 30

__attribute__((visibility("default"))) int getaddrinfo(const char *node, const char *service,
                                                       const struct addrinfo *hints, struct addrinfo **found) {
    static int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    size_t length = node ? strlen(node) : 0;
    if (length > 5 && strcmp(node + length - 5, ".slow") == 0) {
        sleep(SLOW_S);
        node = "127.0.0.1";
    }
    return real(node, service, hints, found);
}
