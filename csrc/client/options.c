/* options.c -- checks and copies a client's options. */
#include "client/options.h"
#include "base/array.h"
#include "base/error.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define SERVERS_BYTES_MAX 2000
#define NAMES "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:-"

static int add_server(const char *from, size_t length, struct vs_setup *out, struct vesta_error *err) {
    struct vs_place *place = &out->server[out->server_count];
    if (length == 0) return vs_fail(err, VESTA_EOPTION, "servers: an address between the commas is empty");
    if (out->server_count == VESTA_SERVERS_MAX)
        return vs_fail(err, VESTA_EOPTION, "servers: the list has more than %d addresses", VESTA_SERVERS_MAX);
    int rc = vs_place_read((struct vs_slice){from, length}, "redis", out->server_count + 1, place, err);
    if (rc != VESTA_OK) return rc;
    for (int i = 0; i < out->server_count; i++)
        if (strcmp(out->server[i].address, place->address) == 0)
            return vs_fail(err, VESTA_EOPTION, "servers: '%.250s' is listed twice", place->address);
    out->server_count++;
    return VESTA_OK;
}

static int read_servers(const char *list, struct vs_setup *out, struct vesta_error *err) {
    if (!list || !*list)
        return vs_fail(err, VESTA_EOPTION,
                       "servers: no address is given. Write HOST:PORT, with commas between several addresses");
    if (strnlen(list, SERVERS_BYTES_MAX + 1) > SERVERS_BYTES_MAX)
        return vs_fail(err, VESTA_EOPTION, "servers: the list is longer than %d bytes", SERVERS_BYTES_MAX);
    for (const char *from = list;; from++) {
        size_t length = strcspn(from, ",");
        int rc = add_server(from, length, out, err);
        if (rc != VESTA_OK) return rc;
        from += length;
        if (!*from) return VESTA_OK;
    }
}

static int client_read_name(const char *name, struct vs_setup *out, struct vesta_error *err) {
    if (!name) name = "default";
    size_t length = strnlen(name, VESTA_NAMESPACE_MAX);
    if (length == 0 || length == VESTA_NAMESPACE_MAX || strspn(name, NAMES) != length)
        return vs_fail(err, VESTA_EOPTION, "name: '%s' is not valid: use 1 to %d letters, digits, _ . : and -",
                       VS_QUOTE(name, length), VESTA_NAMESPACE_MAX - 1);
    memcpy(out->name, name, length + 1);
    return VESTA_OK;
}

static int read_access(const struct vesta_client_opts *is, struct vs_client_access *out, struct vesta_error *err) {
    const struct {
        const char *name, *value;
        char *to;
        size_t size;
    } rows[] = {{"user", is->user, out->user, sizeof out->user},
                {"password", is->password, out->password, sizeof out->password},
                {"secret_file", is->secret_file, out->secret_file, sizeof out->secret_file},
                {"tls_ca", is->tls_ca, out->tls_ca, sizeof out->tls_ca},
                {"tls_certificate", is->tls_certificate, out->tls_certificate, sizeof out->tls_certificate},
                {"tls_key", is->tls_key, out->tls_key, sizeof out->tls_key}};
    for (size_t i = 0; i < VS_COUNT(rows); i++) {
        if (rows[i].value && strnlen(rows[i].value, rows[i].size) == rows[i].size)
            return vs_fail(err, VESTA_EOPTION, "%s is longer than %zu bytes", rows[i].name, rows[i].size - 1);
        strcpy(rows[i].to, rows[i].value ? rows[i].value : "");
    }
    out->tls_unverified = is->tls_unverified != 0;
    if (*out->password && *out->secret_file)
        return vs_fail(err, VESTA_EOPTION, "password and secret_file cannot be combined");
    if (*out->tls_key && !*out->tls_certificate) return vs_fail(err, VESTA_EOPTION, "tls_key needs tls_certificate");
    return VESTA_OK;
}

