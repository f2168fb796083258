/* store_uri.c -- URIs of remote stores: how they are read, which are rejected, and that no message contains a
 * password. */
#include "base/array.h"
#include "tools.h"

#include "os/clock.h"
#include "os/secret.h"
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
    CHECK(parse("x://u:p@w@host/p") == VESTA_OK); /* a '@' that should have been written as %40 */
    CHECK_STR(uri.password, "p@w");
    CHECK_STR(uri.hosts, "host");
    CHECK(parse("x://u:a%23b@host/p%40q%23?ca=%23") == VESTA_OK);
    CHECK_STR(uri.password, "a#b");
    CHECK_STR(uri.path, "/p@q#");
    CHECK_STR(uri.value[1], "#");
}

/* ------------------------------------------------------------------ stores on this machine */

/* Returns the path of a file: URI, or NULL with the reason in err. */
static const char *path_of(const char *text) {
    static char path[VS_URI_MAX];
    err.text[0] = '\0';
    return vs_uri_path(&vs_store_file, at_wall(text, strlen(text) + 1), path, &err) == VESTA_OK ? path : NULL;
}

static void paths(void) {
    static const struct {
        const char *uri, *path;
    } rows[] = {{"file:/x", "/x"},
                {"file:///x", "/x"},
                {"file://localhost/x", "/x"},
                {"file://LocalHost/x/y", "/x/y"},
                {"file:/a%3Fb%23c%25d", "/a?b#c%d"},
                {"file:/a%3fb", "/a?b"},
                {"file://localhost/a%3Fb", "/a?b"},
                {"file:/a@b:c", "/a@b:c"},
                {"file:///a@b", "/a@b"},
                {"file:/a b+c&d=e;f,g", "/a b+c&d=e;f,g"},
                {"file:/\xc3\xa4", "/\xc3\xa4"},
                {"file:/", "/"}};
    for (size_t i = 0; i < VS_COUNT(rows); i++) {
        const char *path = path_of(rows[i].uri);
        if (!path) CHECK_FAIL("%s is refused: %s", rows[i].uri, err.text);
        if (path) CHECK_STR(path, rows[i].path);
    }
}

static void paths_that_are_refused(void) {
    static const struct {
        const char *uri, *part;
    } rows[] = {{"file:/x?y=z", "unknown key 'y': a file: URI has no keys"},
                {"file:/x?y=z", "write it as %3F: file:/x%3Fy=z"},
                {"file:/100%?y", "file:/100%25%3Fy"},
                {"file:/x?", "unknown key ''"},
                {"file:/\xc3\xa4?y", "file:/%C3%A4%3Fy"},
                {"file:///x?cache=shared", "unknown key 'cache'"},
                {"file:/x?mode\x1b=1", "\\x1b"},
                {"file:/x#y", "write it as %23"},
                {"file:/x#", "write it as %23"},
                {"file://otherhost/x", "the host 'otherhost', but this store is on this machine: write file:/DIR"},
                {"file://localhost.evil/x", "the host 'localhost.evil'"},
                {"file://localhost:80/x", "a host with a port"},
                {"file://127.0.0.1/x", "the host '127.0.0.1'"},
                {"file://me@localhost/x", "has a user"},
                {"file://me@/x", "has a user"},
                {"file://me:s3cret@localhost/x", "has a user"},
                {"file://me:s3cret@host/x", "has a user"},
                {"file://me:s3/cret@host/x", "has an '@' in its path"},
                {"file://s3cret:80/x", "a host with a port"},
                {"file:/x%", "two hex digits"},
                {"file:/x%4", "two hex digits"},
                {"file:/x%zz", "two hex digits"},
                {"file:/x%00y", "control character"},
                {"file:/x%0ay", "control character"},
                {"file:/x\ny", "control character"},
                {"file:", "absolute path"},
                {"file:x", "absolute path"},
                {"file:%2Fx", "absolute path"},
                {"file://", "absolute path"},
                {"file://localhost", "absolute path"},
                {"file://x", "the host 'x'"}};
    for (size_t i = 0; i < VS_COUNT(rows); i++) {
        if (path_of(rows[i].uri)) CHECK_FAIL("%s is accepted as a path", rows[i].uri);
        CHECK_HAS(err.text, rows[i].part);
        if (strstr(err.text, "s3cret")) CHECK_FAIL("%s is revealed: %s", rows[i].uri, err.text);
    }
}

