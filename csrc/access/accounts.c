/* accounts.c -- parses the file of clients, and matches names against patterns.  Computes no hash and writes no
 * file. */
#include "access/accounts.h"
#include "base/error.h"
#include "os/files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

const struct vs_account vs_account_local = {
    .name = VS_ACCOUNT_DEFAULT, .names = "*", .calls = VS_ALL_CLASSES & ~(VS_OPERATE | VS_UNMASK), .n_max = UINT64_MAX, .weight = 1};

/* ------------------------------------------------------------------ patterns */

bool vs_pattern_has(struct vs_slice pattern, struct vs_slice name) {
    const char *at = pattern.at, *end = at + pattern.length, *star = NULL, *again = NULL;
    const char *letter = name.at, *name_end = letter + name.length;
    while (letter < name_end) {
        if (at < end && *at == '*') {
            star = ++at, again = letter;
        } else if (at < end && *at == *letter) {
            at++, letter++;
        } else if (star) {
            at = star, letter = ++again;
        } else {
            return false;
        }
    }
    while (at < end && *at == '*')
        at++;
    return at == end;
}

bool vs_account_pattern(const struct vs_account *account, int i, struct vs_slice *pattern) {
    const char *at = account->names;
    for (; i > 0 && *at; i--)
        at = strchrnul(at, ',') + (strchr(at, ',') != NULL);
    *pattern = (struct vs_slice){at, strcspn(at, ",")};
    return pattern->length > 0;
}

bool vs_account_has(const struct vs_account *account, struct vs_slice name) {
    const char *at = account->names;
    while (*at) {
        const char *end = strchrnul(at, ',');
        if (vs_pattern_has((struct vs_slice){at, (size_t)(end - at)}, name)) return true;
        at = end + (*end == ',');
    }
    return false;
}

bool vs_account_has_all(const struct vs_account *account) {
    struct vs_slice pattern;
    for (int i = 0; vs_account_pattern(account, i, &pattern); i++)
        if (vs_slice_is(pattern, "*")) return true;
    return false;
}

bool vs_account_is_as(const struct vs_account *account, const struct vs_account *other) {
    if (!account || !other) return account == other;
    return account->calls == other->calls && account->n_max == other->n_max &&
           strcmp(account->names, other->names) == 0;
}

/* ------------------------------------------------------------------ one line */

static int access_read_names(struct vs_slice text, struct vs_account *out, struct vesta_error *err) {
    struct vs_slice rest = text;
    if (text.length == 0 || text.length >= VS_ACCOUNT_NAMES_MAX)
        return vs_fail(err, VESTA_EOPTION, "names has %zu bytes, but must have 1 to %d", text.length,
                       VS_ACCOUNT_NAMES_MAX - 1);
    while (rest.length > 0 || rest.at == text.at) {
        struct vs_slice one = rest, after = {text.at + text.length, 0};
        bool more = vs_slice_split(rest, ',', &one, &after);
        char plain[VESTA_NAMESPACE_MAX];
        size_t n = 0;
        for (size_t i = 0; i < one.length && n < sizeof plain; i++)
            if (one.at[i] != '*') plain[n++] = one.at[i];
        if (n == sizeof plain)
            return vs_fail(err, VESTA_EOPTION, "names has a pattern of %zu bytes, but a name has at most %d",
                           one.length, VESTA_NAMESPACE_MAX - 1);
        bool is_good = one.length > 0 && (n == 0 || vs_slice_is_name((struct vs_slice){plain, n}, sizeof plain - 1));
        if (!is_good || (more && after.length == 0))
            return vs_fail(err, VESTA_EOPTION, "names has '%s', which must be a pattern of A-Z a-z 0-9 _ . : - and *",
                           VS_QUOTE(one.at, one.length));
        if (!more) break;
        rest = after;
    }
    memcpy(out->names, text.at, text.length);
    out->names[text.length] = '\0';
    return VESTA_OK;
}

