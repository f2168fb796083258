/* clients.c -- the config's file of clients, read at the start and again on HUP. */
#include "access/gate.h"
#include "command/options.h"
#include "os/thread.h"
#include "serve/serving.h"

int vs_clients_open(struct vs_serving *serving) {
    const struct vs_config *config = serving->config;
    serving->server.gate = vs_gate_new();
    if (!serving->server.gate) return vs_say("no memory for clients"), VS_FAILED;
    if (!serving->config->clients) return VS_GO;
    vs_gate_set(serving->server.gate, vs_accounts_hold(config->clients));
    vs_log(VS_LOG_INFO, "clients must authenticate", "clients", VS_DIGITS(serving->config->clients->count), "file",
           serving->config->clients_file, NULL);
    return VS_GO;
}

static bool clients_has_secret(const struct vs_account *account, const struct vs_secret *secret) {
    for (int i = 0; i < account->secret_count; i++)
        if (vs_secret_is(&account->secret[i], secret)) return true;
    return false;
}

/* Logs which clients and secrets were removed, because their connections lose their rights. */
static void tell_lost(const struct vs_accounts *was, const struct vs_accounts *now) {
    for (int i = 0; i < was->count; i++) {
        const struct vs_account *old = &was->at[i];
        const struct vs_account *a = vs_account_named(now, (struct vs_slice){old->name, strlen(old->name)});
        if (!a)
            vs_log(VS_LOG_WARN, "a client was removed: its connections have no rights any more", "client", old->name,
                   NULL);
        for (int s = 0; a && s < old->secret_count; s++)
            if (!clients_has_secret(a, &old->secret[s]))
                vs_log(VS_LOG_WARN, "a secret was removed: connections that used it have no rights any more", "client",
                       a->name, NULL);
    }
}

static void tell_unprovable(const struct vs_accounts *now) {
    for (int i = 0; i < now->count; i++)
        if (now->at[i].by_certificate)
            vs_log(VS_LOG_WARN, "a client needs a certificate, but the server does not request certificates", "client",
                   now->at[i].name, "do", "set tls.client_certificates, or run vesta client rotate", NULL);
}

void vs_clients_reload(struct vs_serving *serving) {
    struct vs_accounts *now, *was = vs_gate_hold(serving->server.gate);
    struct vesta_error err;
    const char *others = NULL;
    const char *path = serving->config->clients_file;
    if (vs_accounts_read(path, &now, &others, &err) != VESTA_OK) {
        vs_log(VS_LOG_ERROR, "the file of clients cannot be reloaded: the previous clients stay in use", "error",
               err.text, NULL);
    } else {
        ledger_set(serving->server.ledger, now, vs_monotonic_us());
        vs_gate_set(serving->server.gate, now); /* before logging, so that the log's statement is true */
        tell_lost(was, now);
        if (!serving->config->tls_client_certificates) tell_unprovable(now);
        if (others)
            vs_log(VS_LOG_WARN, "other users may access the file of clients", "file", path, "access", others, "do",
                   "chmod o= on it", NULL);
        vs_log(VS_LOG_INFO, "the file of clients was reloaded", "clients", VS_DIGITS(now->count), NULL);
    }
    vs_accounts_let(was);
}
