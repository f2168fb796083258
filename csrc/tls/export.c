/* export.c -- the module's exported symbols, which are the tables of its functions. */
#include "tls/inside.h"

VESTA_API extern const struct vs_tls vs_tls_module;
const struct vs_tls vs_tls_module = {
    .abi = VS_TLS_ABI,
    .server_open = vs_tls_server_open,
    .server_renew = vs_tls_server_renew,
    .server_facts = vs_tls_server_facts,
    .server_close = vs_tls_server_close,
    .accept = vs_tls_accept,
    .client_open = vs_tls_client_open,
    .client_close = vs_tls_client_close,
    .connect = vs_tls_connect,
    .shake = vs_tls_shake,
    .read = vs_tls_read,
    .write = vs_tls_write,
    .keeps_bytes = vs_tls_keeps_bytes,
    .is_reversed = vs_tls_is_reversed,
    .end = vs_tls_end,
    .free = vs_tls_free,
    .peer = vs_tls_peer,
    .why = vs_tls_why,
    .is_refused = vs_tls_is_refused,
};

VESTA_API extern const struct vs_aes vs_aes_module;
const struct vs_aes vs_aes_module = {
    .abi = VS_TLS_ABI, .key_open = vs_aes_key_open, .encrypt = vs_aes_encrypt, .key_close = vs_aes_key_close};