static void path_bounds(void) {
    static char text[3 * VS_URI_MAX], path[VS_URI_MAX];
    for (int length = VS_URI_MAX - 2; length <= VS_URI_MAX; length++) {
        memset(text, 'a', sizeof text);
        memcpy(text, "file:/", 6);
        text[5 + length] = '\0';
        CHECK((vs_uri_path(&vs_store_file, text, path, &err) == VESTA_OK) == (length < VS_URI_MAX));
    }
    CHECK_HAS(err.text, "is longer than");
}

/* The URI of a path is read back as that path, and is its own canonical form. */
static void one_uri_of_a_path(void) {
    static const char *const pieces[] = {"/x", "/a?b", "/a#b", "/100%", "/a%3Fb", "/a@b:c", "/a:/b:c@d", "/a?b:c@d", "/\xc3\xa4", "/\xc3\xa4?", "/\x01", "/"};
    char out[VS_URI_MAX], again[VS_URI_MAX], path[VS_URI_MAX], long_path[VS_URI_MAX + 2];
    CHECK(vs_uri_of_path("file", "/var/lib/vesta", out, &err) == VESTA_OK);
    CHECK_STR(out, "file:/var/lib/vesta");
    CHECK(vs_uri_of_path("sqlite", "/v.db?cache=shared", out, &err) == VESTA_OK);
    CHECK_STR(out, "sqlite://localhost/v.db%3Fcache=shared");
    CHECK(vs_uri_of_path("file", "///x", out, &err) == VESTA_OK);
    CHECK_STR(out, "file:/x");
    for (size_t i = 0; i < VS_COUNT(pieces); i++) {
        CHECK(vs_uri_of_path("file", pieces[i], out, &err) == VESTA_OK);
        CHECK_STR(vs_store_public(out, again), out); /* no part of a path is treated as a password */
        vs_uri_of_kept(again);
        CHECK_STR(again, out);
        /* a control character can be written, and is rejected when read */
        if (strcmp(pieces[i], "/\x01") == 0) continue;
        CHECK(vs_store_canonical(out, again, &err) == VESTA_OK);
        CHECK_STR(again, out);
        CHECK(vs_uri_place(out, path));
        CHECK_STR(path, pieces[i]);
    }
    memset(long_path, '?', sizeof long_path);
    long_path[0] = '/', long_path[sizeof long_path - 1] = '\0';
    CHECK(vs_uri_of_path("file", long_path, out, &err) == VESTA_EIO);
    CHECK(vs_store_canonical("file://localhost/x", out, &err) == VESTA_OK);
    CHECK_STR(out, "file:/x");
    CHECK(vs_store_canonical("file:/x?y", out, &err) == VESTA_EOPTION);
}

/* In generator files of earlier versions the text after the scheme was the plain path. */
static void a_stored_location_stays_the_same(void) {
    static const struct {
        const char *kept, *uri;
    } rows[] = {{"file:/var/lib/vesta", "file:/var/lib/vesta"},
                {"sqlite:/x/v.db?cache=shared", "sqlite://localhost/x/v.db%3Fcache=shared"},
                {"file:/x#y", "file://localhost/x%23y"},
                {"file:/a%20b", "file://localhost/a%2520b"},
                {"file://localhost/x", "file:/localhost/x"},
                {"file:///x", "file:/x"},
                {"file:/a:b@c", "file:/a:b@c"},
                {"file:", "file:"},
                {"file:x", "file:x"},
                {"mysql://u@h/d?tls=off", "mysql://u@h/d?tls=off"},
                {"zk://h/x%20y", "zk://h/x%20y"},
                {"", ""}};
    for (size_t i = 0; i < VS_COUNT(rows); i++) {
        char kept[VS_URI_MAX];
        memset(kept, 'x', sizeof kept);
        strcpy(kept, rows[i].kept);
        vs_uri_of_kept(kept);
        CHECK_STR(kept, rows[i].uri);
        vs_uri_of_kept(kept); /* a second conversion changes nothing */
        CHECK_STR(kept, rows[i].uri);
    }
}

