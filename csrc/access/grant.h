/* grant.h -- the rights of a connection: the account of its authenticated client, or the account of clients without a
 * secret.  Contains no request or socket code.
 *
 * The account depends on the last credentials that the connection sent and on the current accounts.  After the accounts
 * were replaced, the connection's account is looked up again before the next request.  If the connection's secret was
 * removed from the accounts, the connection has no rights, not even the rights of clients without a secret. */
#ifndef ACCESS_GRANT_H
#define ACCESS_GRANT_H

#include "access/gate.h"

#define ACCESS_KNOWN 8             /* recently used namespaces for which patterns are not matched again */
#define ACCESS_SAID_MAX 61         /* bytes of stored credentials: a header with a token of `vesta client add` */
#define ACCESS_CREDENTIAL_MAX 1024 /* maximum bytes of an Authorization header */

struct access_grant {
    struct vs_accounts *accounts;     /* a reference (NULL: there are no accounts) */
    const struct vs_account *account; /* an element of `accounts`, or vs_account_local (NULL: no rights) */
    const struct vs_secret *secret;   /* the secret that the client sent (NULL: none) */
    uint16_t known[ACCESS_KNOWN];     /* recently used, permitted namespaces: index plus one */
    bool is_lost;                     /* the secret that the client sent was removed */
    uint8_t count;                    /* index of the client's counters (vs_gate_count_of) */
    uint8_t said_length;
    char said[ACCESS_SAID_MAX]; /* HTTP: last accepted credentials, not hashed again if repeated */
};

/* Identifies a connection that sends no secret. */
struct access_origin {
    const char *certified; /* the name in the client certificate (NULL: no certificate) */
    bool is_local;         /* the connection comes from this machine */
};

/* Assigns an account to the connection.  NULL: no rights. */
void access_grant_set(struct access_grant *grant, struct vs_gate *gate, const struct vs_account *account,
                      const struct vs_secret *secret);
/* Assigns the account of clients without a secret, or of the client certificate. */
void access_grant_reset(struct access_grant *grant, struct vs_gate *gate, const struct access_origin *origin);
/* Looks the account up in the current accounts.  Returns false if the connection's rights changed. */
bool access_grant_renew(struct access_grant *grant, struct vs_gate *gate, const struct access_origin *origin);
void access_grant_end(struct access_grant *grant);

/* Returns the client's name, or "default". */
static inline const char *access_grant_name(const struct access_grant *grant) {
    return grant->account ? grant->account->name : VS_ACCOUNT_DEFAULT;
}
/* Returns whether the client may use a namespace, given by its name and index. */
bool access_grant_has(struct access_grant *grant, size_t index, struct vs_slice name);
bool access_grant_has_all(const struct access_grant *grant);
/* Returns whether the client has all of these rights (enum vs_class). */
bool access_grant_may(const struct access_grant *grant, unsigned calls);

/* access_grant_keep stores accepted credentials.  access_grant_is_kept returns whether these credentials are stored.
 * `is_token`: the credentials are a parameter, not a header. */
void access_grant_keep(struct access_grant *grant, struct vs_slice said, bool is_token);
bool access_grant_is_kept(const struct access_grant *grant, struct vs_slice said, bool is_token);

/* Reads a header of the form "Bearer TOKEN", or "Basic " and base64 of name:secret.  The decoded text is written to
 * `buf`.  name->at is NULL if there is no name.  Returns false if the header has a different form. */
bool access_credential_read(struct vs_slice header, char buf[ACCESS_CREDENTIAL_MAX], struct vs_slice *name,
                            struct vs_slice *secret);

#endif
