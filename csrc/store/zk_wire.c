/* zk_wire.c -- see zk_wire.h.  Numbers are big-endian; texts and bytes have their length before them. */
#include "store/zk_wire.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *vs_zk_error(int32_t rc) {
    switch (rc) {
    case ZK_NONODE: return "no node";
    case ZK_NOAUTH: return "not authorized";
    case ZK_BADVERSION: return "another version";
    case ZK_NODEEXISTS: return "the node is there";
    case ZK_SESSIONEXPIRED: return "the session has ended";
    case ZK_INVALIDACL: return "its ACL is none that it takes";
    case ZK_AUTHFAILED: return "it does not take this user:password";
    case ZK_SESSIONMOVED: return "the session is at another server";
    case ZK_QUOTA: return "a quota of this node is used up: see ZooKeeper's listquota, setquota";
    case ZK_THROTTLED: return "it has too much to do";
    default: return "it failed";
    }
}

/* ------------------------------------------------------------------ out */

static char *grow(struct zk_out *out, size_t more) {
    if (out->is_short) return NULL;
    if (out->length + more > out->room) {
        size_t room = out->room ? 2 * out->room : 4096;
        while (room < out->length + more)
            room *= 2;
        char *grown = realloc(out->at, room);
        out->is_short = !grown;
        if (!grown) return NULL;
        out->at = grown;
        out->room = room;
    }
    char *at = out->at + out->length;
    out->length += more;
    return at;
}

static void write_int(char *at, int32_t value) {
    for (int i = 0; i < 4; i++)
        at[i] = (char)((uint32_t)value >> (24 - 8 * i));
}

void vs_zk_put_int(struct zk_out *out, int32_t value) {
    char *at = grow(out, 4);
    if (at) write_int(at, value);
}

void vs_zk_put_long(struct zk_out *out, int64_t value) {
    vs_zk_put_int(out, (int32_t)((uint64_t)value >> 32));
    vs_zk_put_int(out, (int32_t)(uint64_t)value);
}

void vs_zk_put_bool(struct zk_out *out, bool value) {
    char *at = grow(out, 1);
    if (at) *at = value;
}

void vs_zk_put_bytes(struct zk_out *out, const void *bytes, size_t length) {
    vs_zk_put_int(out, (int32_t)length);
    char *at = grow(out, length);
    if (at && length) memcpy(at, bytes, length);
}

void vs_zk_put_text(struct zk_out *out, const char *text) {
    vs_zk_put_bytes(out, text, strlen(text));
}

static void begin_bare(struct zk_out *out) {
    out->frame = out->length;
    vs_zk_put_int(out, 0); /* its length, once it is known */
}

void vs_zk_begin_frame(struct zk_out *out, int32_t xid, int32_t type) {
    begin_bare(out);
    vs_zk_put_int(out, xid);
    vs_zk_put_int(out, type);
}

void vs_zk_end_frame(struct zk_out *out) {
    if (!out->is_short) write_int(out->at + out->frame, (int32_t)(out->length - out->frame - 4));
}

void vs_zk_put_hello(struct zk_out *out, int32_t session_ms) {
    static const char no_password[16];
    begin_bare(out);
    vs_zk_put_int(out, 0);  /* version */
    vs_zk_put_long(out, 0); /* the last transaction seen: a store that went back is to be met, and found out */
    vs_zk_put_int(out, session_ms);
    vs_zk_put_long(out, 0); /* no session */
    vs_zk_put_bytes(out, no_password, sizeof no_password);
    vs_zk_put_bool(out, false); /* not from a server that may only read */
    vs_zk_end_frame(out);
}

static void put_op(struct zk_out *out, int32_t type, bool is_end, int32_t err) {
    vs_zk_put_int(out, type);
    vs_zk_put_bool(out, is_end);
    vs_zk_put_int(out, err);
}

void vs_zk_op_check(struct zk_out *out, const char *path, int32_t version) {
    put_op(out, ZK_CHECK, false, -1);
    vs_zk_put_text(out, path);
    vs_zk_put_int(out, version);
}

/* All rights, to anyone or to whoever this connection has named itself. */
void vs_zk_op_create(struct zk_out *out, const char *path, const void *body, size_t length, bool for_anyone) {
    put_op(out, ZK_CREATE, false, -1);
    vs_zk_put_text(out, path);
    vs_zk_put_bytes(out, body, length);
    vs_zk_put_int(out, 1);
    vs_zk_put_int(out, 31);
    vs_zk_put_text(out, for_anyone ? "world" : "auth");
    vs_zk_put_text(out, for_anyone ? "anyone" : "");
    vs_zk_put_int(out, 0); /* persistent */
}

