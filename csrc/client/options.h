/* options.h -- a client's options, checked and copied.  They do not change afterwards. */
#ifndef VS_CLIENT_OPTIONS_H
#define VS_CLIENT_OPTIONS_H

#include "store/place.h"
#include "vesta_client.h"

#include <stdbool.h>

#define VS_CLIENT_PATH_MAX 1024

/* Credentials for servers without credentials in their address, and the trusted certificates.  "" means not set. */
struct vs_client_access {
    char user[256], password[VS_PLACE_SECRET_MAX], secret_file[VS_CLIENT_PATH_MAX];
    char tls_ca[VS_CLIENT_PATH_MAX], tls_certificate[VS_CLIENT_PATH_MAX], tls_key[VS_CLIENT_PATH_MAX];
    bool tls_unverified;
};

struct vs_setup {
    struct vs_place server[VESTA_SERVERS_MAX];
    int server_count;
    char name[VESTA_NAMESPACE_MAX];
    struct vs_client_access access;
    struct vesta_gen *fallback;
    uint64_t block_min, block_max;
    int64_t ttl_us, timeout_us;
};

/* Checks and copies the options.  Errors: VESTA_EOPTION. */
int vs_setup_read(const struct vesta_client_opts *opts, struct vs_setup *out, struct vesta_error *err);

#endif
