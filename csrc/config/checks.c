/* checks.c -- what a text of the config must look like, kind by kind.  Pure, but for the data of time zones. */
#include "config/checks.h"
#include "base/error.h"
#include "id/id.h"
#include "keeper/options.h"
#include "lease/lease.h"
#include "number/form.h"
#include "os/address.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

#define HOST_BYTES_MAX 253 /* of a name in the DNS; an origin that is longer fits no reply's head */

int vs_conf_check_layout(const char *text, struct vesta_error *err) {
    struct vesta_layout layout;
    struct vesta_error why;
    if (vesta_layout_parse(text, &layout, &why) == VESTA_OK) return VESTA_OK;
    return vs_fail(err, VESTA_EOPTION, "is a %.300s", why.text);
}

/* A service's folder is not the one its author had in mind. */
int vs_conf_check_path(const char *text, struct vesta_error *err) {
    size_t length = strlen(text);
    if (text[0] == '/' && text[length - 1] != '/') return VESTA_OK;
    return vs_fail(err, VESTA_EOPTION, "is '%s', which must be the path of a file that begins with /",
                   VS_QUOTE(text, length));
}

int vs_conf_check_address(const char *text, struct vesta_error *err) {
    return strncmp(text, "unix:", 5) == 0 && text[5] != '/'
               ? vs_fail(err, VESTA_EOPTION, "has '%s': after unix: the path must begin with /",
                         VS_QUOTE(text, strlen(text)))
               : VESTA_OK;
}

int vs_conf_check_uri(const char *text, struct vesta_error *err) {
    const struct vs_backend *ops = vs_store_of(text, NULL);
    if (ops ? vs_store_is_formed(text) : vs_store_is_known(text)) return VESTA_OK; /* vs_store_check: what to install */
    size_t scheme = strcspn(text, ":"), length = strlen(text);
    bool is_path = (ops && ops->is_local) || (strncmp(text + scheme, ":/", 2) == 0 && text[scheme + 2] != '/' &&
                                              !strpbrk(text + scheme + 1, ":@"));
    if (!is_path) length = scheme + (text[scheme] == ':'); /* behind it may be a password */
    return vs_fail(err, VESTA_EOPTION, "is '%s', which must be %s", VS_QUOTE(text, length), VS_STORE_FORMS);
}

int vs_conf_check_mode(const char *text, struct vesta_error *err) {
    size_t length = strlen(text);
    if (length >= 3 && text[strspn(text, "01234567")] == '\0' && (length == 3 || text[0] == '0')) return VESTA_OK;
    return vs_fail(err, VESTA_EOPTION, "is '%s', which must be three octal digits, such as \"0660\"",
                   VS_QUOTE(text, length));
}

#define WORD_LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"

int vs_conf_check_word(const char *text, struct vesta_error *err) {
    if (text[strspn(text, WORD_LETTERS)] == '\0') return VESTA_OK;
    return vs_fail(err, VESTA_EOPTION, "is '%s', which must consist of A-Z a-z 0-9 _ -", VS_QUOTE(text, strlen(text)));
}

int vs_conf_check_store_name(const char *name, struct vesta_error *err) {
    size_t length = strlen(name);
    if (length > 0 && length < VS_CONF_NAME_BYTES_MAX && name[strspn(name, WORD_LETTERS)] == '\0') return VESTA_OK;
    return vs_fail(err, VESTA_EOPTION, "'%s' is not a store's name: use 1 to %d of A-Z a-z 0-9 _ -",
                   VS_QUOTE(name, length), VS_CONF_NAME_BYTES_MAX - 1);
}

int vs_conf_check_host(const char *text, struct vesta_error *err) {
    size_t length = strlen(text);
    if (strcmp(text, "*") == 0) return VESTA_OK;
    if (length > 0 && length <= HOST_BYTES_MAX && text[strspn(text, WORD_LETTERS ".")] == '\0' &&
        text[length - 1] != '.')
        return VESTA_OK;
    return vs_fail(err, VESTA_EOPTION,
                   "has '%s', which must be a name without a port, such as ids.example.com, or \"*\"",
                   VS_QUOTE(text, length));
}

int vs_conf_check_proxy(const char *text, struct vesta_error *err) {
    struct vs_network network;
    return vs_network_read(text, &network, err);
}

/* As browsers write it: what is written otherwise would never be met. */
int vs_conf_check_origin(const char *text, struct vesta_error *err) {
    size_t length = strlen(text), scheme = strspn(text, "abcdefghijklmnopqrstuvwxyz-");
    const char *host = text + scheme + 3;
    if (scheme > 0 && strncmp(text + scheme, "://", 3) == 0 && *host && length <= HOST_BYTES_MAX &&
        host[strspn(host, "abcdefghijklmnopqrstuvwxyz0123456789_-.:[]")] == '\0')
        return VESTA_OK;
    return vs_fail(
        err, VESTA_EOPTION,
        "has '%s', which must be an origin as browsers write it: https://shop.example.com, in small letters, "
        "with a port where it is another than the scheme's, and nothing behind it",
        VS_QUOTE(text, length));
}

int vs_conf_check_tag(const char *text, struct vesta_error *err) {
    struct vesta_error why;
    if (strcmp(text, "*") == 0 || vs_namespace_check(text, &why) == VESTA_OK) return VESTA_OK;
    return vs_fail(err, VESTA_EOPTION, "has '%s', which is not a tag: \"*\" for all, or 1 to %d of A-Z a-z 0-9 _ . : -",
                   VS_QUOTE(text, strlen(text)), VESTA_NAMESPACE_MAX - 1);
}

int vs_conf_check_form(const char *text, struct vesta_error *err) {
    struct vs_form form;
    struct vesta_error why;
    if (vs_form_parse(text, &form, &why) == VESTA_OK) return VESTA_OK;
    return vs_fail(err, VESTA_EOPTION, "is a %.300s", why.text);
}

int vs_conf_check_zone(const char *text, struct vesta_error *err) {
    struct vesta_error why;
    struct vs_zone_file *zone = malloc(sizeof *zone);
    int rc = zone ? vs_zone_load(text, zone, &why) : vs_fail(&why, VESTA_ENOMEM, "no memory");
    free(zone);
    return rc == VESTA_OK ? VESTA_OK : vs_fail(err, VESTA_EOPTION, "cannot be used: %.300s", why.text);
}
