/* machine.c -- the clock, limits and addresses of this machine, as far as a server needs them. */
#include "os/address.h"
#include "main/doctor/doctor.h"
#include "serve/serving.h"
#include "os/clock.h"
#include "os/process.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define STEP_ERROR_US 1000000 /* a clock that may be wrong by more is as good as not kept */

void vs_doctor_clock(struct vs_doctor *doctor) {
    char iso[VESTA_ISO_MAX];
    int64_t error_us = 0;
    vs_iso(vs_now_ms(), iso);
    switch (vs_clock_in_step(&error_us)) {
    case 1:
        vs_doctor_found(doctor, error_us > STEP_ERROR_US ? VS_WARN : VS_FINE, "clock",
                        error_us > STEP_ERROR_US ? "check what sets it: `timedatectl`, `chronyc tracking`" : NULL,
                        "%s, synchronized to a time source, off by %" PRId64 " ms at most", iso, error_us / 1000);
        break;
    case 0:
        vs_doctor_found(doctor, VS_WARN, "clock",
                        "run chrony or systemd-timesyncd; when a clock is set back, requests wait",
                        "%s, and according to the kernel nothing synchronizes it", iso);
        break;
    default:
        vs_doctor_found(doctor, VS_WARN, "clock", NULL, "%s; the kernel does not say whether it is synchronized", iso);
    }
}

/* Of a server with this config, once its log and its addresses are open. */
static struct vs_plan plan_of(const struct vs_config *config) {
    struct vs_process_usage usage = {.open_fds = 3};
    struct vs_plan plan = {
        .threads = (int)config->threads,
        .namespaces = config->ns_count,
        .listeners = {
            [VS_RESP] = config->resp.count, [VS_HTTP] = config->http.count, [VS_ADMIN] = config->admin.count}};
    struct vs_crews crews;
    if (vs_crews_make(&crews, config)) plan.keepers = vs_crews_keepers(&crews);
    vs_crews_free(&crews);
    vs_process_measure(&usage);
    plan.open = (int)usage.open_fds + 1; /* the log */
    for (int protocol = 0; protocol < VS_PROTOCOLS; protocol++)
        plan.open += plan.listeners[protocol];
    return plan;
}

void vs_doctor_limits(struct vs_doctor *doctor) {
    struct vs_limits limits = vs_limits_of(doctor->config);
    struct vs_plan plan = plan_of(doctor->config);
    struct vesta_error err;
    if (vs_limits_fit(&limits, &plan, &err) != VESTA_OK)
        vs_doctor_found(doctor, VS_SICK, "files", NULL, "%s", err.text);
    else if (limits.cut_from)
        vs_doctor_found(doctor, VS_WARN, "files", VS_RAISE_DESCRIPTORS " or lower connections_max",
                        "%d file descriptors, %d of them reserved for stores, keepers and the log: room for %d "
                        "connections, not for the %d configured",
                        limits.descriptors, limits.reserved, limits.connections_max, limits.cut_from);
    else
        vs_doctor_found(
            doctor, VS_FINE, "files", NULL,
            "%d file descriptors, %d of them reserved for stores, keepers and the log: room for %d connections",
            limits.descriptors, limits.reserved, limits.connections_max);
}

/* ------------------------------------------------------------------ addresses */

/* Whether what listens there speaks the protocol. */
static bool answers(const char *address, bool is_resp) {
    static const char http[] = "GET /healthz HTTP/1.1\r\nHost: doctor\r\nConnection: close\r\n\r\n",
                      resp[] = "PING\r\n";
    const char *say = is_resp ? resp : http;
    char got[64] = "";
    int fd = vs_connect(address, 1000, NULL);
    if (fd < 0) return false;
    bool said = send(fd, say, strlen(say), MSG_NOSIGNAL) > 0 && recv(fd, got, sizeof got - 1, 0) > 0;
    close(fd);
    return said && (is_resp ? strncmp(got, "+PONG", 5) == 0 || strncmp(got, "-NOAUTH", 7) == 0
                            : strncmp(got, "HTTP/1.1 200 ", 13) == 0);
}

static void look_at_address(struct vs_doctor *doctor, const char *what, const char *address) {
    struct vesta_error err;
    int fd = -1, local = vs_address_is_local(address, &err);
    const char *reach = local == 1 ? "" : ", and other machines can reach it";
    if (local < 0)
        vs_doctor_found(doctor, VS_SICK, what, NULL, "%s", err.text);
    else if (answers(address, strcmp(what, "resp") == 0))
        vs_doctor_found(doctor, VS_FINE, what, NULL, "%s answers%s", address, reach);
    else if (vs_listen(address, 0600, &fd, &err) == VESTA_OK)
        vs_doctor_found(doctor, VS_FINE, what, NULL, "%s is free%s", address, reach);
    else
        vs_doctor_found(doctor, VS_SICK, what, NULL, "%s", err.text);
    vs_unlisten(address, fd);
}

void vs_doctor_addresses(struct vs_doctor *doctor) {
    const struct vs_config *config = doctor->config;
    const struct {
        const char *what;
        const struct vs_conf_list *list;
    } protocols[] = {{"http", &config->http}, {"resp", &config->resp}, {"admin", &config->admin}};
    for (int protocol = 0; protocol < 3; protocol++)
        for (int i = 0; i < protocols[protocol].list->count; i++)
            look_at_address(doctor, protocols[protocol].what, protocols[protocol].list->text[i]);
}
