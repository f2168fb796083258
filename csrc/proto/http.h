/* http.h -- HTTP/1.x: bytes -> one request, and the head of a reply.  Pure: allocates nothing, knows no connection and
 * no route. */
#ifndef VS_HTTP_H
#define VS_HTTP_H

#include "base/out.h"
#include "proto/accept.h"

#include <string.h>

#define VS_HTTP_LINE_MAX 4096  /* the request line */
#define VS_HTTP_HEAD_MAX 16384 /* request line and headers */
#define VS_HTTP_HEADERS_MAX 64
#define VS_HTTP_BODY_MAX 65536

/* ------------------------------------------------------------------ reading */

enum vs_method { VS_GET = 1, VS_POST = 2, VS_HEAD = 4, VS_OTHER_METHOD = 8, VS_OPTIONS = 16 };

/* What a browser sends in Sec-Fetch-Site. */
enum vs_site {
    VS_SITE_UNSAID, /* nothing: it is no browser, an old one, or it does not send this header to such an address */
    VS_SITE_OWN,    /* a page of this server asks, or the user typed the address */
    VS_SITE_FOREIGN /* a page of another site, or of another port of this one */
};

struct vs_http {
    unsigned method; /* one of enum vs_method */
    struct vs_slice path, query, body;
    struct vs_slice type; /* of the body */
    struct vs_slice authorization;
    struct vs_slice host, origin; /* as they came */
    enum vs_site site;
    bool is_public_name; /* any DNS server could return this address for `host`: it is no address, not localhost, and
                            has a dot */
    bool keep_alive, http10;
    struct vs_accept accept;
    bool expects_continue;
    size_t need;        /* parser returned 0: bytes that the request has at least */
    int status;         /* parser returned < 0: the status to answer with */
    const char *broken; /* ... and why */
};

/* One HTTP/1.x request with its body.  > 0: bytes used; 0: wants more; < 0: broken, out->status and out->broken say
 * what to answer.  Shape: the texts point into buf. */
int vs_http_parse(const char *buf, size_t len, struct vs_http *out);

/* The last heads of a loop's clients, as they were read.  Longer heads, and heads before a body, are not kept.
 * All zero: none. */
#define VS_HEADS 64
struct vs_heads {
    struct vs_head {
        size_t length; /* 0: none is kept */
        struct vs_http http;
        char bytes[512];
    } at[VS_HEADS];
};

/* As vs_http_parse, but does not read a head again that this client (any number) sent last.  Shape: the texts point
 * into buf, or into heads, until the next call. */
int vs_http_read(struct vs_heads *heads, uint64_t client, const char *buf, size_t len, struct vs_http *out);

/* Whether the bytes begin as HTTP/2 does, with "PRI * HTTP/2.0". */
#define VS_HTTP2_PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
static inline bool vs_http2_begins(const char *buf, size_t len) {
    const size_t size = sizeof VS_HTTP2_PREFACE - 1;
    return len > 2 && *buf == 'P' && memcmp(buf, VS_HTTP2_PREFACE, len < size ? len : size) == 0;
}
/* Answers in HTTP/2's frames that the client must speak HTTP/1.1.  false: wants more bytes. */
bool vs_http2_refuse(size_t len, struct vs_out *out);

/* ------------------------------------------------------------------ parameters */

/* Percent-decodes into *room, moving it on.  A text without escapes stays where it is.  `space` is the meaning of '+'.
 * false: a % without two hex digits. */
bool vs_http_decode(struct vs_slice raw, char space, char **room, struct vs_slice *out);

/* The next "name=value" of a query or form, decoded.  1: one was cut off *rest; 0: none is left; -1: a % without two
 * hex digits. */
int vs_http_next_pair(struct vs_slice *rest, char **room, struct vs_slice *name, struct vs_slice *value);

/* Whether a Content-Type is that of a form. */
bool vs_http_is_form(struct vs_slice type);

/* ------------------------------------------------------------------ writing */

enum { VS_OK_TEXT, VS_OK_JSON, VS_OK_HEADS };

/* The heads of plain replies, made once a second.  All zero: not made yet. */
struct vs_http_plain {
    int64_t unix_s;            /* the second that `date` says */
    char date[48];             /* "Date: ..." with its line end; "" before the first second is known */
    char ok[VS_OK_HEADS][192]; /* the head of a plain 200, up to Content-Length's value */
    size_t ok_length[VS_OK_HEADS];
};
void vs_http_tick(struct vs_http_plain *plain, int64_t unix_s);

/* What the head of a reply says. */
struct vs_http_reply {
    int status;
    bool is_json;
    bool is_page;   /* a file of the page: the browser may let it do nothing else */
    bool is_stream; /* it ends with the connection */
    bool closes;
    bool is_admin;      /* a 401 asks for a Bearer token alone: a browser shows no dialog then */
    const char *type;   /* of the content, where it is not what is_json says */
    int retry_after_s;  /* 0: not said */
    unsigned allow;     /* methods to list; 0: none */
    const char *origin; /* the listed origin whose page may read the reply; NULL: none */
};

const char *vs_http_reason(int status);
/* "GET, HEAD, OPTIONS": the methods of a route. */
const char *vs_http_allow(unsigned methods);

/* Makes room for a head.  The body is written behind it. */
#define VS_HTTP_HEAD_RESERVE 1024
static inline size_t vs_http_begin(struct vs_out *out) {
    size_t start = out->used;
    out->used += VS_HTTP_HEAD_RESERVE;
    return start;
}
/* Puts the head in front of the body.  `start` is of vs_http_begin. */
void vs_http_end(struct vs_out *out, size_t start, const struct vs_http_plain *plain, const struct vs_http *asked,
                 const struct vs_http_reply *reply);
/* The last reply of a connection, before a request was read: a status line's words, and a text or NULL. */
void vs_http_goodbye(struct vs_out *out, const char *status, const char *text, bool again);

#endif
