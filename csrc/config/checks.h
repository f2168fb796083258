/* checks.h -- whether a text may stand at a key.  The message goes on from the key: "is 'x', which must be ...".
 * Only csrc/config includes this. */
#ifndef VS_CONF_CHECKS_H
#define VS_CONF_CHECKS_H

#include "vesta.h"

#define VS_CONF_NAME_BYTES_MAX 64

/* All: VESTA_OK, or VESTA_EOPTION. */
int vs_conf_check_layout(const char *text, struct vesta_error *err);
int vs_conf_check_path(const char *text, struct vesta_error *err);
int vs_conf_check_address(const char *text, struct vesta_error *err);
int vs_conf_check_host(const char *text, struct vesta_error *err);
int vs_conf_check_proxy(const char *text, struct vesta_error *err);
int vs_conf_check_origin(const char *text, struct vesta_error *err);
int vs_conf_check_uri(const char *text, struct vesta_error *err);
int vs_conf_check_mode(const char *text, struct vesta_error *err);
int vs_conf_check_word(const char *text, struct vesta_error *err);
int vs_conf_check_store_name(const char *text, struct vesta_error *err);
int vs_conf_check_tag(const char *text, struct vesta_error *err);
int vs_conf_check_form(const char *text, struct vesta_error *err);
int vs_conf_check_zone(const char *text, struct vesta_error *err);

#endif
