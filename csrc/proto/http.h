/* http.h -- HTTP/1.x: parses one request, and writes the head of a reply.  Pure: allocates nothing, and knows no
 * connection and no route. */
#ifndef VS_HTTP_H
#define VS_HTTP_H

#include "base/out.h"
#include "proto/accept.h"

#include <string.h>

#define VS_HTTP_LINE_MAX 4096  /* the request line */
#define VS_HTTP_HEAD_MAX 16384 /* request line and headers */
#define VS_HTTP_HEADERS_MAX 64
#define VS_HTTP_BODY_MAX 65536

/* ------------------------------------------------------------------ parsing */

enum vs_method { VS_GET = 1, VS_POST = 2, VS_HEAD = 4, VS_OTHER_METHOD = 8, VS_OPTIONS = 16 };

/* The value of Sec-Fetch-Site. */
enum vs_site {
    VS_SITE_UNSAID, /* no header: not a browser, or a browser that is old or omits the header for such an address */
    VS_SITE_OWN,    /* a page of this server sent the request, or the user typed the address */
    VS_SITE_FOREIGN /* a page of another site, or of another port of this host */
};

struct vs_http {
    unsigned method; /* one of enum vs_method */
    struct vs_slice path, query, body;
    struct vs_slice type; /* of the body */
    struct vs_slice authorization;
    struct vs_slice host, origin; /* unchanged */
    enum vs_site site;
    bool is_public_name; /* public DNS could resolve `host` to this address: it is a name with a dot, not localhost */
    bool keep_alive, http10;
    struct vs_accept accept;
    bool expects_continue;
    size_t need;        /* the parser returned 0: least length of the request */
    int status;         /* the parser returned < 0: status of the error */
    const char *broken; /* ... and its text */
};

/* Parses one HTTP/1.x request with its body.  Returns > 0: bytes used (0: more bytes are needed); < 0: malformed, and
 * out->status and out->broken are the error.  Shape: the texts point into buf. */
int vs_http_parse(const char *buf, size_t len, struct vs_http *out);

/* The last head of each client of a loop, parsed.  Longer heads, and heads followed by a body, are not kept.  All zero:
 * empty. */
#define VS_HEADS 64
struct vs_heads {
    struct vs_head {
        size_t length; /* 0: none */
        struct vs_http http;
        char bytes[512];
    } at[VS_HEADS];
};

/* As vs_http_parse, but skips parsing if this client (any number) sent the same head last.  Shape: the texts point into
 * buf, or into heads until the next call. */
int vs_http_read(struct vs_heads *heads, uint64_t client, const char *buf, size_t len, struct vs_http *out);

/* Whether the bytes begin like HTTP/2, with "PRI * HTTP/2.0". */
#define VS_HTTP2_PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
static inline bool vs_http2_begins(const char *buf, size_t len) {
    const size_t size = sizeof VS_HTTP2_PREFACE - 1;
    return len > 2 && *buf == 'P' && memcmp(buf, VS_HTTP2_PREFACE, len < size ? len : size) == 0;
}
/* Answers in HTTP/2 frames that the client must use HTTP/1.1.  false: more bytes are needed. */
bool vs_http2_refuse(size_t len, struct vs_out *out);

/* ------------------------------------------------------------------ parameters */

/* Percent-decodes into *room and advances it.  A text without escapes is not copied.  `space` is the meaning of '+'.
 * false: a % is not followed by two hex digits. */
bool vs_http_decode(struct vs_slice raw, char space, char **room, struct vs_slice *out);

/* Cuts the next "name=value" of a query or form off *rest and decodes it.  Returns 1; 0: *rest is empty; -1: a % is not
 * followed by two hex digits. */
int vs_http_next_pair(struct vs_slice *rest, char **room, struct vs_slice *name, struct vs_slice *value);

/* Whether a Content-Type is that of a form. */
bool vs_http_is_form(struct vs_slice type);

/* ------------------------------------------------------------------ writing */

enum { VS_OK_TEXT, VS_OK_JSON, VS_OK_HEADS };

/* The heads of plain replies, which are made once a second.  All zero: not made yet. */
struct vs_http_plain {
    int64_t unix_s;            /* the second of `date` */
    char date[48];             /* "Date: ..." with line end ("" before the first second is known) */
    char ok[VS_OK_HEADS][192]; /* the head of a plain 200, up to the value of Content-Length */
    size_t ok_length[VS_OK_HEADS];
};
void vs_http_tick(struct vs_http_plain *plain, int64_t unix_s);

/* The variable parts of a reply's head. */
struct vs_http_reply {
    int status;
    bool is_json;
    bool is_page;   /* a file of the page: sent with a strict content security policy */
    bool is_stream; /* the body ends with the connection */
    bool closes;
    bool is_admin;      /* a 401 offers only Bearer, so that a browser shows no dialog */
    const char *type;   /* content type, if is_json does not determine it */
    int retry_after_s;  /* 0: no header */
    unsigned allow;     /* methods of the Allow header (0: no header) */
    const char *origin; /* the listed origin whose page may read the reply (NULL: none) */
};

const char *vs_http_reason(int status);
/* Returns the methods of a route, such as "GET, HEAD, OPTIONS". */
const char *vs_http_allow(unsigned methods);

/* Reserves room for a head.  The body follows it. */
#define VS_HTTP_HEAD_RESERVE 1024
static inline size_t vs_http_begin(struct vs_out *out) {
    size_t start = out->used;
    out->used += VS_HTTP_HEAD_RESERVE;
    return start;
}
/* Writes the head before the body.  `start` is the value of vs_http_begin. */
void vs_http_end(struct vs_out *out, size_t start, const struct vs_http_plain *plain, const struct vs_http *asked,
                 const struct vs_http_reply *reply);
/* Writes the last reply of a connection, on which no request was parsed.  `text` may be NULL. */
void vs_http_goodbye(struct vs_out *out, const char *status, const char *text, bool again);

#endif
