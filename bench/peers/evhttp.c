/* evhttp.c PORT -- libevent's HTTP server with a constant reply. */
#include "constant.h"

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <string.h>

static void answer(struct evhttp_request *req, void *arg) {
    struct evbuffer *body = evbuffer_new();
    (void)arg;
    evbuffer_add_reference(body, BODY, strlen(BODY), NULL, NULL);
    evhttp_add_header(evhttp_request_get_output_headers(req), "Content-Type", "text/plain");
    evhttp_send_reply(req, 200, "OK", body);
    evbuffer_free(body);
}

int main(int argc, char **argv) {
    struct event_base *base = event_base_new();
    struct evhttp *http = evhttp_new(base);
    if (argc != 2 || evhttp_accept_socket(http, listening(argv[1])) != 0) return 1;
    evhttp_set_gencb(http, answer, NULL);
    return event_base_dispatch(base);
}
