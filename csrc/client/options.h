/* options.h -- what a client was told, checked and copied: never written again. */
#ifndef VS_CLIENT_OPTIONS_H
#define VS_CLIENT_OPTIONS_H

#include "vesta_client.h"

#include <stdbool.h>

struct vs_setup {
    char server[VESTA_SERVERS_MAX][VESTA_ADDRESS_MAX];
    int server_count;
    char name[VESTA_NAMESPACE_MAX];
    char password[512];
    struct vesta_gen *fallback;
    uint64_t block_min, block_max;
    int64_t ttl_us, timeout_us;
};

/* Errors: VESTA_EOPTION. */
int vs_setup_read(const struct vesta_client_opts *opts, struct vs_setup *out, struct vesta_error *err);

#endif
