/* parse.h -- bytes -> what one request says, in either protocol.  Pure: keeps no state, allocates nothing. */
#ifndef VS_SERVER_PARSE_H
#define VS_SERVER_PARSE_H

#include "server/http/accept.h"

#include <stdbool.h>
#include <stddef.h>

#define VS_HTTP_LINE_MAX 4096  /* the request line */
#define VS_HTTP_HEAD_MAX 16384 /* request line and headers */
#define VS_HTTP_HEADERS_MAX 64
#define VS_HTTP_BODY_MAX 65536
#define VS_RESP_ARGS_MAX 1024
#define VS_RESP_BULK_MAX 65536
#define VS_RESP_INLINE_MAX 65536
#define VS_RESP_REQUEST_MAX (1 << 20)

/* A word whose `at` is NULL was not given. */
struct vs_args {
    int count;
    const char *broken; /* set by a parser that returns < 0: why */
    bool is_inline;     /* RESP: typed by hand, without lengths */
    struct vs_slice at[VS_RESP_ARGS_MAX];
    char why[96];                   /* what `broken` points to, where the text has numbers in it */
    char typed[VS_RESP_INLINE_MAX]; /* RESP: words that were quoted */
};

struct vs_resp_limits {
    size_t args_max, bulk_max, inline_max;
};
extern const struct vs_resp_limits vs_resp_limits, vs_resp_stranger_limits;

/* One RESP request, multibulk or inline.  > 0: bytes used; 0: wants more; < 0: broken, out->broken says why.
 * Shape: out->at points into buf, or into out->typed; count is 0 for an empty line or array. */
int vs_resp_parse(const char *buf, size_t len, const struct vs_resp_limits *limits, struct vs_args *out);

enum vs_method { VS_GET = 1, VS_POST = 2, VS_HEAD = 4, VS_OTHER_METHOD = 8, VS_OPTIONS = 16 };

/* What a browser says in Sec-Fetch-Site. */
enum vs_site {
    VS_SITE_UNSAID, /* nothing: it is no browser, an old one, or the address is one to which they do not say it */
    VS_SITE_OWN,    /* a page of this server, or whoever sits there typed the address */
    VS_SITE_FOREIGN /* a page of another site, or of another port of this one */
};

struct vs_http {
    unsigned method; /* one of enum vs_method */
    struct vs_slice path, query, body;
    struct vs_slice type; /* of the body */
    struct vs_slice authorization;
    struct vs_slice host, origin; /* as they came */
    enum vs_site site;            /* whose page had a browser ask */
    bool is_public_name; /* host is a name that anybody's DNS could give this address: no address, no localhost,
                            and with a dot in it */
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

/* The last heads of a loop's clients, as they were read; those that are longer, or followed by a body, are not kept.
 * All zero: none. */
#define VS_HEADS 64
struct vs_heads {
    struct vs_head {
        size_t length; /* 0: none is kept */
        struct vs_http http;
        char bytes[512];
    } at[VS_HEADS];
};

/* As vs_http_parse; a head that this client (any number) sent last is not read again.  Shape: the texts point into buf,
 * or into heads, until the next call. */
int vs_http_read(struct vs_heads *heads, uint64_t client, const char *buf, size_t len, struct vs_http *out);

#endif
