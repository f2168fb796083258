/* address.c -- parses addresses, and opens listening and connected sockets, without an event loop. */
#include "os/address.h"
#include "base/error.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

union any {
    struct sockaddr base;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_un local;
};

static const char TLS[] = "tls:";

bool vs_address_is_secure(const char *address) {
    return strncmp(address, TLS, sizeof TLS - 1) == 0;
}

const char *vs_address_plain(const char *address) {
    return address + (vs_address_is_secure(address) ? sizeof TLS - 1 : 0);
}

static const char *unix_path(const char *address) {
    return strncmp(address, "unix:", 5) == 0 ? address + 5 : NULL;
}

static int parse_unix(const char *path, union any *out, socklen_t *length, struct vesta_error *err) {
    size_t n = strlen(path);
    if (n == 0 || n >= sizeof out->local.sun_path)
        return vs_fail(err, VESTA_EOPTION, "unix:%s: a socket's path has 1 to %zu bytes", path,
                       sizeof out->local.sun_path - 1);
    const char *mark = strchr(path, '?'); /* without this check, options would become part of the file name */
    if (mark)
        return vs_fail(err, VESTA_EOPTION,
                       "unix:%.*s is followed by '%s': a socket's address has no keys, and no '?' in its path",
                       (int)(mark - path), path, VS_QUOTE(mark, strlen(mark)));
    memset(out, 0, sizeof *out);
    out->local.sun_family = AF_UNIX;
    memcpy(out->local.sun_path, path, n + 1);
    *length = sizeof out->local;
    return VESTA_OK;
}

/* Users who expect a health check of a URL may write http:// here. */
static const char *address_hint(const char *address) {
    if (strncmp(address, "http://", 7) == 0) return ". Leave out http:// and the path";
    if (strncmp(address, "https://", 8) == 0) return ". Write tls:HOST:PORT instead of https://";
    return "";
}

/* Splits HOST:PORT or [v6]:PORT. */
static int address_split(const char *address, char *host, size_t size, const char **port, struct vesta_error *err) {
    const char *from = vs_address_plain(address), *until = strrchr(from, ':');
    if (from != address && unix_path(from))
        return vs_fail(err, VESTA_EOPTION, "'%s': TLS is not used for a unix: address. Remove the tls:", address);
    if (until && *from == '[' && until > from + 1 && until[-1] == ']') {
        from++;
        *port = until-- + 1;
    } else if (until && until > from && !memchr(from, ':', (size_t)(until - from))) {
        *port = until + 1;
    } else {
        return vs_fail(err, VESTA_EOPTION, "'%s' is not an address: HOST:PORT, [IPv6]:PORT or unix:PATH%s", address,
                       address_hint(address));
    }
    char *end;
    unsigned long number = strtoul(*port, &end, 10);
    if (**port < '0' || **port > '9' || *end || number < 1 || number > 65535)
        return vs_fail(err, VESTA_EOPTION, "'%s': the port '%s' is not a number from 1 to 65535", address, *port);
    if ((size_t)(until - from) >= size)
        return vs_fail(err, VESTA_EOPTION, "'%s': the host's name is too long", address);
    memcpy(host, from, (size_t)(until - from));
    host[until - from] = '\0';
    return VESTA_OK;
}

/* Looks up the host's addresses for a listening socket.  Own: free *found with freeaddrinfo. */
static int address_look_up(const char *address, struct addrinfo **found, struct vesta_error *err) {
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    const char *port = "";
    char host[256];
    int rc = address_split(address, host, sizeof host, &port, err);
    if (rc != VESTA_OK) return rc;
    if ((rc = getaddrinfo(host, port, &hints, found)) != 0)
        return vs_fail(err, VESTA_EOPTION, "'%s': the host '%s' has no address (%s)", address, host, gai_strerror(rc));
    return VESTA_OK;
}