static int access_read_calls(struct vs_slice text, unsigned *calls, struct vesta_error *err) {
    *calls = 0;
    for (bool more = true; more;) {
        struct vs_slice one = text, after = {NULL, 0};
        more = vs_slice_split(text, ',', &one, &after);
        int place = one.length > 0 ? vs_slice_place(one, VS_CLASS_WORDS, '|') : -1;
        if (place < 0)
            return vs_fail(err, VESTA_EOPTION, "calls has '%s', which must be some of give, block, read, make, operate, "
                           "lease, unmask",
                           VS_QUOTE(one.at, one.length));
        *calls |= 1u << place;
        text = after;
    }
    return VESTA_OK;
}

static int access_read_n(struct vs_slice text, uint64_t *n, struct vesta_error *err) {
    if (vesta_parse(VESTA_DECIMAL, text.at, text.length, n) == VESTA_OK && *n > 0) return VESTA_OK;
    return vs_fail(err, VESTA_EOPTION, "n is '%s', which must be a whole number of at least 1",
                   VS_QUOTE(text.at, text.length));
}

static int access_read_number(struct vs_slice key, struct vs_slice text, uint64_t max, uint64_t *n, struct vesta_error *err) {
    if (vesta_parse(VESTA_DECIMAL, text.at, text.length, n) == VESTA_OK && *n > 0 && *n <= max) return VESTA_OK;
    return vs_fail(err, VESTA_EOPTION, "%.*s is '%s', which must be a whole number from 1 to %" PRIu64, (int)key.length,
                   key.at, VS_QUOTE(text.at, text.length), max);
}

static int access_read_weight(struct vs_slice key, struct vs_slice text, uint32_t *weight, struct vesta_error *err) {
    uint64_t n = *weight;
    int rc = access_read_number(key, text, VS_ACCOUNT_WEIGHT_MAX, &n, err);
    if (rc == VESTA_OK) *weight = (uint32_t)n;
    return rc;
}

static int access_read_secret(struct vs_slice text, struct vs_account *out, struct vesta_error *err) {
    struct vesta_error why;
    if (vs_slice_is(text, "none")) return out->by_certificate = true, VESTA_OK;
    if (vs_secret_is_chosen(text)) return out->has_chosen = true, VESTA_OK;
    if (out->secret_count == VS_ACCOUNT_SECRETS_MAX)
        return vs_fail(err, VESTA_EOPTION, "has more than %d secrets", VS_ACCOUNT_SECRETS_MAX);
    if (vs_secret_read(text, &out->secret[out->secret_count], &why) != VESTA_OK)
        /* the message must not contain the secret */
        return vs_fail(err, VESTA_EOPTION, "secret %s", why.text);
    out->secret_count++;
    return VESTA_OK;
}

static int access_read_word(struct vs_slice word, struct vs_account *out, struct vesta_error *err) {
    struct vs_slice key, value;
    if (!vs_slice_split(word, '=', &key, &value))
        return vs_fail(err, VESTA_EOPTION, "'%s' is not KEY=VALUE", VS_QUOTE(word.at, word.length));
    if (vs_slice_is(key, "names")) return access_read_names(value, out, err);
    if (vs_slice_is(key, "calls")) return access_read_calls(value, &out->calls, err);
    if (vs_slice_is(key, "n")) return access_read_n(value, &out->n_max, err);
    if (vs_slice_is(key, "rate")) return access_read_number(key, value, VS_ACCOUNT_RATE_MAX, &out->rate, err);
    if (vs_slice_is(key, "requests")) return access_read_number(key, value, VS_ACCOUNT_RATE_MAX, &out->requests, err);
    if (vs_slice_is(key, "leases")) return access_read_number(key, value, VS_ACCOUNT_RATE_MAX, &out->leases, err);
    if (vs_slice_is(key, "weight")) return access_read_weight(key, value, &out->weight, err);
    if (vs_slice_is(key, "secret")) return access_read_secret(value, out, err);
    return vs_fail(err, VESTA_EOPTION, "'%s' is not a key: use names, calls, n, rate, requests, leases, weight or secret",
                   VS_QUOTE(key.at, key.length));
}

