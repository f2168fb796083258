/* health.c -- `vesta health`: asks a running server how it is, for images that have no curl.  Knows two routes. */
#include "main/cli.h"
#include "command/options.h"
#include "os/address.h"
#include "os/thread.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ADDRESS_DEFAULT "127.0.0.1:8088"
#define REPLY_MAX 8192 /* more of what it says is not shown */
#define WAIT_MS_MAX 60000

/* Sends the request and reads until the server closes, `reply` is full or the time is over; a recv ends with the
 * patience of the connection.  False: not a byte came. */
static bool ask(int fd, const char *path, int64_t end_us, char reply[REPLY_MAX]) {
    char request[128];
    size_t got = 0;
    int length =
        snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: health\r\nConnection: close\r\n\r\n", path);
    if (send(fd, request, (size_t)length, MSG_NOSIGNAL) != length) return false;
    while (got + 1 < REPLY_MAX && vs_monotonic_us() < end_us) {
        ssize_t more = recv(fd, reply + got, REPLY_MAX - 1 - got, 0);
        if (more <= 0) break;
        got += (size_t)more;
    }
    reply[got] = '\0';
    return got > 0;
}

/* What the server said, on stdout, whatever it was; a foreign server may say anything. */
static int tell(const char *address, const char *path, char *reply) {
    char *body = strstr(reply, "\r\n\r\n");
    if (strncmp(reply, "HTTP/1.1 ", 9) != 0) {
        vs_say("%s does not speak HTTP: it says %s", address, vs_shown(reply, strcspn(reply, "\r\n")));
        return VS_FAILED;
    }
    if (body) {
        size_t length = strlen(body);
        if (body[length - 1] == '\n') body[length - 1] = '\0';
        vs_out_clean(body + 4);
        vs_outf("\n");
    }
    if (strncmp(reply + 9, "200 ", 4) == 0) return VS_DONE;
    vs_say("%s answers %s on %s", address, vs_shown(reply + 9, strcspn(reply + 9, "\r\n")), path);
    return VS_FAILED;
}

static int run(int argc, char **argv) {
    int ready = 0;
    uint64_t wait_ms = 1000;
    const struct vs_option table[] = {
        VS_SWITCH("ready", &ready,
                  "asks whether every namespace gives ids (/readyz), not only whether it turns (/healthz)"),
        {"wait-ms", 0, VS_OPT_COUNT, &wait_ms, "N", "how long to wait for its answer (default: 1000)", 1, WAIT_MS_MAX,
         NULL},
        {NULL, 0, VS_OPT_SWITCH, NULL, NULL, NULL, 0, 0, NULL}};
    char reply[REPLY_MAX];
    struct vesta_error err;
    int rc = vs_options(table, &argc, argv);
    if (rc != VS_GO) return rc;
    if (argc > 1) return vs_usage("one address at most, not %s as well", vs_shown_text(argv[1]));
    const char *address = argc ? argv[0] : ADDRESS_DEFAULT, *path = ready ? "/readyz" : "/healthz";
    if (vs_address_check(address, &err) != VESTA_OK) return vs_usage("%s", err.text);
    int64_t end_us = vs_monotonic_us() + (int64_t)wait_ms * 1000;
    int fd = vs_connect(address, (int)wait_ms, &err);
    if (fd < 0) return vs_say("%s", err.text), vs_out_end(VS_FAILED);
    bool heard = ask(fd, path, end_us, reply);
    close(fd);
    if (heard) return vs_out_end(tell(address, path, reply));
    vs_say("%s did not answer within %d ms: if vesta serve listens there, it hangs", address, (int)wait_ms);
    return vs_out_end(VS_FAILED);
}

const struct vs_command vs_health_command = {
    "health", run, "ask a running server whether it is well, or ready", "health [ADDRESS] [--ready]",
    "Asks a server over HTTP whether it is well, prints what it says, and ends with 0 if it is, otherwise with 1:\n"
    "the health check of a container that has no curl.  ADDRESS is HOST:PORT or unix:PATH (default: " ADDRESS_DEFAULT
    ").\n"
    "\n"
    "  $ vesta health\n"
    "  ok\n"
    "  $ vesta health --ready unix:/run/vesta/http.sock\n"
    "  {\"status\":\"ready\",\"warnings\":[]}\n"};