void vs_zk_op_set(struct zk_out *out, const char *path, const void *body, size_t length, int32_t version) {
    put_op(out, ZK_SET, false, -1);
    vs_zk_put_text(out, path);
    vs_zk_put_bytes(out, body, length);
    vs_zk_put_int(out, version);
}

void vs_zk_op_delete(struct zk_out *out, const char *path, int32_t version) {
    put_op(out, ZK_DELETE, false, -1);
    vs_zk_put_text(out, path);
    vs_zk_put_int(out, version);
}

void vs_zk_end_multi(struct zk_out *out) {
    put_op(out, -1, true, -1);
    vs_zk_end_frame(out);
}

/* ------------------------------------------------------------------ in */

static const char *take(struct zk_in *in, size_t length) {
    in->is_short |= length > in->left;
    if (in->is_short) return NULL;
    const char *at = in->at;
    in->at += length;
    in->left -= length;
    return at;
}

int32_t vs_zk_take_int(struct zk_in *in) {
    const unsigned char *at = (const unsigned char *)take(in, 4);
    uint32_t value = 0;
    for (int i = 0; at && i < 4; i++)
        value = value << 8 | at[i];
    return (int32_t)value;
}

int64_t vs_zk_take_long(struct zk_in *in) {
    uint64_t high = (uint32_t)vs_zk_take_int(in);
    return (int64_t)(high << 32 | (uint32_t)vs_zk_take_int(in));
}

bool vs_zk_take_bool(struct zk_in *in) {
    const char *at = take(in, 1);
    return at && *at;
}

const char *vs_zk_take_bytes(struct zk_in *in, size_t *length) {
    int32_t count = vs_zk_take_int(in);
    *length = 0;
    if (count <= 0) {
        in->is_short |= count < -1;
        return NULL;
    }
    const char *at = take(in, (size_t)count);
    if (at) *length = (size_t)count;
    return at;
}

void vs_zk_take_text(struct zk_in *in, char *buf, size_t size) {
    size_t length;
    const char *at = vs_zk_take_bytes(in, &length);
    in->is_short |= length >= size || (at && memchr(at, '\0', length));
    snprintf(buf, size, "%.*s", in->is_short ? 0 : (int)length, at ? at : "");
}

bool vs_zk_is_whole(const struct zk_in *in) {
    return !in->is_short && in->left == 0;
}

void vs_zk_take_stat(struct zk_in *in, struct zk_stat *stat) {
    stat->czxid = vs_zk_take_long(in);
    stat->mzxid = vs_zk_take_long(in);
    stat->ctime = vs_zk_take_long(in);
    stat->mtime = vs_zk_take_long(in);
    stat->version = vs_zk_take_int(in);
    (void)take(in, 4 + 4 + 8); /* versions of children and ACL, owner */
    stat->length = vs_zk_take_int(in);
    (void)take(in, 4 + 8); /* how many children, and their last change */
}

/* One operation's answer, after its head. */
static void take_result(struct zk_in *in, int32_t type, struct zk_multi *multi) {
    size_t length;
    if (type == ZK_CREATE) (void)vs_zk_take_bytes(in, &length);
    if (type == ZK_SET) vs_zk_take_stat(in, &multi->stat);
}

bool vs_zk_take_multi(struct zk_in *in, const int32_t *types, int count, struct zk_multi *multi) {
    assert(count <= VS_ZK_OPS_MAX);
    *multi = (struct zk_multi){.rc = ZK_OK};
    for (; multi->count < count; multi->count++) {
        int32_t type = vs_zk_take_int(in);
        bool is_end = vs_zk_take_bool(in);
        int32_t err = vs_zk_take_int(in);
        if (type == -1) err = vs_zk_take_int(in);
        if (in->is_short || is_end || (type != -1 && (type != types[multi->count] || err != ZK_OK))) return false;
        multi->each[multi->count] = err;
        if (multi->rc == ZK_OK && err != ZK_RUNTIME) multi->rc = err;
        if (type != -1) take_result(in, type, multi);
        if (type == -1 && err == ZK_OK && multi->count == count - 1 && multi->rc == ZK_OK)
            return false; /* none failed */
    }
    return vs_zk_take_int(in) == -1 && vs_zk_take_bool(in) && vs_zk_take_int(in) == -1 && vs_zk_is_whole(in);
}
