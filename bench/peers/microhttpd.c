/* microhttpd.c PORT -- GNU libmicrohttpd, one thread on epoll, with a constant reply. */
#include "constant.h"

#include <microhttpd.h>
#include <string.h>
#include <unistd.h>

static enum MHD_Result answer_microhttpd(void *same, struct MHD_Connection *connection, const char *url,
                                         const char *method, const char *version, const char *body, size_t *length,
                                         void **state) {
    static int begun;
    (void)url, (void)method, (void)version, (void)body, (void)length;
    if (!*state) { /* This is the head. The reply is sent when the request is complete. */
        *state = &begun;
        return MHD_YES;
    }
    return MHD_queue_response(connection, MHD_HTTP_OK, same);
}

int main(int argc, char **argv) {
    struct MHD_Response *same = MHD_create_response_from_buffer(strlen(BODY), (void *)BODY, MHD_RESPMEM_PERSISTENT);
    if (argc != 2 || !same || MHD_add_response_header(same, "Content-Type", "text/plain") != MHD_YES) return 1;
    if (!MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_TURBO, 0, NULL, NULL, answer_microhttpd, same,
                          MHD_OPTION_LISTEN_SOCKET, listening(argv[1]), MHD_OPTION_CONNECTION_LIMIT, 5000u, MHD_OPTION_END))
        return 1;
    for (;;)
        pause();
}
