/* http_parse.c -- reads HTTP: valid requests, every prefix of them, and requests that two parsers could read
 * differently. */
#include "base/array.h"
#include "check.h"
#include "proto/http.h"
#include "tools.h"

#define ROOM (1 << 20)

static struct vs_http http;

static int parse(const char *bytes, size_t length) {
    memset(&http, 0xee, sizeof http);
    return vs_http_parse(at_wall(bytes, length), length, &http);
}

static int parse_text(const char *text) {
    return parse(text, strlen(text));
}

static void reads(void) {
    static const char text[] = "GET /v1/ids?n=3&format=text#x HTTP/1.1\r\nHost: a\r\nAccept: text/plain\r\n\r\n";
    CHECK_EQ_I64(parse_text(text), (int)strlen(text));
    CHECK_EQ_U64(http.method, VS_GET);
    CHECK(vs_slice_is(http.path, "/v1/ids"));
    CHECK(vs_slice_is(http.query, "n=3&format=text"));
    CHECK(http.keep_alive && !http.http10 && vs_accept_q(&http.accept, VS_TYPE_JSON) == 0);
    CHECK(parse_text("GET / HTTP/1.1\r\nHost: a\r\nAccept: text/plain\r\nAccept: application/json\r\n\r\n") > 0);
    CHECK_EQ_I64(vs_accept_q(&http.accept, VS_TYPE_JSON), vs_accept_q(&http.accept, VS_TYPE_TEXT));
    CHECK(parse_text("HEAD /genid HTTP/1.0\r\n\r\n") > 0 && http.http10 && !http.keep_alive && http.method == VS_HEAD);
    CHECK(parse_text("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n") > 0 && http.keep_alive);
    CHECK(parse_text("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n") > 0 && !http.keep_alive);
    CHECK(parse_text("DELETE / HTTP/1.1\r\nHost: a\r\n\r\n") > 0 && http.method == VS_DELETE);
    CHECK(parse_text("PUT / HTTP/1.1\r\nHost: a\r\n\r\n") > 0 && http.method == VS_PUT);
    CHECK(parse_text("PATCH / HTTP/1.1\r\nHost: a\r\n\r\n") > 0 && http.method == VS_OTHER_METHOD);
}

/* RFC 9112, section 3.2.2: the host of the target replaces the Host header. */
static void reads_absolute_targets(void) {
    static const struct {
        const char *target, *path, *query, *host;
        bool is_public;
    } good[] = {{"http://t/genid?n=1#x", "/genid", "n=1", "t", false},
                {"HTTP://t:80/genid", "/genid", "", "t:80", false},
                {"https://ids.example/", "/", "", "ids.example", true},
                {"http://t", "/", "", "t", false},
                {"http://t?n=1", "/", "n=1", "t", false},
                {"http://[::1]:8088/a//b", "/a//b", "", "[::1]:8088", false}};
    char text[256];
    for (size_t i = 0; i < VS_COUNT(good); i++) {
        snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: evil.example\r\n\r\n", good[i].target);
        CHECK_EQ_I64(parse_text(text), (int)strlen(text));
        CHECK(vs_slice_is(http.path, good[i].path) && http.query.length == strlen(good[i].query));
        CHECK(vs_slice_is(http.host, good[i].host) && http.is_public_name == good[i].is_public);
    }
    CHECK(parse_text("GET http://t/genid HTTP/1.0\r\n\r\n") > 0 && vs_slice_is(http.host, "t"));
    CHECK(parse_text("OPTIONS http://t HTTP/1.1\r\nHost: t\r\n\r\n") > 0 && vs_slice_is(http.path, "/"));
}

static void reads_bodies(void) {
    static const char text[] = "POST /v1/ids HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhelloGET ";
    CHECK_EQ_I64(parse_text(text), (int)strlen(text) - 4);
    CHECK(http.method == VS_POST && vs_slice_is(http.body, "hello"));
    CHECK_EQ_I64(parse(text, strlen(text) - 5), 0);
    CHECK_EQ_U64(http.need, strlen(text) - 4);
}

static void skips_empty_lines(void) {
    CHECK_EQ_I64(parse_text("\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"), 31);
    CHECK(vs_slice_is(http.path, "/"));
    CHECK_EQ_I64(parse_text("\r\n\r"), 0);
}