/* Removes the next word from *line.  A word ends at white space.  Returns false if no word is left. */
static bool access_next_word(struct vs_slice *line, struct vs_slice *word) {
    while (line->length > 0 && strchr(" \t\r", *line->at))
        line->at++, line->length--;
    size_t n = 0;
    while (n < line->length && !memchr(" \t\r", line->at[n], 3))
        n++;
    *word = (struct vs_slice){line->at, n};
    *line = (struct vs_slice){line->at + n, line->length - n};
    return n > 0;
}

static bool access_has_digest(const struct vs_account *a, int from, const struct vs_secret *secret) {
    for (int i = from; i < a->secret_count; i++)
        if (vs_secret_same(a->secret[i].digest, secret->digest, sizeof secret->digest)) return true;
    return false;
}

static int access_check_secrets(const struct vs_account *a, struct vesta_error *err) {
    bool is_default = strcmp(a->name, VS_ACCOUNT_DEFAULT) == 0, has_secret = a->secret_count > 0 || a->has_chosen;
    if (a->by_certificate && is_default)
        return vs_fail(err, VESTA_EOPTION,
                       "client 'default' has secret=none, but no certificate can prove it: delete that word");
    if (a->by_certificate && has_secret)
        return vs_fail(err, VESTA_EOPTION, "client '%s' has secret=none and another secret: delete one of them", a->name);
    for (int i = 0; i < a->secret_count; i++)
        if (access_has_digest(a, i + 1, &a->secret[i]))
            return vs_fail(err, VESTA_EOPTION, "client '%s' has the same token twice: delete one of the two secret= words",
                           a->name);
    if (has_secret || a->by_certificate || is_default) return VESTA_OK;
    return vs_fail(err, VESTA_EOPTION,
                   "client '%s' has no secret: delete the line and create the client with `vesta client add %s`, or "
                   "write secret=none if it has a client certificate",
                   a->name, a->name);
}

int vs_account_parse(struct vs_slice line, struct vs_account *out, struct vesta_error *err) {
    struct vs_account account = {.n_max = UINT64_MAX, .weight = 1};
    struct vs_slice word;
    if (!access_next_word(&line, &word) || !vs_slice_is_name(word, VS_ACCOUNT_NAME_MAX - 1))
        return vs_fail(err, VESTA_EOPTION, "'%s' is not a client name: use 1 to %d characters of A-Z a-z 0-9 _ . -",
                       VS_QUOTE(word.at, word.length), VS_ACCOUNT_NAME_MAX - 1);
    if (memchr(word.at, ':', word.length))
        return vs_fail(err, VESTA_EOPTION,
                       "the name '%s' has a colon, which separates name and secret in HTTP: remove it",
                       VS_QUOTE(word.at, word.length));
    memcpy(account.name, word.at, word.length);
    while (access_next_word(&line, &word)) {
        int rc = access_read_word(word, &account, err);
        if (rc != VESTA_OK) return rc;
    }
    if (!*account.names || !account.calls)
        return vs_fail(err, VESTA_EOPTION, "client '%s' has no %s", account.name, *account.names ? "calls" : "names");
    int rc = access_check_secrets(&account, err);
    if (rc != VESTA_OK) return rc;
    *out = account;
    return VESTA_OK;
}

const char *vs_classes_write(unsigned calls, char buf[VS_ACCOUNT_NAME_MAX]) {
    int used = 0;
    *buf = '\0';
    for (const char *word = VS_CLASS_WORDS; calls; calls >>= 1) {
        int length = (int)strcspn(word, "|");
        if (calls & 1) used += sprintf(buf + used, "%s%.*s", used ? "," : "", length, word);
        word += length + (word[length] == '|');
    }
    return buf;
}

int vs_account_write_share(const struct vs_account *account, char *buf, size_t size) {
    int n = 0;
    *buf = '\0';
    if (account->rate) n += snprintf(buf + n, size - (size_t)n, " rate=%" PRIu64, account->rate);
    if (account->requests) n += snprintf(buf + n, size - (size_t)n, " requests=%" PRIu64, account->requests);
    if (account->weight > 1) n += snprintf(buf + n, size - (size_t)n, " weight=%u", account->weight);
    return n;
}

