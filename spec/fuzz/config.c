/* config.c -- reads any bytes as a config: it is rejected with a one-line error, or follows the schema. */
#include "fuzz.h"
#include "config/config.h"

#include <netdb.h>
#include <sys/mman.h>
#include <unistd.h>

/* Host names must not be looked up in the network. */
int __real_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **found);
int __wrap_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **found);
int __wrap_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **found) {
    struct addrinfo numeric = *hints;
    numeric.ai_flags |= AI_NUMERICHOST;
    return __real_getaddrinfo(host, port, &numeric, found);
}

static void check_line(const char *text) {
    MUST(strlen(text) > 3);
    for (; *text; text++)
        MUST((unsigned char)*text >= ' ' && *text != 0x7f);
}

static void check_value(void *self, const struct vs_conf_value *value) {
    (void)self;
    check_line(value->path);
    MUST(value->text || value->absent);
    if (value->text && !value->is_bare) MUST(*value->text);
}

static void check_config(const struct vs_config *config) {
    char names[64];
    MUST(config->threads >= 1 && config->threads <= 64);
    MUST(config->ns_count + config->segment_count > 0);
    for (int i = 0; i < config->ns_count; i++) {
        const struct vs_conf_namespace *ns = &config->ns[i];
        struct vesta_layout layout;
        MUST(*ns->name && strlen(ns->name) < VESTA_NAMESPACE_MAX);
        MUST(!ns->opts.layout || vesta_layout_parse(ns->opts.layout, &layout, NULL) == VESTA_OK);
        MUST(ns->wait_ms_max >= -1 && ns->wait_ms_max <= 60000 && ns->opts.ahead_ms_max >= -1);
    }
    for (int i = 0; i < config->notes.count; i++)
        check_line(config->notes.text[i]);
    for (int i = 0; i < config->segment_count; i++) {
        const struct vs_conf_segment *segment = &config->segment[i];
        MUST(segment->uri_count >= 1 && segment->uri_count <= VS_CONF_SEGMENT_STORES_MAX);
        MUST(segment->step >= 0 && segment->step_max >= 0 && segment->wait_ms_max >= -1);
        for (int j = 0; j < segment->uri_count; j++)
            MUST(segment->uri[j] && *segment->uri[j]);
    }
    MUST(vs_config_each(config, check_value, NULL) == VESTA_OK);
    MUST(vs_config_differences(config, config, names, sizeof names) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static int fd = -1;
    char path[32];
    if (fd < 0) fd = memfd_create("config", MFD_CLOEXEC);
    MUST(fd >= 0 && ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    struct vs_config *config = NULL;
    struct vesta_error err = {0};
    int rc = vs_config_read(&(struct vs_conf_opts){.path = path}, &config, &err);
    if (rc == VESTA_OK) {
        check_config(config);
    } else {
        MUST(!config && err.code == rc && strlen(err.text) < sizeof err.text);
        check_line(err.text);
    }
    vs_config_free(config);
    return 0;
}
