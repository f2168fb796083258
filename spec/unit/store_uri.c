/* store_uri.c -- the URIs of stores that are elsewhere: what is read, what is refused, and that no message tells a
 * password. */
#include "base/array.h"
#include "tools.h"

#include "os/clock.h"
#include "store/reply.h"

#include <fcntl.h>

static const char *const keys[] = {"tls", "ca", NULL};
static struct vs_uri uri;
static struct vesta_error err;

static int parse(const char *text) {
    err.text[0] = '\0';
    return vs_uri_parse(at_wall(text, strlen(text) + 1), keys, &uri, &err);
}

#define REFUSED(bad, part)                                                                                             \
    do {                                                                                                               \
        CHECK(parse(bad) == VESTA_EOPTION);                                                                            \
        CHECK_HAS(err.text, part);                                                                                     \
    } while (0)

static void whole(void) {
    CHECK(parse("mysql://us%40er:p%2Fa%3Fs%3As@db1:3306/vesta?tls=verify&ca=/etc/ca%20one.pem") == VESTA_OK);
    CHECK_STR(uri.user, "us@er");
    CHECK_STR(uri.password, "p/a?s:s");
    CHECK_STR(uri.hosts, "db1:3306");
    CHECK_STR(uri.path, "/vesta");
    CHECK_STR(uri.value[0], "verify");
    CHECK_STR(uri.value[1], "/etc/ca one.pem");
    CHECK(parse("zk://h1:1,h2:2,[::1]:3/a/b") == VESTA_OK);
    CHECK_STR(uri.user, "");
    CHECK_STR(uri.hosts, "h1:1,h2:2,[::1]:3");
    CHECK_STR(uri.path, "/a/b");
    CHECK(parse("x://host") == VESTA_OK);
    CHECK_STR(uri.path, "");
    CHECK(parse("x://u:p@w@host/p") == VESTA_OK); /* an '@' that was not written as %40 */
    CHECK_STR(uri.password, "p@w");
    CHECK_STR(uri.hosts, "host");
}

static void what_is_refused(void) {
    REFUSED("mysql:", "no '//'");
    REFUSED("mysql:/x", "no '//'");
    REFUSED("mysql://", "names no host");
    REFUSED("mysql:///db", "names no host");
    REFUSED("mysql://u:p@/db", "names no host");
    REFUSED("mysql://a b/db", "names no host");
    REFUSED("mysql://h'; DROP/db", "names no host");
    REFUSED("mysql://h/db?", "not key=value");
    REFUSED("mysql://h/db?tls", "not key=value");
    REFUSED("mysql://h/db?tls=", "tls in the store's URI has no value");
    REFUSED("mysql://h/db?tls=off&tls=off", "has tls twice");
    REFUSED("mysql://h/db?tls=off&", "not key=value");
    REFUSED("mysql://h/db?TLS=off", "unknown key 'TLS': it may have tls, ca");
    REFUSED("mysql://h/db?x\x1b[31m=1", "\\x1b");
    REFUSED("mysql://%/db", "two hex digits");
    REFUSED("mysql://%4/db", "two hex digits");
    REFUSED("mysql://%4g@h/db", "two hex digits");
    REFUSED("mysql://u:%00@h/db", "control character");
    REFUSED("mysql://u:%0a@h/db", "control character");
    REFUSED("mysql://h/d\nb", "control character");
}

static void no_password_is_told(void) {
    static const char *const bad[] = {"mysql://u:s3cret@/db",   "mysql://u:s3/cret@h/db",  "mysql://u:s3?cret@h/db",
                                      "mysql://u:s3cret%@h/db", "mysql://u:s3cret@h o/db", "mysql://u:s3cret@h/db?x=1"};
    for (size_t i = 0; i < VS_COUNT(bad); i++) {
        CHECK(parse(bad[i]) != VESTA_OK);
        if (strstr(err.text, "s3") || strstr(err.text, "cret")) CHECK_FAIL("'%s' is told: %s", bad[i], err.text);
    }
}

/* A part at its bound is read, one byte more is not. */
static void bounds(void) {
    static char text[3000];
    static const struct {
        const char *before, *after;
        size_t most;
    } parts[] = {{"x://", "@h/p", sizeof uri.user - 1},
                 {"x://u:", "@h/p", sizeof uri.password - 1},
                 {"x://", "/p", sizeof uri.hosts - 1},
                 {"x://h/", "", sizeof uri.path - 2},
                 {"x://h/p?tls=", "", sizeof uri.value[0] - 1}};
    for (size_t i = 0; i < VS_COUNT(parts); i++)
        for (size_t over = 0; over < 2; over++) {
            size_t at = strlen(parts[i].before), length = parts[i].most + over;
            memset(text, 0, sizeof text);
            memcpy(text, parts[i].before, at);
            memset(text + at, 'a', length);
            memcpy(text + at + length, parts[i].after, strlen(parts[i].after));
            CHECK_EQ_I64(parse(text), over ? VESTA_EOPTION : VESTA_OK);
            if (over) CHECK_HAS(err.text, "is longer than");
        }
}

/* 0: it is refused. */
static unsigned port_of(const char *text, char *host, size_t size) {
    unsigned port = 3306;
    return vs_uri_host(text, host, size, &port, &err) == VESTA_OK ? port : 0;
}