const char *vs_account_write(const struct vs_account *account, char buf[VS_ACCOUNT_LINE_MAX]) {
    char calls[VS_ACCOUNT_NAME_MAX], secret[VS_SECRET_TEXT_MAX];
    int n = snprintf(buf, VS_ACCOUNT_LINE_MAX, "%s names=%s calls=%s", account->name, account->names,
                     vs_classes_write(account->calls, calls));
    if (account->n_max != UINT64_MAX)
        n += snprintf(buf + n, VS_ACCOUNT_LINE_MAX - (size_t)n, " n=%" PRIu64, account->n_max);
    n += vs_account_write_share(account, buf + n, VS_ACCOUNT_LINE_MAX - (size_t)n);
    if (account->leases) n += snprintf(buf + n, VS_ACCOUNT_LINE_MAX - (size_t)n, " leases=%" PRIu64, account->leases);
    for (int i = 0; i < account->secret_count; i++)
        n += snprintf(buf + n, VS_ACCOUNT_LINE_MAX - (size_t)n, " secret=%s",
                      vs_secret_write(&account->secret[i], secret));
    if (account->by_certificate) snprintf(buf + n, VS_ACCOUNT_LINE_MAX - (size_t)n, " secret=none");
    return buf;
}

/* ------------------------------------------------------------------ the file */

const struct vs_account *vs_account_named(const struct vs_accounts *accounts, struct vs_slice name) {
    for (int i = 0; i < accounts->count; i++)
        if (vs_slice_is(name, accounts->at[i].name)) return &accounts->at[i];
    return NULL;
}

/* Rejects a line with the name of an earlier line, and a line with a token of a different client, because a token alone
 * identifies its client. */
static int access_check_other_lines(const struct vs_accounts *accounts, const struct vs_account *a, struct vesta_error *err) {
    for (int i = 0; i < accounts->count; i++) {
        const struct vs_account *other = &accounts->at[i];
        if (strcmp(other->name, a->name) == 0)
            return vs_fail(err, VESTA_EOPTION, "client '%s' already has a line", a->name);
        for (int k = 0; k < a->secret_count; k++)
            if (access_has_digest(other, 0, &a->secret[k]))
                return vs_fail(err, VESTA_EOPTION,
                               "client '%s' has the same token as client '%s' in line %d, but a token identifies one "
                               "client: delete one of these lines, and create its client with `vesta client add NAME`",
                               a->name, other->name, other->line);
    }
    return VESTA_OK;
}

static int access_add_line(struct vs_accounts *accounts, struct vs_slice line, int number, struct vesta_error *err) {
    struct vs_account *account = &accounts->at[accounts->count];
    struct vs_slice rest = line, word;
    if (!access_next_word(&rest, &word) || *word.at == '#') return VESTA_OK;
    if (accounts->count == VS_ACCOUNTS_MAX) return vs_fail(err, VESTA_EOPTION, "more than %d clients", VS_ACCOUNTS_MAX);
    int rc = vs_account_parse(line, account, err);
    if (rc == VESTA_OK) rc = access_check_other_lines(accounts, account, err);
    if (rc != VESTA_OK) return rc;
    account->line = number;
    accounts->count++;
    return VESTA_OK;
}

int vs_accounts_parse(const char *text, size_t length, struct vs_accounts **out, struct vesta_error *err) {
    struct vs_accounts *accounts = calloc(1, sizeof *accounts + (VS_ACCOUNTS_MAX + 1) * sizeof *accounts->at);
    struct vesta_error why;
    struct vs_slice lines = vs_slice_without_mark((struct vs_slice){text, length});
    const char *at = lines.at, *end = lines.at + lines.length;
    int rc = VESTA_OK;
    if (!accounts) return vs_fail(err, VESTA_ENOMEM, "no memory for clients");
    atomic_init(&accounts->holders, 1);
    for (int number = 1; rc == VESTA_OK && at < end; number++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop) stop = end;
        if (memchr(at, '\0', (size_t)(stop - at)))
            rc = vs_fail(&why, VESTA_EOPTION, "a NUL byte");
        else
            rc = access_add_line(accounts, (struct vs_slice){at, (size_t)(stop - at)}, number, &why);
        if (rc != VESTA_OK) vs_fail(err, rc, "%d: %s", number, why.text);
        at = stop + (stop < end);
    }
    if (rc != VESTA_OK) return free(accounts), rc;
    struct vs_accounts *fit = realloc(accounts, sizeof *fit + (size_t)accounts->count * sizeof *fit->at);
    *out = fit ? fit : accounts;
    return VESTA_OK;
}