static void wants_more(void) {
    static const char *const good[] = {"GET /genid HTTP/1.1\r\nHost: a\r\n\r\n",
                                       "POST /v1/ids?n=1 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc",
                                       "\r\nHEAD /expid?id=1 HTTP/1.0\r\n\r\n"};
    for (size_t i = 0; i < VS_COUNT(good); i++) {
        size_t length = strlen(good[i]);
        for (size_t n = 0; n < length; n++)
            CHECK_EQ_I64(parse(good[i], n), 0);
        CHECK_EQ_I64(parse(good[i], length), (int)length);
    }
}

static void refuses(void) {
    static const struct {
        int status;
        const char *bytes;
    } bad[] = {
        {400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"},
        {400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n"},
        {400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n"},
        {400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n"},
        {400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +3\r\n\r\n"},
        {400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -3\r\n\r\n"},
        {400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x3\r\n\r\n"},
        {400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3, 3\r\n\r\n"},
        {400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999999\r\n\r\n"},
        {400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\nHost : a\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\nHost: a\r\nX: 1\r\n 2\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\nHost: a\nX: 1\r\n\r\n"},
        {400, "GET http://u@t/ HTTP/1.1\r\nHost: a\r\n\r\n"},
        {400, "GET http:/// HTTP/1.1\r\nHost: a\r\n\r\n"},
        {400, "GET ftp://t/ HTTP/1.1\r\nHost: a\r\n\r\n"},
        {400, "GET / HTTP/1.1\nHost: a\n\n"},
        {400, "GET / HTTP/1.1\r\nHost: a\r\nX: 1\rY: 2\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"},
        {400, "GET http:// HTTP/1.1\r\nHost: a\r\n\r\n"},
        {400, "GET user:pass@a/ HTTP/1.1\r\nHost: a\r\n\r\n"},
        {400, "GET * HTTP/1.1\r\nHost: a\r\n\r\n"},
        {400, "CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n"},
        {400, "GRAB / HTTP/1.1\r\nHost: a\r\n\r\n"},
        {400, "get / HTTP/1.1\r\nHost: a\r\n\r\n"},
        {400, "\x16\x03\x01\x02"},
        {400, "*1\r\n$4\r\nPING\r\n"},
        {400, "{}"},
        {411, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
        {413, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 65537\r\n\r\n"},
        {505, "GET /\r\n"},
        {505, "GET / HTTP/0.9\r\n\r\n"},
        {505, "GET / HTTP/2.0\r\n"},
        {505, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
    };
    for (size_t i = 0; i < VS_COUNT(bad); i++) {
        int rc = parse_text(bad[i].bytes);
        if (rc >= 0 || http.status != bad[i].status || !http.broken)
            CHECK_FAIL("case %zu: got %d, status %d, want %d", i, rc, http.status, bad[i].status);
    }
}

static void refuses_nul(void) {
    static const char head[] = "GET / HTTP/1.1\r\nHost: a\r\nX: 1\0002\r\n\r\n",
                      url[] = "GET /\0x HTTP/1.1\r\nHost: a\r\n\r\n";
    CHECK(parse(head, sizeof head - 1) < 0 && http.status == 400);
    CHECK(parse(url, sizeof url - 1) < 0 && http.status == 400);
}

static void bounds(void) {
    char *text = malloc(ROOM);
    memset(text, 'x', ROOM);
    memcpy(text, "GET /", 5);
    CHECK_EQ_I64(parse(text, VS_HTTP_LINE_MAX), 0);
    CHECK(parse(text, VS_HTTP_LINE_MAX + 1) < 0 && http.status == 414);
    memset(text, 'M', ROOM);
    CHECK(parse(text, ROOM) < 0 && http.status == 414);
    size_t used = (size_t)sprintf(text, "GET / HTTP/1.1\r\nHost: a\r\n");
    for (int i = 1; i < VS_HTTP_HEADERS_MAX; i++)
        used += (size_t)sprintf(text + used, "X: 1\r\n");
    CHECK_EQ_I64(parse(text, used), 0);
    memcpy(text + used, "\r\n", 2);
    CHECK_EQ_I64(parse(text, used + 2), (int)used + 2);
    memcpy(text + used, "X: 1\r\n", 6);
    CHECK(parse(text, used + 6) < 0 && http.status == 431);
    used = (size_t)sprintf(text, "GET / HTTP/1.1\r\nHost: a\r\nX: ");
    memset(text + used, 'x', ROOM - used);
    CHECK_EQ_I64(parse(text, VS_HTTP_HEAD_MAX), 0);
    CHECK(parse(text, VS_HTTP_HEAD_MAX + 1) < 0 && http.status == 431);
    memcpy(text + VS_HTTP_HEAD_MAX - 3, "\r\n\r\n", 4);
    CHECK(parse(text, VS_HTTP_HEAD_MAX + 1) < 0 && http.status == 431);
    memcpy(text + VS_HTTP_HEAD_MAX - 4, "\r\n\r\n", 4);
    CHECK_EQ_I64(parse(text, VS_HTTP_HEAD_MAX), VS_HTTP_HEAD_MAX);
    free(text);
}

static void is_text(struct vs_slice got, struct vs_slice want) {
    CHECK(!got.at == !want.at && got.length == want.length);
    CHECK(!got.at || memcmp(got.at, want.at, got.length) == 0);
}

/* Reads from a temporary buffer three times, so kept heads must not point into an earlier buffer. */
static void reads_as_parsed(struct vs_heads *heads, uint64_t client, const char *text, size_t length) {
    int want = parse(text, length);
    for (int again = 0; again < 3; again++) {
        struct vs_http got;
        char *own = malloc(length);
        memcpy(own, text, length);
        CHECK_EQ_I64(vs_http_read(heads, client, own, length, &got), want);
        if (want > 0) {
            is_text(got.path, http.path);
            is_text(got.query, http.query);
            is_text(got.body, http.body);
            is_text(got.type, http.type);
            is_text(got.authorization, http.authorization);
            is_text(got.host, http.host);
            is_text(got.origin, http.origin);
            CHECK(got.site == http.site && got.is_public_name == http.is_public_name);
            CHECK(got.method == http.method && got.keep_alive == http.keep_alive && got.http10 == http.http10);
            CHECK(memcmp(&got.accept, &http.accept, sizeof got.accept) == 0);
        }
        memset(own, 'x', length);
        free(own);
    }
}

static void keeps_heads(void) {
    static struct vs_heads heads;
    static const char *const texts[] = {
        "GET /genid HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /genid HTTP/1.1\r\nHost: b\r\n\r\n",
        "GET /genid HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        "GET /genid HTTP/1.1\r\nHost: b.example\r\n\r\n",
        "GET /genid HTTP/1.1\r\nHost: a\r\nOrigin: http://a\r\n\r\n",
        "GET /genid HTTP/1.1\r\nHost: a\r\nOrigin: http://b\r\n\r\n",
        "GET /genid HTTP/1.1\r\nHost: a\r\nSec-Fetch-Site: same-origin\r\n\r\n",
        "GET /genid HTTP/1.1\r\nHost: a\r\nSec-Fetch-Site: cross-site\r\n\r\n",
        "GET /genid?ns=x HTTP/1.1\r\nHost: a\r\n\r\nGET /genid?ns=x HTTP/1.1\r\nHost: a\r\n\r\n",
        "\r\nGET /v1/ids?n=3 HTTP/1.0\r\nAccept: text/plain\r\nAuthorization: Bearer x\r\n\r\n",
        "POST /v1/ids HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Type: text/plain\r\n\r\nn=1",
        "POST /v1/ids HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Type: text/plain\r\n\r\nn=2",
        "POST /v1/ids HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "GET /genid HTTP/1.1\r\nHost: a\r\n"};
    for (size_t i = 0; i < VS_COUNT(texts); i++)
        for (size_t j = 0; j < VS_COUNT(texts); j++) {
            reads_as_parsed(&heads, 7, texts[i], strlen(texts[i]));
            reads_as_parsed(&heads, 7 + VS_HEADS, texts[j], strlen(texts[j])); /* uses the same cache slot */
            reads_as_parsed(&heads, 8, texts[j], strlen(texts[j]));
        }
}

static bool is_public(const char *host) {
    char text[256];
    snprintf(text, sizeof text, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", host);
    CHECK(parse_text(text) > 0);
    CHECK(vs_slice_is(http.host, host));
    return http.is_public_name;
}

static void distinguishes_names_from_addresses(void) {
    static const char *const own[] = {"",          "127.0.0.1",   "127.0.0.1:8088", "10.1.2.3.",      "[::1]",
                                      "[::1]:80",  "localhost",   "LocalHost:8088", "localhost.",     "a.localhost:1",
                                      "vesta",     "vesta:8088",  "vesta_upstream", "0x7f000001",     "127.1",
                                      "vesta.:80", "[fe80::1.2]", "1.2.3.4.5"};
    static const char *const public[] = {
        "evil.example",   "evil.example:8088", "evil.example.", "127.0.0.1.nip.io",       "localhost.evil.example",
        "notlocalhost.x", "a.xn--55qx5d",      "1.2.3.4a",      "vesta.svc.cluster.local",
        "[::1].evil.com", "[::1].evil.com:80", "[evil.com]",    "127.0.0.1:x.com",        "::1.evil.com",
        "[::1",           "[::1]]:80",         "a[::1]",        "[::1]:80:80",            "[]"};
    for (size_t i = 0; i < VS_COUNT(own); i++)
        if (is_public(own[i])) CHECK_FAIL("%s is taken for a public name", own[i]);
    for (size_t i = 0; i < VS_COUNT(public); i++)
        if (!is_public(public[i])) CHECK_FAIL("%s is taken for a local name", public[i]);
}

static enum vs_site site(const char *headers) {
    char text[256];
    snprintf(text, sizeof text, "GET / HTTP/1.1\r\nHost: a\r\n%s\r\n", headers);
    CHECK(parse_text(text) > 0);
    return http.site;
}

static void reads_the_origin_of_a_request(void) {
    CHECK(site("") == VS_SITE_UNSAID && site("Sec-Fetch-Mode: cors\r\n") == VS_SITE_UNSAID);
    CHECK(site("Sec-Fetch-Site: same-origin\r\n") == VS_SITE_OWN && site("sec-fetch-site: None \r\n") == VS_SITE_OWN);
    static const char *const foreign[] = {"cross-site", "same-site", "", "same-origin2", "same-origin, cross-site",
                                          "x"};
    for (size_t i = 0; i < VS_COUNT(foreign); i++) {
        char text[200];
        snprintf(text, sizeof text, "Sec-Fetch-Site: %s\r\n", foreign[i]);
        if (site(text) != VS_SITE_FOREIGN) CHECK_FAIL("'%s' is taken for one of our own pages", foreign[i]);
        snprintf(text, sizeof text, "Sec-Fetch-Site: %s\r\nSec-Fetch-Site: same-origin\r\n", foreign[i]);
        if (site(text) != VS_SITE_FOREIGN) CHECK_FAIL("the second value of '%s' is ignored", foreign[i]);
    }
    CHECK(parse_text("GET / HTTP/1.1\r\nHost: a\r\nOrigin: null\r\n\r\n") > 0 && vs_slice_is(http.origin, "null"));
    CHECK(parse_text("GET / HTTP/1.1\r\nHost: a\r\nOrigin: b\r\nOrigin: b\r\n\r\n") < 0 && http.status == 400);
}

static void keeps_heads_of_a_length(void) {
    static struct vs_heads heads;
    char text[1024];
    for (int pad = 440; pad < 530; pad++) {
        int length = snprintf(text, sizeof text, "GET /genid HTTP/1.1\r\nHost: a\r\nX: %0*d\r\n\r\n", pad, 0);
        reads_as_parsed(&heads, 1, text, (size_t)length);
        CHECK((heads.at[1].length == (size_t)length) == (length <= (int)sizeof heads.at[1].bytes));
    }
}

static const struct check_case cases[] = {
    {"a request's method, path, query and headers are read", reads},
    {"an absolute target is read, and its host replaces the Host header", reads_absolute_targets},
    {"a body is read by its length, and an incomplete body is reported", reads_bodies},
    {"empty lines before a request are skipped", skips_empty_lines},
    {"every prefix of a request needs more bytes", wants_more},
    {"an ambiguous request is rejected with the right status", refuses},
    {"a NUL byte is rejected", refuses_nul},
    {"request line, head and number of headers have limits", bounds},
    {"a head from the cache is read like a parsed one", keeps_heads},
    {"a public DNS name is distinguished from an address and from local names", distinguishes_names_from_addresses},
    {"the origin of a browser's request is read, and the least trusted of several values counts",
     reads_the_origin_of_a_request},
    {"heads up to a maximum length are cached", keeps_heads_of_a_length},
};
CHECK_MAIN(cases)
