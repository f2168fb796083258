/* clients.c -- clients and their connections as JSON. */
#include "server/monitor/clients.h"
#include "server/commands.h"

#include <stdlib.h>

#define CLIENT_BYTES_MAX 768
#define CONNECTION_BYTES_MAX 640
_Static_assert(VS_COUNTED_MAX *CLIENT_BYTES_MAX + VS_CONNECTIONS_SHOWN_MAX * CONNECTION_BYTES_MAX + 1024 <=
                   VS_REPLY_MAX,
               "both fit a reply");

static void put_share(struct vs_out *out, struct vs_server *server, const char *name) {
    struct ledger_client share;
    if (!ledger_seen(server->ledger, name, &share)) return;
    vs_json_open(out, "share", '{');
    vs_json_uint(out, "rate", share.ids);
    vs_json_uint(out, "requests", share.requests);
    vs_json_uint(out, "weight", share.weight);
    vs_json_uint(out, "held", share.counts.held);
    vs_json_uint(out, "refused", share.counts.refused);
    vs_put(out, "}", 1);
}

static void put_client(struct vs_out *out, struct vs_server *server, int client, const char *name) {
    const vs_count *counts = server->monitor.counts[0]->of_client[client];
    struct vs_peer peer;
    char address[VS_PEER_TEXT_MAX];
    int64_t last_unix_ms = vs_roster_last(server, client, &peer);
    vs_json_open(out, NULL, '{');
    vs_json_text(out, "name", name);
    vs_json_uint(out, "connections", vs_total(&server->monitor, &counts[VS_CLIENT_OPEN]));
    vs_json_uint(out, "requests", vs_total(&server->monitor, &counts[VS_CLIENT_ANSWERED]));
    vs_json_uint(out, "ids", vs_total(&server->monitor, &counts[VS_CLIENT_IDS]));
    vs_json_open(out, "refused", '{');
    vs_json_uint(out, "request", vs_total(&server->monitor, &counts[VS_CLIENT_REFUSED_REQUEST]));
    vs_json_uint(out, "rights", vs_total(&server->monitor, &counts[VS_CLIENT_REFUSED_RIGHTS]));
    vs_json_uint(out, "rate", vs_total(&server->monitor, &counts[VS_CLIENT_REFUSED_RATE]));
    vs_json_uint(out, "pause", vs_total(&server->monitor, &counts[VS_CLIENT_REFUSED_PAUSE]));
    vs_put(out, "}", 1);
    if (client != 0) put_share(out, server, name);
    if (last_unix_ms) {
        vs_json_text(out, "last_address", vs_peer_host(&peer, address));
        vs_json_int(out, "last_unix_ms", last_unix_ms);
    }
    vs_put(out, "}", 1);
}

void vs_put_clients(struct vs_out *out, struct vs_server *server) {
    const char *name;
    bool has_names = server->gate && vs_gate_now(server->gate);
    vs_json_open(out, "clients", '[');
    for (int i = 0; has_names && i < VS_COUNTED_MAX && (name = vs_gate_counted(server->gate, i)); i++)
        put_client(out, server, i, name);
    if (!has_names) put_client(out, server, 0, VS_ACCOUNT_DEFAULT);
    vs_put(out, "]", 1);
}

static void put_connection(struct vs_out *out, const struct roster_seen *seen) {
    char text[VS_PEER_TEXT_MAX], last[VS_CALL_NAME_MAX];
    vs_json_open(out, NULL, '{');
    vs_json_uint(out, "id", seen->id);
    vs_json_text(out, "client", seen->client);
    if (*seen->name) vs_json_text(out, "name", seen->name);
    vs_json_text(out, "proto", vs_protocol_name[seen->protocol]);
    vs_json_text(out, "address", vs_peer_text(&seen->peer, text));
    vs_json_text(out, "to", vs_peer_text(&seen->own, text));
    vs_json_int(out, "loop", seen->loop);
    vs_json_int(out, "age_ms", seen->age_us / 1000);
    vs_json_int(out, "idle_ms", seen->idle_ms);
    vs_json_bool(out, "waits", seen->waits);
    vs_json_uint(out, "requests", seen->requests);
    vs_json_uint(out, "refused", seen->refused);
    vs_json_uint(out, "ids", seen->ids);
    vs_json_uint(out, "memory", seen->memory);
    if (seen->call && seen->protocol == VS_RESP)
        vs_call_lower(seen->call->name, last), vs_json_text(out, "last", last);
    else if (seen->call)
        vs_json_text(out, "last", seen->call->route);
    vs_put(out, "}", 1);
}

static int by_ids(const void *a, const void *b) {
    const struct roster_seen *x = a, *y = b;
    if (x->ids != y->ids) return x->ids < y->ids ? 1 : -1;
    return x->id < y->id ? -1 : x->id > y->id;
}

bool vs_put_connections(struct vs_out *out, struct vs_server *server, const struct vs_wanted *wanted, size_t n,
                        bool is_by_ids) {
    size_t count;
    struct roster_seen *seen = vs_roster_look(server, wanted, is_by_ids ? 0 : n + 1, &count);
    if (!seen) return false;
    if (is_by_ids) qsort(seen, count, sizeof *seen, by_ids);
    vs_json_open(out, "connections", '[');
    for (size_t i = 0; i < count && i < n; i++)
        put_connection(out, &seen[i]);
    vs_put(out, "]", 1);
    if (!is_by_ids && count > n) vs_json_uint(out, "next", seen[n - 1].id);
    free(seen);
    return true;
}