static int address_parse(const char *address, union any *out, socklen_t *length, struct vesta_error *err) {
    const char *path = unix_path(address);
    struct addrinfo *found;
    if (path) return parse_unix(path, out, length, err);
    int rc = address_look_up(address, &found, err);
    if (rc != VESTA_OK) return rc;
    memcpy(out, found->ai_addr, found->ai_addrlen);
    *length = found->ai_addrlen;
    freeaddrinfo(found);
    return VESTA_OK;
}

static bool address_is_loopback(const struct sockaddr *at) {
    const union any *any = (const union any *)at;
    switch (at->sa_family) {
    case AF_INET: return ntohl(any->v4.sin_addr.s_addr) >> 24 == 127;
    case AF_INET6: return IN6_IS_ADDR_LOOPBACK(&any->v6.sin6_addr);
    default: return false;
    }
}

int vs_address_is_local(const char *address, struct vesta_error *err) {
    const char *path = unix_path(address);
    struct addrinfo *found;
    union any any;
    socklen_t length;
    int rc = path ? parse_unix(path, &any, &length, err) : address_look_up(address, &found, err);
    if (rc != VESTA_OK || path) return rc == VESTA_OK ? 1 : rc;
    bool is_local = true;
    for (const struct addrinfo *at = found; at; at = at->ai_next)
        is_local = is_local && address_is_loopback(at->ai_addr);
    freeaddrinfo(found);
    return is_local;
}

/* Returns whether this machine has the address.  Tests it with port 0, because the real port may be in use. */
static bool address_is_own(const struct addrinfo *at) {
    union any any;
    int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    memcpy(&any, at->ai_addr, at->ai_addrlen);
    if (at->ai_family == AF_INET) any.v4.sin_port = 0;
    if (at->ai_family == AF_INET6) any.v6.sin6_port = 0;
    bool is_own = fd >= 0 && bind(fd, &any.base, at->ai_addrlen) == 0;
    if (fd >= 0) close(fd);
    return is_own;
}

