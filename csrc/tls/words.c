/* words.c -- converts OpenSSL's errors to text, and reads the name in a certificate. */
#include "tls/inside.h"
#include "base/error.h"

#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

const char *vs_tls_words(const char *none, char buf[VS_TLS_WORDS_MAX]) {
    unsigned long code = ERR_peek_error();
    const char *reason = code ? ERR_reason_error_string(code) : NULL;
    if (!code)
        snprintf(buf, VS_TLS_WORDS_MAX, "%s", none);
    else if (ERR_SYSTEM_ERROR(code))
        snprintf(buf, VS_TLS_WORDS_MAX, "%s", strerror(ERR_GET_REASON(code)));
    else if (reason)
        snprintf(buf, VS_TLS_WORDS_MAX, "%s", reason);
    else
        snprintf(buf, VS_TLS_WORDS_MAX, "OpenSSL's error %lx", code);
    ERR_clear_error();
    return buf;
}

int vs_tls_fail_file(struct vesta_error *err, const char *path, const char *what) {
    char words[VS_TLS_WORDS_MAX];
    return vs_fail(err, VESTA_EOPTION, "%.300s: %s: %s", path, what, vs_tls_words("it is empty", words));
}

/* Copies a name, converted to UTF-8, because the same bytes can be a different name in another encoding.  Rejects a
 * name that contains a zero byte, because it would be read as a shorter name. */
static bool tls_words_take(const ASN1_STRING *text, char buf[VS_TLS_NAME_MAX]) {
    unsigned char *at = NULL;
    int length = ASN1_STRING_to_UTF8(&at, text);
    bool is_name = length >= 1 && length < VS_TLS_NAME_MAX && !memchr(at, '\0', (size_t)length);
    if (is_name) snprintf(buf, VS_TLS_NAME_MAX, "%.*s", length, (const char *)at);
    OPENSSL_free(at);
    return is_name;
}

static bool take_dns(const X509 *certificate, char buf[VS_TLS_NAME_MAX]) {
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    bool found = false;
    for (int i = 0; !found && i < sk_GENERAL_NAME_num(names); i++) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);
        found = name->type == GEN_DNS && tls_words_take(name->d.dNSName, buf);
    }
    GENERAL_NAMES_free(names);
    return found;
}

const char *vs_tls_name_of(const X509 *certificate, char buf[VS_TLS_NAME_MAX]) {
    const X509_NAME *subject = X509_get_subject_name(certificate);
    int at = X509_NAME_get_index_by_NID((X509_NAME *)subject, NID_commonName, -1);
    if (at >= 0) return tls_words_take(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)), buf) ? buf : NULL;
    return take_dns(certificate, buf) ? buf : NULL;
}

int64_t vs_tls_unix_s(const ASN1_TIME *time) {
    struct tm at;
    return ASN1_TIME_to_tm(time, &at) == 1 ? (int64_t)timegm(&at) : 0;
}
