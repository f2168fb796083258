/* names.c -- the environment variables that contain a worker id. */
#include "run/keep.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MAX 128
#define NAMES_TEXT_MAX 4096

/* The values that replace {worker}, {datacenter} and {machine} in NAME=TEXT. */
struct names_values {
    char worker[24], datacenter[24], machine[24];
};

/* Returns the value of the placeholder that begins at a brace, or NULL if none does.  Sets *length to the length of the
 * placeholder with its braces. */
static const char *names_find(const struct names_values *values, const char *at, size_t *length) {
    const struct {
        const char *word, *value;
    } words[] = {{"{worker}", values->worker}, {"{datacenter}", values->datacenter}, {"{machine}", values->machine}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        *length = strlen(words[i].word);
        if (strncmp(at, words[i].word, *length) == 0) return words[i].value;
    }
    return NULL;
}

const char *vs_run_name_trouble(const char *name, bool has_parts) {
    static const struct names_values none;
    size_t length = strcspn(name, "="), used;
    if (length == 0 || length >= NAMES_MAX) return "which must have a name of 1 to 127 bytes";
    if (isdigit((unsigned char)*name)) return "but the name of a variable does not begin with a digit";
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)name[i]) && name[i] != '_' && name[i] != '.' && name[i] != '-')
            return "but the name of a variable has only letters, digits and underscores";
    if (strlen(name) - length > NAMES_TEXT_MAX / 2) return "which is too long";
    if (name[length] != '=') return NULL;
    bool has_any = false;
    for (const char *at = name + length; (at = strchr(at, '{')); at++) {
        const char *value = names_find(&none, at, &used);
        has_any |= value != NULL;
        if (value && value != none.worker && !has_parts) return "which needs --datacenter-bits";
    }
    return has_any ? NULL : "but its text has no {worker}, {datacenter} or {machine}";
}

static int names_put(const char *key, const char *value) {
    return setenv(key, value, 1) == 0 ? 0 : errno;
}

static int names_set(const struct names_values *values, const char *name) {
    char key[NAMES_MAX], text[NAMES_TEXT_MAX];
    size_t length = strcspn(name, "="), used = 0, skipped;
    snprintf(key, sizeof key, "%.*s", (int)length, name);
    const char *at = name[length] ? name + length + 1 : "{worker}";
    while (*at && used + sizeof values->worker < sizeof text) {
        const char *value = *at == '{' ? names_find(values, at, &skipped) : NULL;
        if (value) {
            used += (size_t)snprintf(text + used, sizeof text - used, "%s", value);
            at += skipped;
        } else
            text[used++] = *at++;
    }
    text[used] = '\0';
    return names_put(key, text);
}

int vs_run_set_names(const struct vs_run_opts *opts, uint64_t worker, unsigned width, int64_t expires_ms) {
    struct names_values values;
    char expires[VESTA_ISO_MAX];
    unsigned machine_bits = width - opts->datacenter_bits;
    vesta_iso(expires_ms, expires);
    snprintf(values.worker, sizeof values.worker, "%" PRIu64, worker);
    snprintf(values.datacenter, sizeof values.datacenter, "%" PRIu64, worker >> machine_bits);
    snprintf(values.machine, sizeof values.machine, "%" PRIu64, worker & ((UINT64_C(1) << machine_bits) - 1));
    int rc = names_put("VESTA_WORKER", values.worker);
    if (rc == 0) rc = names_put("VESTA_LEASE_EXPIRES", expires);
    if (rc == 0 && opts->datacenter_bits) rc = names_put("VESTA_DATACENTER_PART", values.datacenter);
    if (rc == 0 && opts->datacenter_bits) rc = names_put("VESTA_MACHINE_PART", values.machine);
    for (char **name = opts->names; rc == 0 && *name; name++)
        rc = names_set(&values, *name);
    return rc;
}
