/* h2o.c PORT -- libh2o on its own event loop, with a constant reply. */
#include "constant.h"

#define H2O_USE_LIBUV 0
#include <h2o.h>

static h2o_globalconf_t config;
static h2o_context_t context;
static h2o_accept_ctx_t accepting = {.ctx = &context};

static int answer(h2o_handler_t *self, h2o_req_t *req) {
    static h2o_generator_t whole;
    h2o_iovec_t body = h2o_iovec_init(H2O_STRLIT(BODY));
    (void)self;
    req->res.status = 200;
    req->res.reason = "OK";
    req->res.content_length = body.len;
    h2o_add_header(&req->pool, &req->res.headers, H2O_TOKEN_CONTENT_TYPE, NULL, H2O_STRLIT("text/plain"));
    h2o_start_response(req, &whole);
    h2o_send(req, &body, 1, H2O_SEND_STATE_FINAL);
    return 0;
}

static void on_accept(h2o_socket_t *listener, const char *err) {
    h2o_socket_t *sock;
    while (!err && (sock = h2o_evloop_socket_accept(listener)))
        h2o_accept(&accepting, sock);
}

int main(int argc, char **argv) {
    if (argc != 2) return 1;
    h2o_config_init(&config);
    h2o_hostconf_t *host = h2o_config_register_host(&config, h2o_iovec_init(H2O_STRLIT("default")), 65535);
    h2o_create_handler(h2o_config_register_path(host, "/", 0), sizeof(h2o_handler_t))->on_req = answer;
    h2o_context_init(&context, h2o_evloop_create(), &config);
    accepting.hosts = config.hosts;
    h2o_socket_read_start(h2o_evloop_socket_create(context.loop, listening(argv[1]), H2O_SOCKET_FLAG_DONT_READ), on_accept);
    while (h2o_evloop_run(context.loop, INT32_MAX) == 0)
        ;
    return 0;
}
