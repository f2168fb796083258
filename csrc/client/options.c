/* options.c -- the options of a client -> what it is to do. */
#include "client/options.h"
#include "base/array.h"
#include "base/error.h"
#include "os/address.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define SERVERS_BYTES_MAX 2000
#define NAMES "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:-"

static int add_server(const char *from, size_t length, struct vs_setup *out, struct vesta_error *err) {
    char *address = out->server[out->server_count];
    if (length == 0) return vs_fail(err, VESTA_EOPTION, "servers: there is an empty address between commas");
    if (out->server_count == VESTA_SERVERS_MAX)
        return vs_fail(err, VESTA_EOPTION, "servers: there are more than %d", VESTA_SERVERS_MAX);
    if (length >= VESTA_ADDRESS_MAX)
        return vs_fail(err, VESTA_EOPTION, "servers: '%s' is longer than %d bytes", VS_QUOTE(from, length),
                       VESTA_ADDRESS_MAX - 1);
    for (size_t i = 0; i < length; i++)
        if (from[i] <= ' ' || from[i] > '~')
            return vs_fail(err, VESTA_EOPTION, "servers: '%s' is not an address: HOST:PORT, [IPv6]:PORT or unix:PATH",
                           VS_QUOTE(from, length));
    memcpy(address, from, length);
    address[length] = '\0';
    for (int i = 0; i < out->server_count; i++)
        if (strcmp(out->server[i], address) == 0)
            return vs_fail(err, VESTA_EOPTION, "servers: '%s' is there twice", VS_QUOTE(from, length));
    out->server_count++;
    return vs_address_check(address, err);
}

static int read_servers(const char *list, struct vs_setup *out, struct vesta_error *err) {
    if (!list || !*list)
        return vs_fail(err, VESTA_EOPTION, "servers: none is named; write HOST:PORT, several with commas in between");
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

static int read_name(const char *name, struct vs_setup *out, struct vesta_error *err) {
    if (!name) name = "default";
    size_t length = strnlen(name, VESTA_NAMESPACE_MAX);
    if (length == 0 || length == VESTA_NAMESPACE_MAX || strspn(name, NAMES) != length)
        return vs_fail(err, VESTA_EOPTION, "name: '%s' is not a name of 1 to %d letters, digits, _ . : and -",
                       VS_QUOTE(name, length), VESTA_NAMESPACE_MAX - 1);
    memcpy(out->name, name, length + 1);
    return VESTA_OK;
}

static int read_password(const char *password, struct vs_setup *out, struct vesta_error *err) {
    if (!password) password = "";
    if (strnlen(password, sizeof out->password) == sizeof out->password)
        return vs_fail(err, VESTA_EOPTION, "password: it is longer than %zu bytes", sizeof out->password - 1);
    strcpy(out->password, password);
    return VESTA_OK;
}

/* 0 is the default. */
static int read_number(const char *name, int64_t value, int64_t otherwise, int64_t max, struct vesta_error *err) {
    if (value == 0 || (value > 0 && value <= max)) return VESTA_OK;
    return vs_fail(err, VESTA_EOPTION, "%s: %lld is not a number from 1 to %lld (0: %lld)", name, (long long)value,
                   (long long)max, (long long)otherwise);
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
        int rc = read_number(rows[i].name, *rows[i].value, rows[i].otherwise, rows[i].max, err);
        if (rc != VESTA_OK) return rc;
        if (*rows[i].value == 0) *rows[i].value = rows[i].otherwise;
    }
    /* who names one of them only has said nothing about the other */
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

/* A caller that was compiled with fewer options gets their defaults. */
static int read_size(const struct vesta_client_opts *opts, struct vesta_client_opts *out, struct vesta_error *err) {
    static const struct vesta_client_opts none = VESTA_CLIENT_OPTS_INIT;
    size_t min = offsetof(struct vesta_client_opts, timeout_ms) + sizeof opts->timeout_ms;
    if (!opts || opts->size < min || opts->size > 4096)
        return vs_fail(err, VESTA_EOPTION, "opts was not initialized with VESTA_CLIENT_OPTS_INIT");
    for (size_t i = sizeof none; i < opts->size; i++)
        if (((const unsigned char *)opts)[i])
            return vs_fail(err, VESTA_EOPTION, "opts sets an option that only a newer libvesta_client knows");
    *out = none;
    memcpy(out, opts, opts->size < sizeof none ? opts->size : sizeof none);
    return VESTA_OK;
}

int vs_setup_read(const struct vesta_client_opts *opts, struct vs_setup *out, struct vesta_error *err) {
    struct vesta_client_opts is;
    memset(out, 0, sizeof *out);
    int rc = read_size(opts, &is, err);
    if (rc == VESTA_OK) rc = read_servers(is.servers, out, err);
    if (rc == VESTA_OK) rc = read_name(is.name, out, err);
    if (rc == VESTA_OK) rc = read_password(is.password, out, err);
    if (rc == VESTA_OK) rc = read_numbers(&is, out, err);
    out->fallback = is.fallback;
    return rc;
}