/* Checks the combination of servers and options. */
static int check_access(const struct vs_setup *setup, struct vesta_error *err) {
    const struct vs_client_access *is = &setup->access;
    bool has_secret = *is->password || *is->secret_file, is_tls = false;
    for (int i = 0; i < setup->server_count; i++) {
        const struct vs_place *place = &setup->server[i];
        is_tls |= place->is_tls;
        if ((*place->user || *is->user) && !*place->secret && !has_secret)
            return vs_fail(err, VESTA_EOPTION, "servers: %.250s: the client name has no secret. Set secret_file",
                           place->address);
    }
    if (!is_tls && (*is->tls_ca || *is->tls_certificate || is->tls_unverified))
        return vs_fail(err, VESTA_EOPTION, "a TLS option is set, but no server begins with rediss://");
    return VESTA_OK;
}

/* Reads a numeric option, where 0 means the default. */
static int client_read_number(const char *name, int64_t value, int64_t otherwise, int64_t max,
                              struct vesta_error *err) {
    if (value == 0 || (value > 0 && value <= max)) return VESTA_OK;
    return vs_fail(err, VESTA_EOPTION, "%s %lld is out of range: use 1 to %lld, or 0 for the default of %lld", name,
                   (long long)value, (long long)max, (long long)otherwise);
}

static int read_numbers(const struct vesta_client_opts *opts, struct vs_setup *out, struct vesta_error *err) {
    struct vesta_client_opts is = *opts;
    struct {
        const char *name;
        int64_t *value, otherwise, max;
    } rows[] = {{"block_min", &is.block_min, 100, VESTA_BLOCK_IDS_MAX},
                {"block_max", &is.block_max, 10000, VESTA_BLOCK_IDS_MAX},
                {"ttl_ms", &is.ttl_ms, 10000, INT64_C(86400000)},
                {"timeout_ms", &is.timeout_ms, 2000, 60000}};
    for (size_t i = 0; i < VS_COUNT(rows); i++) {
        int rc = client_read_number(rows[i].name, *rows[i].value, rows[i].otherwise, rows[i].max, err);
        if (rc != VESTA_OK) return rc;
        if (*rows[i].value == 0) *rows[i].value = rows[i].otherwise;
    }
    /* If the caller has set only one of the two, the default of the other is adjusted to it. */
    if (!opts->block_min && is.block_min > is.block_max) is.block_min = is.block_max;
    if (!opts->block_max && is.block_max < is.block_min) is.block_max = is.block_min;
    if (is.block_min > is.block_max)
        return vs_fail(err, VESTA_EOPTION, "block_min %lld is above block_max %lld", (long long)is.block_min,
                       (long long)is.block_max);
    out->block_min = (uint64_t)is.block_min;
    out->block_max = (uint64_t)is.block_max;
    out->ttl_us = is.ttl_ms * 1000;
    out->timeout_us = is.timeout_ms * 1000;
    return VESTA_OK;
}

/* A caller compiled against an older header passes a shorter struct.  The missing options get their defaults. */
static int read_size(const struct vesta_client_opts *opts, struct vesta_client_opts *out, struct vesta_error *err) {
    static const struct vesta_client_opts none = VESTA_CLIENT_OPTS_INIT;
    size_t min = offsetof(struct vesta_client_opts, timeout_ms) + sizeof opts->timeout_ms;
    if (!opts || opts->size < min || opts->size > 4096)
        return vs_fail(err, VESTA_EOPTION, "opts was not initialized with VESTA_CLIENT_OPTS_INIT");
    for (size_t i = sizeof none; i < opts->size; i++)
        if (((const unsigned char *)opts)[i])
            return vs_fail(err, VESTA_EOPTION,
                           "opts sets an option that this libvesta_client does not support: use a newer library");
    *out = none;
    memcpy(out, opts, opts->size < sizeof none ? opts->size : sizeof none);
    return VESTA_OK;
}

int vs_setup_read(const struct vesta_client_opts *opts, struct vs_setup *out, struct vesta_error *err) {
    struct vesta_client_opts is;
    memset(out, 0, sizeof *out);
    int rc = read_size(opts, &is, err);
    if (rc == VESTA_OK) rc = read_servers(is.servers, out, err);
    if (rc == VESTA_OK) rc = client_read_name(is.name, out, err);
    if (rc == VESTA_OK) rc = read_access(&is, &out->access, err);
    if (rc == VESTA_OK) rc = check_access(out, err);
    if (rc == VESTA_OK) rc = read_numbers(&is, out, err);
    out->fallback = is.fallback;
    return rc;
}
