/* host.c -- this machine's name, address and ordinal. */
#include "os/host.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ORDINAL_DIGITS_MAX 9

void vs_host_name(char *buf, size_t size) {
    if (gethostname(buf, size) != 0) snprintf(buf, size, "unknown");
    buf[size - 1] = '\0';
}

/* Returns the bytes of an interface's address if other machines can use it, else NULL. */
static const void *host_usable(const struct ifaddrs *at, int family) {
    bool is_up = at->ifa_addr && (at->ifa_flags & IFF_UP) && !(at->ifa_flags & IFF_LOOPBACK);
    if (!is_up || at->ifa_addr->sa_family != family) return NULL;
    if (family == AF_INET) return &((const struct sockaddr_in *)(const void *)at->ifa_addr)->sin_addr;
    const struct in6_addr *address = &((const struct sockaddr_in6 *)(const void *)at->ifa_addr)->sin6_addr;
    return IN6_IS_ADDR_LINKLOCAL(address) ? NULL : address;
}

static int host_find_field(const struct ifaddrs *list, int family, char *buf) {
    for (const struct ifaddrs *at = list; at; at = at->ifa_next) {
        const void *address = host_usable(at, family);
        if (address && inet_ntop(family, address, buf, VS_ADDRESS_MAX)) return 0;
    }
    return -1;
}

int vs_host_address(char buf[VS_ADDRESS_MAX]) {
    struct ifaddrs *list;
    if (getifaddrs(&list) != 0) return -1;
    int rc = host_find_field(list, AF_INET, buf);
    if (rc != 0) rc = host_find_field(list, AF_INET6, buf);
    freeifaddrs(list);
    return rc;
}

int64_t vs_host_ordinal(const char *host) {
    size_t end = strcspn(host, "."), at = end;
    while (at > 0 && host[at - 1] >= '0' && host[at - 1] <= '9')
        at--;
    bool is_number = at < end && end - at <= ORDINAL_DIGITS_MAX && at > 0 && host[at - 1] == '-';
    return is_number ? strtoll(host + at, NULL, 10) : -1;
}
