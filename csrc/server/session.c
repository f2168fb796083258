/* session.c -- handlers for what Redis clients ask of any server when they connect.  Knows no id. */
#include "server/request.h"

#include <stdio.h>
#include <string.h>

#define REDIS_VERSION "7.0.0" /* clients read a version from it; ours stands in INFO's vesta_version */

enum vs_outcome vs_on_ping(struct vs_request *r) {
    if (r->args->count)
        vs_resp_bulk(r->out, r->args->at[0].at, r->args->at[0].length);
    else
        vs_resp_simple(r->out, "PONG");
    return VS_ANSWERED;
}

enum vs_outcome vs_on_echo(struct vs_request *r) {
    vs_resp_bulk(r->out, r->args->at[0].at, r->args->at[0].length);
    return VS_ANSWERED;
}

enum vs_outcome vs_on_quit(struct vs_request *r) {
    vs_resp_simple(r->out, "OK");
    return VS_QUIT;
}

enum vs_outcome vs_on_select(struct vs_request *r) {
    uint64_t index;
    struct vs_word text = r->args->at[0];
    if (vesta_parse(VESTA_DECIMAL, text.at, text.length, &index) != VESTA_OK || index > 15)
        return vs_refuse(r, "bad_field", "DB index is out of range");
    vs_resp_simple(r->out, "OK");
    return VS_ANSWERED;
}

static enum vs_outcome set_name(struct vs_request *r, struct vs_word name) {
    char *to = r->session->name;
    if (name.length >= VS_CLIENT_NAME_MAX)
        return vs_refuse(r, "bad_field", "a client name has at most %d bytes", VS_CLIENT_NAME_MAX - 1);
    for (size_t i = 0; i < name.length; i++)
        if (name.at[i] <= ' ' || name.at[i] > '~')
            return vs_refuse(r, "bad_field", "Client names cannot contain spaces, newlines or special characters.");
    memcpy(to, name.at, name.length);
    to[name.length] = '\0';
    vs_resp_simple(r->out, "OK");
    return VS_ANSWERED;
}

enum vs_outcome vs_on_client(struct vs_request *r) {
    struct vs_word what = r->args->at[0];
    int count = r->args->count;
    if (count == 2 && vs_word_is_case(what, "SETNAME")) return set_name(r, r->args->at[1]);
    if (count == 3 && vs_word_is_case(what, "SETINFO"))
        vs_resp_simple(r->out, "OK");
    else if (count == 1 && vs_word_is_case(what, "ID"))
        vs_resp_int(r->out, r->session->id);
    else if (count == 1 && vs_word_is_case(what, "GETNAME") && !*r->session->name)
        vs_resp_null(r->out);
    else if (count == 1 && vs_word_is_case(what, "GETNAME"))
        vs_resp_bulk(r->out, r->session->name, strlen(r->session->name));
    else
        return vs_refuse(r, "bad_command", "unknown subcommand or wrong number of arguments for '%s': %s",
                         VS_QUOTE(what.at, what.length), r->call->help);
    return VS_ANSWERED;
}

/* redis-cli asks for DOCS to help while typing, and is content with none. */
enum vs_outcome vs_on_command(struct vs_request *r) {
    size_t count = 0;
    for (int i = 0; vs_call_at(i); i++)
        count += vs_call_at(i)->name != NULL;
    if (r->args->count == 1 && vs_word_is_case(r->args->at[0], "COUNT"))
        vs_resp_int(r->out, count);
    else
        vs_resp_array(r->out, 0);
    return VS_ANSWERED;
}

/* redis-benchmark wants two elements for whatever it asks. */
enum vs_outcome vs_on_config(struct vs_request *r) {
    if (!vs_word_is_case(r->args->at[0], "GET")) return vs_refuse(r, "bad_command", "only CONFIG GET is answered");
    vs_resp_array(r->out, 2);
    vs_resp_bulk(r->out, r->args->at[1].at, r->args->at[1].length);
    vs_resp_bulk(r->out, "", 0);
    return VS_ANSWERED;
}

enum vs_outcome vs_on_info(struct vs_request *r) {
    struct vs_app *app = r->session->app;
    char text[512];
    int64_t up_us = app->clock->boot_us(app->clock->self) - app->started_us;
    int n =
        snprintf(text, sizeof text,
                 "# Server\r\nredis_version:" REDIS_VERSION "\r\nredis_mode:standalone\r\nvesta_version:" VESTA_VERSION
                 "\r\nvesta_namespace:%s\r\nuptime_in_seconds:%lld\r\n# Clients\r\nconnected_clients:%d\r\n"
                 "# Persistence\r\nloading:0\r\n# Replication\r\nrole:master\r\n",
                 app->space[0].name, (long long)(up_us / 1000000), atomic_load(&app->connections));
    vs_resp_bulk(r->out, text, (size_t)n);
    return VS_ANSWERED;
}

static void put_word(struct vs_out *out, const char *word) {
    vs_resp_bulk(out, word, strlen(word));
}

enum vs_outcome vs_on_hello(struct vs_request *r) {
    if (r->args->count && !vs_word_is(r->args->at[0], "2"))
        return vs_refuse(r, "bad_protocol", "unsupported protocol version");
    vs_resp_array(r->out, 14);
    put_word(r->out, "server"), put_word(r->out, "redis"); /* clients check for it */
    put_word(r->out, "version"), put_word(r->out, REDIS_VERSION);
    put_word(r->out, "proto"), vs_resp_int(r->out, 2);
    put_word(r->out, "id"), vs_resp_int(r->out, r->session->id);
    put_word(r->out, "mode"), put_word(r->out, "standalone");
    put_word(r->out, "role"), put_word(r->out, "master");
    put_word(r->out, "modules"), vs_resp_array(r->out, 0);
    return VS_ANSWERED;
}

enum vs_outcome vs_on_no_store(struct vs_request *r) {
    return vs_refuse(r, "bad_command", "vesta does not store data");
}
