/* accounts.h -- clients by name, their rights and their secrets, as lines of a file:
 *
 *     orders names=orders*,invoices calls=give,block n=1000 rate=50000 secret=random:2026-11-23T15:30:00Z:9f86d0...
 *
 * A client without credentials is `default`.  If the file has no line for `default`, such a client has all rights but
 * `operate` and `unmask` if it connects from this machine, and no rights otherwise.  If the line of `default` has a secret, a client
 * without credentials has no rights.  */
#ifndef VS_ACCOUNTS_H
#define VS_ACCOUNTS_H

#include "access/secret.h"

#include <stdatomic.h>

#define VS_ACCOUNT_NAME_MAX 64
#define VS_ACCOUNT_NAMES_MAX 512 /* maximum bytes of all patterns of a client */
#define VS_ACCOUNT_SECRETS_MAX 2 /* a client may have two secrets, so that it can move to a new one */
#define VS_ACCOUNTS_MAX 256
#define VS_ACCOUNTS_BYTES_MAX 262144 /* maximum bytes of the file of clients */
#define VS_ACCOUNT_LINE_MAX 2048
#define VS_ACCOUNT_DEFAULT "default"
#define VS_ACCOUNT_RATE_MAX 1000000000
#define VS_ACCOUNT_WEIGHT_MAX 1000

enum vs_class { VS_GIVE = 1, VS_BLOCK = 2, VS_READ = 4, VS_MAKE = 8, VS_OPERATE = 16, VS_LEASE = 32, VS_UNMASK = 64, VS_ALL_CLASSES = 127 };
#define VS_CLASS_WORDS "give|block|read|make|operate|lease|unmask"

struct vs_account {
    char name[VS_ACCOUNT_NAME_MAX];
    char names[VS_ACCOUNT_NAMES_MAX]; /* patterns of namespaces and tags: "orders*,invoices" */
    unsigned calls;                   /* bits of enum vs_class */
    uint64_t n_max;                   /* maximum ids per request (UINT64_MAX: this client has no limit) */
    uint64_t rate, requests;          /* ids and requests a second (0: no limit) */
    uint64_t leases;                  /* worker ids of a namespace that it may hold at once (0: no limit) */
    uint32_t weight;                  /* weight of the fair share */
    int secret_count;
    struct vs_secret secret[VS_ACCOUNT_SECRETS_MAX];
    bool by_certificate; /* "secret=none": a client certificate alone proves this client */
    bool has_chosen;     /* the line has a secret chosen by a person, which is no longer accepted */
    int line;            /* line number in the file, from 1 (0: not from a file) */
};

/* Never changes after it was read, except for the reference count. */
struct vs_accounts {
    atomic_int holders;
    int count;
    struct vs_account at[];
};

/* The account of clients that connect from this machine without credentials.  It is used if the file has no line for
 * `default`. */
extern const struct vs_account vs_account_local;

/* Parses the text of a file.  Errors: VESTA_EOPTION, with a text that begins with the line number ("3: ..."), and
 * VESTA_ENOMEM. */
int vs_accounts_parse(const char *text, size_t length, struct vs_accounts **out, struct vesta_error *err);

/* Reads a file.  Sets *others to the access that other users of the machine have to the file: "read", "write", "read
 * and write" or NULL.  A secret chosen by a person is an error.  Its text contains the clients, their lines and the
 * command that replaces the secret.  Errors: VESTA_EIO, VESTA_EOPTION, VESTA_ENOMEM, with the path. */
int vs_accounts_read(const char *path, struct vs_accounts **out, const char **others, struct vesta_error *err);
/* As vs_accounts_read, but accepts clients with a secret chosen by a person (has_chosen), for the commands that list
 * and replace such secrets. */
int vs_accounts_read_all(const char *path, struct vs_accounts **out, const char **others, struct vesta_error *err);
/* Add and remove a reference.  The last vs_accounts_let frees the accounts. */
struct vs_accounts *vs_accounts_hold(struct vs_accounts *accounts);
void vs_accounts_let(struct vs_accounts *accounts); /* may be NULL */

int vs_account_parse(struct vs_slice line, struct vs_account *out, struct vesta_error *err);
/* Writes the account as a line of the file, without line end. */
const char *vs_account_write(const struct vs_account *account, char buf[VS_ACCOUNT_LINE_MAX]);
/* Writes " rate=N requests=N weight=N", but omits default values.  Returns the length. */
int vs_account_write_share(const struct vs_account *account, char *buf, size_t size);
const char *vs_classes_write(unsigned calls, char buf[VS_ACCOUNT_NAME_MAX]);

const struct vs_account *vs_account_named(const struct vs_accounts *accounts, struct vs_slice name);
/* Return whether a pattern of the account matches the name, and whether a pattern of the account is "*". */
bool vs_account_has(const struct vs_account *account, struct vs_slice name);
bool vs_account_has_all(const struct vs_account *account);
/* Returns whether two accounts have the same rights.  NULL has no rights. */
bool vs_account_is_as(const struct vs_account *account, const struct vs_account *other);
/* Sets *pattern to the i-th pattern.  Returns false if there are fewer patterns. */
bool vs_account_pattern(const struct vs_account *account, int i, struct vs_slice *pattern);
/* Returns whether the name matches the pattern.  `*` matches any number of characters. */
bool vs_pattern_has(struct vs_slice pattern, struct vs_slice name);

#endif