static void addresses_add(struct vs_addresses *to, const struct addrinfo *at) {
    char host[64], port[8], *text = to->text[to->count];
    if (getnameinfo(at->ai_addr, at->ai_addrlen, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return;
    snprintf(text, VS_ADDRESS_TEXT_MAX, at->ai_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
    for (int i = 0; i < to->count; i++)
        if (strcmp(to->text[i], text) == 0) return;
    to->count++;
}

int vs_addresses_of(const char *address, struct vs_addresses *out, struct vesta_error *err) {
    const char *port;
    char host[256];
    unsigned char any[sizeof(struct in6_addr)];
    struct addrinfo *found;
    out->count = 0;
    if (unix_path(address)) return VESTA_OK;
    int rc = address_split(address, host, sizeof host, &port, err);
    if (rc != VESTA_OK || inet_pton(AF_INET, host, any) == 1 || inet_pton(AF_INET6, host, any) == 1) return rc;
    if ((rc = address_look_up(address, &found, err)) != VESTA_OK) return rc;
    for (const struct addrinfo *at = found; at && out->count < VS_ADDRESSES_MAX; at = at->ai_next)
        if (address_is_own(at)) addresses_add(out, at);
    if (out->count == 0) addresses_add(out, found);
    freeaddrinfo(found);
    return VESTA_OK;
}

/* Returns whether a socket file is left over from a killed process: no process listens on it. */
static bool is_left_over(const union any *any, socklen_t length) {
    struct stat st;
    if (stat(any->local.sun_path, &st) != 0 || !S_ISSOCK(st.st_mode)) return false;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool dead = fd >= 0 && connect(fd, &any->base, length) != 0 && errno == ECONNREFUSED;
    if (fd >= 0) close(fd);
    return dead;
}

/* Describes the file that blocks a socket's path.  Returns NULL if the file is a socket or does not exist. */
static const char *file_at_path(const char *path) {
    struct stat st;
    if (lstat(path, &st) != 0) return NULL;
    switch (st.st_mode & S_IFMT) {
    case S_IFSOCK: return NULL;
    case S_IFLNK: return "a symbolic link";
    case S_IFDIR: return "a folder";
    default: return "a file that is not a socket";
    }
}

static int bind_failed_at_path(const char *address, struct vesta_error *err) {
    int why = errno;
    const char *found = file_at_path(unix_path(address));
    switch (why) {
    case EADDRINUSE:
        if (!found) break;
        return vs_fail(err, VESTA_EIO, "%s: this path is %s. Remove it, or choose another path", address, found);
    case ENOENT:
        return vs_fail(err, VESTA_EIO, "%s: the socket's folder does not exist. Create it, or choose another path",
                       address);
    case EACCES:
        return vs_fail(err, VESTA_EIO,
                       "%s: no permission to create the socket. Change the permissions of its folder, or "
                       "choose another path",
                       address);
    default: return vs_fail(err, VESTA_EIO, "%s: cannot listen there: %s", address, strerror(why));
    }
    return vs_fail(err, VESTA_EIO,
                   "%s is in use: another program, perhaps another vesta serve, listens there. Stop it, or "
                   "choose another path",
                   address);
}

static int bind_failed(const char *address, struct vesta_error *err) {
    if (unix_path(address)) return bind_failed_at_path(address, err);
    switch (errno) {
    case EADDRINUSE:
        return vs_fail(
            err, VESTA_EIO,
            "%s is in use: another program, perhaps another vesta serve, listens there. Stop it, or choose another "
            "address with --http or --resp",
            address);
    case EADDRNOTAVAIL:
        return vs_fail(err, VESTA_EIO, "%s is not an address of this machine. Choose another with --http or --resp",
                       address);
    case EACCES:
        return vs_fail(err, VESTA_EIO,
                       "%s: no permission to listen there (ports below 1024 need root). Choose another with "
                       "--http or --resp",
                       address);
    default: return vs_fail(err, VESTA_EIO, "%s: cannot listen there: %s", address, strerror(errno));
    }
}

/* Sets the permissions of a socket file.  Call it between bind and listen, so that no client can connect while the file
 * still has the permissions that the umask left. */
static bool set_mode(const union any *any, unsigned mode) {
    return any->base.sa_family != AF_UNIX || chmod(any->local.sun_path, mode) == 0;
}

int vs_listen(const char *address, unsigned mode, int *fd, struct vesta_error *err) {
    union any any;
    socklen_t length;
    int on = 1, rc = address_parse(address, &any, &length, err);
    if (rc != VESTA_OK) return rc;
    if (any.base.sa_family == AF_UNIX && is_left_over(&any, length)) unlink(any.local.sun_path);
    int sock = socket(any.base.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (sock < 0) return bind_failed(address, err);
    /* REUSEADDR lets a restarted server bind while connections of the old server are still closing.  REUSEPORT is not
     * set, because it would let two servers share the port. */
    if (any.base.sa_family != AF_UNIX) setsockopt(sock, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (any.base.sa_family == AF_INET6) setsockopt(sock, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (bind(sock, &any.base, length) != 0 || !set_mode(&any, mode) || listen(sock, VS_BACKLOG) != 0) {
        rc = bind_failed(address, err);
        close(sock);
        return rc;
    }
    *fd = sock;
    return VESTA_OK;
}

int vs_address_check(const char *address, struct vesta_error *err) {
    const char *path = unix_path(address), *port;
    union any any;
    socklen_t length;
    char host[256];
    return path ? parse_unix(path, &any, &length, err) : address_split(address, host, sizeof host, &port, err);
}

/* ------------------------------------------------------------------ connecting */

static int connect_one(const struct sockaddr *to, socklen_t length, int patience_ms) {
    struct timeval patience = {patience_ms / 1000, patience_ms % 1000 * 1000};
    int fd = socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience); /* also limits connect */
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (connect(fd, to, length) == 0) return fd;
    int why = errno == EINPROGRESS ? ETIMEDOUT : errno;
    close(fd);
    errno = why;
    return -1;
}

/* Tries all addresses of the host, because the first is often an IPv6 address on which no server listens. */
static int connect_any(const char *address, int patience_ms, struct vesta_error *err) {
    char host[256];
    const char *port;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV}, *found;
    int fd = -1, rc = address_split(address, host, sizeof host, &port, err);
    if (rc != VESTA_OK) return -1;
    if ((rc = getaddrinfo(host, port, &hints, &found)) != 0) {
        vs_fail(err, VESTA_EIO, "%s: the host has no address (%s)", address, gai_strerror(rc));
        return -1;
    }
    for (struct addrinfo *at = found; at && fd < 0; at = at->ai_next)
        fd = connect_one(at->ai_addr, at->ai_addrlen, patience_ms);
    if (fd < 0) vs_fail(err, VESTA_EIO, "%s: cannot connect: %s", address, strerror(errno));
    freeaddrinfo(found);
    return fd;
}

int vs_connect(const char *address, int patience_ms, struct vesta_error *err) {
    union any any;
    socklen_t length;
    const char *path = unix_path(address);
    if (!path) return connect_any(address, patience_ms, err);
    if (parse_unix(path, &any, &length, err) != VESTA_OK) return -1;
    int fd = connect_one(&any.base, length, patience_ms);
    if (fd < 0) vs_fail(err, VESTA_EIO, "%s: cannot connect: %s", address, strerror(errno));
    return fd;
}

void vs_unlisten(const char *address, int fd) {
    const char *path = unix_path(address);
    if (fd < 0) return;
    close(fd);
    if (path) unlink(path);
}

/* ------------------------------------------------------------------ networks */

static bool has_bit(const unsigned char *at, int bit) {
    return at[bit / 8] >> (7 - bit % 8) & 1;
}

/* Reads the prefix length after the slash, or returns `all` if there is no slash.  Returns -1 if it is invalid. */
static int read_bits(const char *slash, int all) {
    if (!slash) return all;
    size_t length = strlen(slash + 1);
    if (length == 0 || length > 3 || slash[1 + strspn(slash + 1, "0123456789")] != '\0') return -1;
    int bits = atoi(slash + 1);
    return bits <= all ? bits : -1;
}

/* Returns whether a network contains only IPv4 addresses in IPv6 form.  It would match no peer, because vs_peer_at
 * converts such addresses to IPv4. */
static bool is_mapped(const struct vs_network *network) {
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
    return network->family == 6 && network->bits >= 96 && memcmp(network->at, mapped, sizeof mapped) == 0;
}

static bool read_network(const char *text, struct vs_network *out) {
    char host[INET6_ADDRSTRLEN] = "";
    const char *slash = strchr(text, '/');
    size_t length = slash ? (size_t)(slash - text) : strlen(text);
    if (length >= sizeof host) return false;
    memcpy(host, text, length);
    *out = (struct vs_network){.family = strchr(host, ':') ? 6 : 4};
    int all = out->family == 6 ? 128 : 32, bits = read_bits(slash, all);
    if (bits < 0 || inet_pton(out->family == 6 ? AF_INET6 : AF_INET, host, out->at) != 1) return false;
    out->bits = (uint8_t)bits;
    return !is_mapped(out);
}

int vs_network_read(const char *text, struct vs_network *out, struct vesta_error *err) {
    struct vs_network network = {.family = 0};
    if (strcmp(text, "unix") != 0 && !read_network(text, &network))
        return vs_fail(err, VESTA_EOPTION,
                       "has '%s', which must be an address, a network such as 10.0.0.0/8, or \"unix\"",
                       VS_QUOTE(text, strlen(text)));
    for (int bit = network.bits; network.family && bit < (network.family == 6 ? 128 : 32); bit++)
        if (has_bit(network.at, bit))
            return vs_fail(err, VESTA_EOPTION, "has '%s', an address with bits set after the first %d",
                           VS_QUOTE(text, strlen(text)), network.bits);
    *out = network;
    return VESTA_OK;
}

bool vs_network_has(const struct vs_network *network, int family, const unsigned char *at) {
    if (network->family != family) return false;
    int whole = network->bits / 8;
    if (memcmp(network->at, at, (size_t)whole) != 0) return false;
    for (int bit = whole * 8; bit < network->bits; bit++)
        if (has_bit(network->at, bit) != has_bit(at, bit)) return false;
    return true;
}