static void hosts(void) {
    char host[20];
    unsigned port = 3306;
    CHECK_EQ_U64(port_of("db", host, sizeof host), 3306);
    CHECK_STR(host, "db");
    CHECK_EQ_U64(port_of("db:1", host, sizeof host), 1);
    CHECK_EQ_U64(port_of("[::1]:65535", host, sizeof host), 65535);
    CHECK_STR(host, "::1");
    CHECK_EQ_U64(port_of("[::1]", host, sizeof host), 3306);
    static const char *const bad[] = {"",      ":1",    "db:",    "db:0",      "db:65536",  "db:-1",
                                      "db:1x", "db:+1", "db: 1",  "[::1",      "[]:1",      "[::1]1",
                                      "a:b:1", "a,b",   "db:1,x", "db:00001x", "db:000001", "twenty-characters-it"};
    for (size_t i = 0; i < VS_COUNT(bad); i++)
        if (vs_uri_host(bad[i], host, sizeof host, &port, &err) != VESTA_EOPTION)
            CHECK_FAIL("'%s' is taken for a host", bad[i]);
}

static void secrets(void) {
    char buf[10], path[] = "/tmp/vesta-secret-XXXXXX";
    struct vs_secret in_uri = {NULL, "", "uri"}, in_file = {NULL, path, "uri"}, given = {"mine", path, "uri"};
    struct vs_secret longer = {NULL, "", "ten bytes!"}, folder = {NULL, "/tmp", "uri"};
    int fd = mkstemp(path);
    NEED(fd >= 0 && write(fd, "file\r\nmore\n", 11) == 11);
    CHECK(vs_uri_secret(&in_uri, buf, sizeof buf, &err) == VESTA_OK);
    CHECK_STR(buf, "uri");
    CHECK(vs_uri_secret(&in_file, buf, sizeof buf, &err) == VESTA_OK);
    CHECK_STR(buf, "file");
    CHECK(vs_uri_secret(&given, buf, sizeof buf, &err) == VESTA_OK);
    CHECK_STR(buf, "mine");
    CHECK(vs_uri_secret(&longer, buf, sizeof buf, &err) == VESTA_EOPTION);
    static const char *const bad[] = {"", "\nsecond", "ten bytes!\n", "a\0b\n"};
    static const size_t lengths[] = {0, 7, 11, 4};
    for (size_t i = 0; i < VS_COUNT(bad); i++) {
        CHECK(ftruncate(fd, 0) == 0 && pwrite(fd, bad[i], lengths[i], 0) == (ssize_t)lengths[i]);
        CHECK(vs_uri_secret(&in_file, buf, sizeof buf, &err) == VESTA_EIO);
        CHECK_HAS(err.text, path);
    }
    close(fd);
    CHECK(unlink(path) == 0);
    CHECK(vs_uri_secret(&in_file, buf, sizeof buf, &err) == VESTA_EIO);
    CHECK_HAS(err.text, "No such file");
    CHECK(vs_uri_secret(&folder, buf, sizeof buf, &err) == VESTA_EIO);
}

static void what_may_be_shown(void) {
    char buf[VS_URI_MAX], longest[VS_URI_MAX + 10];
    CHECK_STR(vs_store_public("file:/var/lib/a:b@c", buf), "file:/var/lib/a:b@c");
    CHECK_STR(vs_store_public("mysql://u:pw@h:3306/db?tls=off", buf), "mysql://u:***@h:3306/db?tls=off");
    CHECK_STR(vs_store_public("mysql://u:p@/w:x@h/db", buf), "mysql://u:***@h/db");
    CHECK_STR(vs_store_public("mysql://u@h:3306/db", buf), "mysql://u@h:3306/db");
    CHECK_STR(vs_store_public("zk://h1:1,h2:2/x", buf), "zk://h1:1,h2:2/x");
    CHECK_STR(vs_store_public("", buf), "");
    memset(longest, 'x', sizeof longest);
    memcpy(longest, "mysql://u:", 10);
    longest[sizeof longest - 1] = '\0';
    CHECK_EQ_U64(strlen(vs_store_public(longest, buf)), VS_URI_MAX - 1);
    memset(longest, 'x', VS_URI_MAX - 1); /* a password that is shorter than what hides it cuts nothing off */
    memcpy(longest, "mysql://u:p@h/", 14);
    longest[VS_URI_MAX - 1] = '\0';
    vs_store_public(longest, buf);
    CHECK(memcmp(buf, "mysql://u:*@h/", 14) == 0 && strlen(buf) == VS_URI_MAX - 1);
}

/* What a generator file keeps of a URI opens nothing by itself. */
static void what_is_kept_needs_its_secret(void) {
    char kept[VS_URI_MAX] = "mysql://u:hunter2@h/db";
    struct vs_store_opts opts = {.namespace_ = "a", .group = -1, .clock = vs_clock_system()};
    struct vs_store *store;
    vs_store_hide(kept);
    CHECK_STR(kept, "mysql://u:***@h/db");
    for (size_t i = strlen(kept); i < sizeof kept; i++)
        CHECK(kept[i] == '\0'); /* nothing of it is left behind the end */
    if (!vs_store_of(kept, NULL)) return;
    CHECK(vs_store_open(kept, &opts, &store, &err) == VESTA_EOPTION);
    CHECK_HAS(err.text, "kept in no generator file");
    CHECK_HAS(err.text, "secret_file");
}

static const struct check_case cases[] = {
    {"user, password, hosts, path and options", whole},
    {"what is refused, and why", what_is_refused},
    {"no password is told, wherever it stands", no_password_is_told},
    {"each part has a bound", bounds},
    {"hosts and ports", hosts},
    {"what may be shown of a URI", what_may_be_shown},
    {"what a generator file keeps of a URI with a password is no use without the secret",
     what_is_kept_needs_its_secret},
    {"a secret comes from the caller, else a file's first line, else the URI", secrets},
};

CHECK_MAIN(cases)