static void invalid_uris(void) {
    REFUSED("mysql:", "no '//'");
    REFUSED("mysql:/x", "no '//'");
    REFUSED("mysql://", "has no host");
    REFUSED("mysql:///db", "has no host");
    REFUSED("mysql://u:p@/db", "has no host");
    REFUSED("mysql://a b/db", "has no host");
    REFUSED("mysql://h'; DROP/db", "has no host");
    REFUSED("mysql://h/db?", "not key=value");
    REFUSED("mysql://h/db?tls", "not key=value");
    REFUSED("mysql://h/db?tls=", "tls in the store's URI has no value");
    REFUSED("mysql://h/db?tls=off&tls=off", "has the key tls twice");
    REFUSED("mysql://h/db?tls=off&", "not key=value");
    REFUSED("mysql://h/db?TLS=off", "unknown key 'TLS': valid keys are tls, ca");
    REFUSED("mysql://h/db?x\x1b[31m=1", "\\x1b");
    REFUSED("mysql://%/db", "two hex digits");
    REFUSED("mysql://%4/db", "two hex digits");
    REFUSED("mysql://%4g@h/db", "two hex digits");
    REFUSED("mysql://u:%00@h/db", "control character");
    REFUSED("mysql://u:%0a@h/db", "control character");
    REFUSED("mysql://h/d\nb", "control character");
    REFUSED("mysql://u:p#w@h/db", "write it as %23");
    REFUSED("mysql://h/db#fragment", "write it as %23");
    REFUSED("mysql://h/db?tls=off&ca=a#b", "write it as %23");
    REFUSED("mysql://u:s3?cret@h/db", "write a '?' in a password as %3F");
    REFUSED("mysql://u:s3/cret@h/db", "write a '/' in a password as %2F");
}

static void no_password_is_shown(void) {
    static const char *const bad[] = {"mysql://u:s3cret@/db",   "mysql://u:s3/cret@h/db",  "mysql://u:s3?cret@h/db",
                                      "mysql://u:s3cret%@h/db", "mysql://u:s3cret@h o/db", "mysql://u:s3cret@h/db?x=1"};
    for (size_t i = 0; i < VS_COUNT(bad); i++) {
        CHECK(parse(bad[i]) != VESTA_OK);
        if (strstr(err.text, "s3") || strstr(err.text, "cret")) CHECK_FAIL("'%s' is revealed: %s", bad[i], err.text);
    }
}

/* A part at its limit is accepted, and one byte more is rejected. */
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

/* Returns the port, or 0 if the text is rejected. */
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
            CHECK_FAIL("'%s' is accepted as a host", bad[i]);
}

