/* http.h -- HTTP/1.x: parses one request, and writes the head of a reply.  Pure: allocates nothing, and contains no
 * connection or route code. */
#ifndef VS_HTTP_H
#define VS_HTTP_H

#include "base/out.h"
#include "proto/accept.h"

#include <string.h>

#define VS_HTTP_LINE_MAX 4096  /* bytes of the request line */
#define VS_HTTP_HEAD_MAX 16384 /* bytes of the request line and all headers */
#define VS_HTTP_HEADERS_MAX 64
#define VS_HTTP_BODY_MAX 65536

/* ------------------------------------------------------------------ parsing */

enum vs_method { VS_GET = 1, VS_POST = 2, VS_HEAD = 4, VS_OTHER_METHOD = 8, VS_OPTIONS = 16, VS_PUT = 32, VS_DELETE = 64 };

/* The value of Sec-Fetch-Site. */
enum vs_site {
    VS_SITE_UNSAID, /* no header: the client is not a modern browser, or browsers omit the header for this address */
    VS_SITE_OWN,    /* a page of this server sent the request, or the user typed the address */
    VS_SITE_FOREIGN /* a page of a different site, or of a different port of this host, sent it */
};

struct vs_http {
    unsigned method; /* one of enum vs_method */
    struct vs_slice path, query, body;
    struct vs_slice type; /* Content-Type of the body */
    struct vs_slice authorization;
    struct vs_slice host, origin; /* as received */
    enum vs_site site;
    bool is_public_name; /* public DNS could resolve `host`: it is a name with a dot, and not localhost */
    bool keep_alive, http10;
    struct vs_accept accept;
    bool expects_continue;
    size_t need;        /* if the parser returned 0: minimum length of the request */
    int status;         /* if the parser returned < 0: status of the error */
    const char *broken; /* if the parser returned < 0: text of the error */
};

/* Parses one HTTP/1.x request with its body.  Returns the number of bytes used, or 0 if more bytes are needed.  Returns
 * < 0 if the request is malformed, with the error in out->status and out->broken.  The slices of *out point into
 * buf. */
int vs_http_parse(const char *buf, size_t len, struct vs_http *out);

/* A cache of the last parsed head of each client of a loop.  Heads longer than `bytes`, and heads with a body, are not
 * cached.  All zero: empty. */
#define VS_HEADS 64
struct vs_heads {
    struct vs_head {
        size_t length; /* 0: none */
        struct vs_http http;
        char bytes[512];
    } at[VS_HEADS];
};

/* Does the same as vs_http_parse, but uses the cached result if the client's last head had the same bytes.  `client` is
 * any number that identifies the client.  The slices of *out point into buf, or into `heads` until the next call. */
int vs_http_read(struct vs_heads *heads, uint64_t client, const char *buf, size_t len, struct vs_http *out);

/* Returns whether the bytes begin with the HTTP/2 preface. */
#define VS_HTTP2_PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
static inline bool vs_http2_begins(const char *buf, size_t len) {
    const size_t size = sizeof VS_HTTP2_PREFACE - 1;
    return len > 2 && *buf == 'P' && memcmp(buf, VS_HTTP2_PREFACE, len < size ? len : size) == 0;
}
/* Writes HTTP/2 frames that tell the client to use HTTP/1.1.  Returns false if more bytes are needed first. */
bool vs_http2_refuse(size_t len, struct vs_out *out);

/* ------------------------------------------------------------------ parameters */

/* Percent-decodes `raw` into *room and advances *room.  Text without escapes is not copied.  Each '+' is replaced by
 * `space`.  Returns false if a % is not followed by two hex digits. */
bool vs_http_decode(struct vs_slice raw, char space, char **room, struct vs_slice *out);

/* Removes the next "name=value" from *rest and decodes it.  Returns 1, or 0 if *rest is empty, or -1 if a % is not
 * followed by two hex digits. */
int vs_http_next_pair(struct vs_slice *rest, char **room, struct vs_slice *name, struct vs_slice *value);

/* Returns whether a Content-Type is application/x-www-form-urlencoded. */
bool vs_http_is_form(struct vs_slice type);

/* ------------------------------------------------------------------ writing */

enum { VS_OK_TEXT, VS_OK_JSON, VS_OK_HEADS };

/* Prepared heads of plain 200 replies.  vs_http_tick renews them once a second.  All zero: not prepared yet. */
struct vs_http_plain {
    int64_t unix_s;            /* the second for which the heads were prepared */
    char date[48];             /* the Date header with its line end ("" if the time is unknown) */
    char ok[VS_OK_HEADS][192]; /* heads up to the value of Content-Length */
    size_t ok_length[VS_OK_HEADS];
};
void vs_http_tick(struct vs_http_plain *plain, int64_t unix_s);

/* The variable parts of a reply's head. */
struct vs_http_reply {
    int status;
    bool is_json;
    bool is_page;   /* a file of the page: sent with a strict content security policy */
    bool is_stream; /* no Content-Length: the body ends when the connection closes */
    bool closes;
    bool is_admin;      /* a 401 offers only Bearer, so that browsers show no login dialog */
    const char *type;   /* content type (NULL: determined by is_json) */
    int retry_after_s;  /* 0: no header */
    unsigned allow;     /* methods of the Allow header (0: no header) */
    const char *origin; /* listed origin whose pages may read the reply (NULL: none) */
};

const char *vs_http_reason(int status);
/* Returns the value of an Allow header, such as "GET, HEAD, OPTIONS". */
const char *vs_http_allow(unsigned methods);

/* Reserves room for a head, before the body is written. */
#define VS_HTTP_HEAD_RESERVE 1024
static inline size_t vs_http_begin(struct vs_out *out) {
    size_t start = out->used;
    out->used += VS_HTTP_HEAD_RESERVE;
    return start;
}
/* Writes the head before the body.  `start` is the return value of vs_http_begin. */
void vs_http_end(struct vs_out *out, size_t start, const struct vs_http_plain *plain, const struct vs_http *asked,
                 const struct vs_http_reply *reply);
/* Writes the last reply of a connection on which no request was parsed.  `text` may be NULL.  `again` adds
 * Retry-After. */
void vs_http_goodbye(struct vs_out *out, const char *status, const char *text, bool again);

#endif
