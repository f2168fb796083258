/* grant.h -- the rights of a connection: the account of the client that it proved to be, or that of clients without a
 * secret.
 *
 * The account follows from the connection's last credentials and the current accounts.  When the accounts are replaced,
 * it is looked up again before the next request.  If the secret of the connection was removed, the connection has no
 * rights, not even those of clients without a secret.  Knows no request and no connection. */
#ifndef ACCESS_GRANT_H
#define ACCESS_GRANT_H

#include "access/gate.h"

#define ACCESS_KNOWN 8             /* recent namespaces of a connection for which patterns need not be matched again */
#define ACCESS_SAID_MAX 61         /* bytes of credentials that are kept: a header with a token of `vesta client add` */
#define ACCESS_CREDENTIAL_MAX 1024 /* bytes of a header that can be read */

struct access_grant {
    struct vs_accounts *accounts;     /* held (NULL: there are no accounts) */
    const struct vs_account *account; /* one of them (NULL: no rights) */
    const struct vs_secret *secret;   /* the secret that it sent (NULL: none) */
    uint16_t known[ACCESS_KNOWN];     /* namespaces that it may use, by index plus one */
    bool is_lost;                     /* the secret that it sent was removed */
    uint8_t count;                    /* vs_gate_count_of */
    uint8_t said_length;
    char said[ACCESS_SAID_MAX]; /* HTTP: the last accepted credentials, so that the next request needs no hash */
};

/* Identifies a connection that sends no secret. */
struct access_origin {
    const char *certified; /* the name in its certificate (NULL: no certificate) */
    bool is_local;         /* it comes from this machine */
};

/* Makes the account the connection's (NULL: none). */
void access_grant_set(struct access_grant *grant, struct vs_gate *gate, const struct vs_account *account,
                      const struct vs_secret *secret);
/* Makes the account of the connection's origin its account. */
void access_grant_reset(struct access_grant *grant, struct vs_gate *gate, const struct access_origin *origin);
/* Uses the current accounts.  false: the connection's rights changed. */
bool access_grant_renew(struct access_grant *grant, struct vs_gate *gate, const struct access_origin *origin);
void access_grant_end(struct access_grant *grant);

/* Returns the client's name, or "default". */
static inline const char *access_grant_name(const struct access_grant *grant) {
    return grant->account ? grant->account->name : VS_ACCOUNT_DEFAULT;
}
/* Whether it may use the namespace of that name, which has that index. */
bool access_grant_has(struct access_grant *grant, size_t index, struct vs_slice name);
bool access_grant_has_all(const struct access_grant *grant);
/* Whether it has all of these rights (enum vs_class). */
bool access_grant_may(const struct access_grant *grant, unsigned calls);

/* Keeps accepted credentials.  `is_token`: they came as a parameter, not in a header. */
void access_grant_keep(struct access_grant *grant, struct vs_slice said, bool is_token);
bool access_grant_is_kept(const struct access_grant *grant, struct vs_slice said, bool is_token);

/* Reads a header: "Bearer TOKEN", or "Basic " and base64 of name:secret.  Shape: `buf` receives the decoded text.
 * name->at is NULL if there is no name.  false: the header has another form. */
bool access_credential_read(struct vs_slice header, char buf[ACCESS_CREDENTIAL_MAX], struct vs_slice *name,
                            struct vs_slice *secret);

#endif
