/* aes.c -- AES by OpenSSL's EVP, which uses the CPU's AES instructions.  See aes.h. */
#include "tls/inside.h"

#include <assert.h>
#include <openssl/evp.h>

/* ECB encrypts each block on its own.  FF1 combines the blocks itself. */
static const EVP_CIPHER *aes_cipher(size_t length) {
    return length == 16 ? EVP_aes_128_ecb() : length == 24 ? EVP_aes_192_ecb() : EVP_aes_256_ecb();
}

struct vs_aes_key *vs_aes_key_open(const uint8_t *bytes, size_t length) {
    assert(length == 16 || length == 24 || length == 32);
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    if (ctx && EVP_EncryptInit_ex(ctx, aes_cipher(length), NULL, bytes, NULL) == 1 &&
        EVP_CIPHER_CTX_set_padding(ctx, 0) == 1)
        return (struct vs_aes_key *)ctx;
    EVP_CIPHER_CTX_free(ctx);
    return NULL;
}

void vs_aes_encrypt(struct vs_aes_key *key, uint8_t *blocks, size_t count) {
    int written, length = (int)(count * VS_AES_BLOCK);
    int rc = EVP_EncryptUpdate((EVP_CIPHER_CTX *)key, blocks, &written, blocks, length);
    assert(rc == 1 && written == length); /* whole blocks with a prepared key never fail */
    (void)rc;
}

void vs_aes_key_close(struct vs_aes_key *key) {
    EVP_CIPHER_CTX_free((EVP_CIPHER_CTX *)key);
}