static int access_read_open(int fd, char *text, size_t *length, const char **others, struct vesta_error *err) {
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) return vs_fail(err, VESTA_EIO, "it is not a regular file");
    if (st.st_size > VS_ACCOUNTS_BYTES_MAX)
        return vs_fail(err, VESTA_EOPTION, "it has more than %d bytes", VS_ACCOUNTS_BYTES_MAX);
    *others = vs_open_to_others(&st);
    *length = 0;
    while (*length < VS_ACCOUNTS_BYTES_MAX) {
        ssize_t got = read(fd, text + *length, VS_ACCOUNTS_BYTES_MAX - *length);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return vs_fail(err, VESTA_EIO, "%s", strerror(errno));
        if (got == 0) break;
        *length += (size_t)got;
    }
    return VESTA_OK;
}

int vs_accounts_read_all(const char *path, struct vs_accounts **out, const char **others, struct vesta_error *err) {
    struct vesta_error why = {.text = ""};
    size_t length = 0;
    char *text = malloc(VS_ACCOUNTS_BYTES_MAX);
    if (!text) return vs_fail(err, VESTA_ENOMEM, "no memory for clients");
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int rc = fd < 0 ? vs_fail(&why, VESTA_EIO, "%s", strerror(errno)) : access_read_open(fd, text, &length, others, &why);
    if (fd >= 0) close(fd);
    if (rc != VESTA_OK) vs_fail(err, rc, "cannot read %.150s: %s", path, why.text);
    if (rc == VESTA_OK && (rc = vs_accounts_parse(text, length, out, &why)) != VESTA_OK)
        vs_fail(err, rc, "%.150s:%s", path, why.text);
    free(text);
    return rc;
}

/* Rejects secrets that a person chose.  The message contains the command for the first such client, the names of
 * further clients as far as they fit, and the number of clients that do not fit. */
static int access_reject_chosen(const struct vs_accounts *accounts, const char *path, struct vesta_error *err) {
    const struct vs_account *first = NULL;
    char others[160] = "";
    int length = 0, more = 0;
    for (int i = 0; i < accounts->count; i++) {
        const struct vs_account *a = &accounts->at[i];
        if (!a->has_chosen) continue;
        if (!first)
            first = a;
        else if (length < 80)
            length += snprintf(others + length, sizeof others - (size_t)length, "%s%s (line %d)", length ? ", " : "",
                               a->name, a->line);
        else
            more++;
    }
    if (!first) return VESTA_OK;
    if (more) snprintf(others + length, sizeof others - (size_t)length, " and %d more", more);
    return vs_fail(err, VESTA_EOPTION,
                   "%.120s:%d: client '%s' has a secret that a person chose, and such secrets are no longer accepted: "
                   "replace it with a token by `vesta client rotate %s --file %.120s`%s%s",
                   path, first->line, first->name, first->name, path, length ? ". Other such clients: " : "", others);
}

int vs_accounts_read(const char *path, struct vs_accounts **out, const char **others, struct vesta_error *err) {
    struct vs_accounts *accounts;
    int rc = vs_accounts_read_all(path, &accounts, others, err);
    if (rc != VESTA_OK) return rc;
    if ((rc = access_reject_chosen(accounts, path, err)) != VESTA_OK) return vs_accounts_let(accounts), rc;
    *out = accounts;
    return VESTA_OK;
}

struct vs_accounts *vs_accounts_hold(struct vs_accounts *accounts) {
    if (accounts) atomic_fetch_add(&accounts->holders, 1);
    return accounts;
}

void vs_accounts_let(struct vs_accounts *accounts) {
    if (accounts && atomic_fetch_sub(&accounts->holders, 1) == 1) free(accounts);
}
