/* grant.h -- what a connection may do: the account of the client that it proved to be, or of clients that send no
 * secret.
 *
 * A connection has the account of what it sent last, in the accounts that hold now.  When these change, its account is
 * looked up again before the next request.  If the secret that it sent is gone, it may do nothing, not even what
 * clients without a secret may.  Knows no request and no connection. */
#ifndef ACCESS_GRANT_H
#define ACCESS_GRANT_H

#include "access/gate.h"

#define ACCESS_KNOWN 8             /* namespaces that a connection asks in turn without another look at its patterns */
#define ACCESS_SAID_MAX 61         /* of credentials that are kept: a header with a token of vesta client add */
#define ACCESS_CREDENTIAL_MAX 1024 /* of a header that is read */

struct access_grant {
    struct vs_accounts *accounts;     /* held; NULL: there are no clients with names */
    const struct vs_account *account; /* of them; NULL: it may do nothing */
    const struct vs_secret *secret;   /* that it sent; NULL: none */
    uint16_t known[ACCESS_KNOWN];     /* namespaces that it may ask, by index plus one */
    bool is_lost;                     /* the secret that it sent is gone */
    uint8_t count;                    /* vs_gate_count_of */
    uint8_t said_length;
    char said[ACCESS_SAID_MAX]; /* HTTP: the credentials that were right, so that the next request needs no hash */
};

/* What stands for a secret that a connection does not send. */
struct access_origin {
    const char *certified; /* the name in its certificate; NULL: it has none */
    bool is_local;         /* it comes from this machine */
};

/* From now on the connection is this client's; NULL: no client's. */
void access_grant_set(struct access_grant *grant, struct vs_gate *gate, const struct vs_account *account,
                      const struct vs_secret *secret);
/* ... of the client that its origin stands for. */
void access_grant_reset(struct access_grant *grant, struct vs_gate *gate, const struct access_origin *origin);
/* Takes the accounts that hold now.  false: it may do something else than before. */
bool access_grant_renew(struct access_grant *grant, struct vs_gate *gate, const struct access_origin *origin);
void access_grant_end(struct access_grant *grant);

/* The client's name; "default" if there is none. */
static inline const char *access_grant_name(const struct access_grant *grant) {
    return grant->account ? grant->account->name : VS_ACCOUNT_DEFAULT;
}
/* Whether it may ask the namespace of that name, which is the index-th. */
bool access_grant_has(struct access_grant *grant, size_t index, struct vs_slice name);
bool access_grant_has_all(const struct access_grant *grant);
/* Whether it has all of these enum vs_class. */
bool access_grant_may(const struct access_grant *grant, unsigned calls);

/* Keeps right credentials.  `is_token`: they stood in a parameter, and not in a header. */
void access_grant_keep(struct access_grant *grant, struct vs_slice said, bool is_token);
bool access_grant_is_kept(const struct access_grant *grant, struct vs_slice said, bool is_token);

/* Reads a header: "Bearer TOKEN", or "Basic " and base64 of name:secret.  Shape: `buf` holds what was decoded. name->at
 * is NULL if there is no name.  false: it is neither. */
bool access_credential_read(struct vs_slice header, char buf[ACCESS_CREDENTIAL_MAX], struct vs_slice *name,
                            struct vs_slice *secret);

#endif
