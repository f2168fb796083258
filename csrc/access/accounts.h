/* accounts.h -- clients by name: what each may do, and its secrets, as lines of a file:
 *
 *     orders names=orders*,invoices calls=give,block n=1000 rate=50000 secret=random:2026-11-23T15:30:00Z:9f86d0...
 *
 * A client without credentials is `default`.  If the file has no such line, it may do everything but `operate` on this
 * machine, and nothing from elsewhere.  If the line has a secret, a client may do nothing before it sends the secret. */
#ifndef VS_ACCOUNTS_H
#define VS_ACCOUNTS_H

#include "access/secret.h"

#include <stdatomic.h>

#define VS_ACCOUNT_NAME_MAX 64
#define VS_ACCOUNT_NAMES_MAX 512 /* bytes of its patterns */
#define VS_ACCOUNT_SECRETS_MAX 2 /* valid at once, so that one can be exchanged */
#define VS_ACCOUNTS_MAX 256
#define VS_ACCOUNTS_BYTES_MAX 262144 /* of a file */
#define VS_ACCOUNT_LINE_MAX 2048
#define VS_ACCOUNT_DEFAULT "default"
#define VS_ACCOUNT_RATE_MAX 1000000000
#define VS_ACCOUNT_WEIGHT_MAX 1000

enum vs_class { VS_GIVE = 1, VS_BLOCK = 2, VS_READ = 4, VS_MAKE = 8, VS_OPERATE = 16, VS_ALL_CLASSES = 31 };
#define VS_CLASS_WORDS "give|block|read|make|operate"

struct vs_account {
    char name[VS_ACCOUNT_NAME_MAX];
    char names[VS_ACCOUNT_NAMES_MAX]; /* patterns of namespaces and tags, with commas: "orders*,invoices" */
    unsigned calls;                   /* of enum vs_class */
    uint64_t n_max;                   /* ids of one request; UINT64_MAX: only the limit for all */
    uint64_t rate, requests;          /* ids, requests a second; 0: no limit */
    uint32_t weight;                  /* of its part, while ids are short */
    int secret_count;
    struct vs_secret secret[VS_ACCOUNT_SECRETS_MAX];
    bool by_certificate; /* "secret=none": a client certificate alone proves this client */
    bool has_chosen;     /* its line has a secret that a person chose, which is no longer accepted */
    int line;            /* of the file, from 1 on; 0: it is of none */
};

/* Constant once it is read, but for the holders. */
struct vs_accounts {
    atomic_int holders;
    int count;
    struct vs_account at[];
};

/* A client without credentials on this machine, if the file has no line for it. */
extern const struct vs_account vs_account_local;

/* Errors: VESTA_EOPTION that begins with the line's number, "3: ..."; VESTA_ENOMEM. */
int vs_accounts_parse(const char *text, size_t length, struct vs_accounts **out, struct vesta_error *err);

/* Reads a file.  *others: what other users of the machine may do with it, "read", "write", "read and write" or NULL.
 * Errors: VESTA_EIO, VESTA_EOPTION, VESTA_ENOMEM, with the path.  A file with secrets that a person chose is an error,
 * which names the clients, their lines and the command that replaces such a secret. */
int vs_accounts_read(const char *path, struct vs_accounts **out, const char **others, struct vesta_error *err);
/* The same, but such clients are read (has_chosen): for the commands that list and replace them. */
int vs_accounts_read_all(const char *path, struct vs_accounts **out, const char **others, struct vesta_error *err);
struct vs_accounts *vs_accounts_hold(struct vs_accounts *accounts);
void vs_accounts_let(struct vs_accounts *accounts); /* may be NULL */

int vs_account_parse(struct vs_slice line, struct vs_account *out, struct vesta_error *err);
/* Writes a line of the file, without its end. */
const char *vs_account_write(const struct vs_account *account, char buf[VS_ACCOUNT_LINE_MAX]);
/* Writes " rate=N requests=N weight=N", without those that have their defaults.  Returns the length. */
int vs_account_write_share(const struct vs_account *account, char *buf, size_t size);
const char *vs_classes_write(unsigned calls, char buf[VS_ACCOUNT_NAME_MAX]);

const struct vs_account *vs_account_named(const struct vs_accounts *accounts, struct vs_slice name);
/* Whether its patterns match a name, and whether they match all. */
bool vs_account_has(const struct vs_account *account, struct vs_slice name);
bool vs_account_has_all(const struct vs_account *account);
/* Whether two may do the same.  NULL may do nothing. */
bool vs_account_is_as(const struct vs_account *account, const struct vs_account *other);
/* The i-th pattern.  false: there are not so many. */
bool vs_account_pattern(const struct vs_account *account, int i, struct vs_slice *pattern);
/* `*` stands for any letters. */
bool vs_pattern_has(struct vs_slice pattern, struct vs_slice name);

#endif