static void secrets(void) {
    char buf[10], path[] = "/tmp/vesta-secret-XXXXXX";
    struct vs_store_secret in_uri = {NULL, "", "uri"}, in_file = {NULL, path, "uri"}, given = {"mine", path, "uri"};
    struct vs_store_secret longer = {NULL, "", "ten bytes!"}, folder = {NULL, "/tmp", "uri"};
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

static void a_uri_is_shown_without_its_password(void) {
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
    memset(longest, 'x', VS_URI_MAX - 1); /* a mask that is longer than the password cuts nothing off */
    memcpy(longest, "mysql://u:p@h/", 14);
    longest[VS_URI_MAX - 1] = '\0';
    vs_store_public(longest, buf);
    CHECK(memcmp(buf, "mysql://u:*@h/", 14) == 0 && strlen(buf) == VS_URI_MAX - 1);
}

/* The URI in a generator file is useless without its secret. */
static void a_stored_uri_needs_its_secret(void) {
    char kept[VS_URI_MAX] = "mysql://u:hunter2@h/db";
    struct vs_store_opts opts = {.namespace_ = "a", .group = -1, .clock = vs_clock_system()};
    struct vs_store *store;
    vs_store_hide(kept);
    CHECK_STR(kept, "mysql://u:***@h/db");
    for (size_t i = strlen(kept); i < sizeof kept; i++)
        CHECK(kept[i] == '\0'); /* no secret remains after the end */
    if (!vs_store_of(kept, NULL)) return;
    CHECK(vs_store_open(kept, &opts, &store, &err) == VESTA_EOPTION);
    CHECK_HAS(err.text, "a generator file does not keep passwords");
    CHECK_HAS(err.text, "secret_file");
}

/* ------------------------------------------------------------------ a file with a secret */

static const char *secret_of(const void *text, size_t length, bool is_alone) {
    static char secret[16];
    char path[] = "/tmp/vesta_secret_XXXXXX";
    int fd = mkstemp(path);
    CHECK(write(fd, text, length) == (ssize_t)length);
    close(fd);
    int rc = vs_secret_of_file(&(struct vs_secret_file){"--flag", path, is_alone}, secret, sizeof secret, &err);
    unlink(path);
    CHECK(rc == VESTA_OK || (rc == VESTA_EOPTION && strstr(err.text, path)));
    return rc == VESTA_OK ? secret : "(rejected)";
}

#define SECRET(text, is_alone) secret_of(text, sizeof(text) - 1, is_alone)

static void lines_of_secrets(void) {
    static const bool is_alone[] = {false, true};
    for (size_t i = 0; i < VS_COUNT(is_alone); i++) {
        CHECK_STR(SECRET("a b", is_alone[i]), "a b");
        CHECK_STR(SECRET("a\n", is_alone[i]), "a");
        CHECK_STR(SECRET("a\r\n", is_alone[i]), "a");
        CHECK_STR(SECRET("\xEF\xBB\xBF" "a\r\n", is_alone[i]), "a");
        CHECK_STR(SECRET("123456789012345\n", is_alone[i]), "123456789012345");
        CHECK_STR(SECRET("1234567890123456\n", is_alone[i]), "(rejected)");
        CHECK_STR(SECRET("", is_alone[i]), "(rejected)");
        CHECK_STR(SECRET("\xEF\xBB\xBF", is_alone[i]), "(rejected)");
        CHECK_STR(SECRET("\na\n", is_alone[i]), "(rejected)");
        CHECK_STR(SECRET("a\0b\n", is_alone[i]), "(rejected)");
        CHECK_STR(SECRET("a\rb\n", is_alone[i]), "(rejected)");
    }
    CHECK_STR(SECRET("a\nb\n", false), "a");
    CHECK_STR(SECRET("a\nb\n", true), "(rejected)");
}

static const struct check_case cases[] = {
    {"user, password, hosts, path and options are read", whole},
    {"invalid URIs are rejected with the reason", invalid_uris},
    {"a file's secret may end in CRLF and begin with a byte order mark", lines_of_secrets},
    {"the path of a store on this machine is read, in each spelling", paths},
    {"a store on this machine has no keys, no fragment, no user, no port and no other host", paths_that_are_refused},
    {"a path has a maximum length", path_bounds},
    {"a path has one URI, which is read back as that path", one_uri_of_a_path},
    {"a location from a generator file of an earlier version stays the same", a_stored_location_stays_the_same},
    {"no message reveals a password, wherever it is", no_password_is_shown},
    {"each part has a maximum length", bounds},
    {"hosts and ports are read", hosts},
    {"a URI is shown without its password", a_uri_is_shown_without_its_password},
    {"a URI with a password in a generator file is useless without the secret", a_stored_uri_needs_its_secret},
    {"a secret comes from the caller, else a file's first line, else the URI", secrets},
};

CHECK_MAIN(cases)
