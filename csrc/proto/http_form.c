/* http_form.c -- parses the parameters of a query or form.  Contains no route code. */
#include "proto/http.h"

#include <string.h>
#include <strings.h>

static int http_hex(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool vs_http_decode(struct vs_slice raw, char space, char **room, struct vs_slice *out) {
    char *to = *room;
    *out = raw;
    if (!memchr(raw.at, '%', raw.length) && !memchr(raw.at, '+', raw.length)) return true;
    for (size_t i = 0; i < raw.length; i++) {
        int high = 0, low = 0;
        char c = raw.at[i] == '+' ? space : raw.at[i];
        if (c == '%') {
            if (raw.length - i < 3 || (high = http_hex(raw.at[i + 1])) < 0 || (low = http_hex(raw.at[i + 2])) < 0)
                return false;
            c = (char)(high << 4 | low);
            i += 2;
        }
        *to++ = c;
    }
    *out = (struct vs_slice){*room, (size_t)(to - *room)};
    *room = to;
    return true;
}

int vs_http_next_pair(struct vs_slice *rest, char **room, struct vs_slice *name, struct vs_slice *value) {
    while (rest->length > 0 && *rest->at == '&')
        rest->at++, rest->length--;
    if (rest->length == 0) return 0;
    const char *at = rest->at, *end = at + rest->length, *amp = memchr(at, '&', rest->length), *stop = amp ? amp : end;
    const char *equals = memchr(at, '=', (size_t)(stop - at)), *behind = equals ? equals + 1 : stop;
    *rest = (struct vs_slice){amp ? amp + 1 : end, amp ? (size_t)(end - amp - 1) : 0};
    bool is_sound = vs_http_decode((struct vs_slice){at, (size_t)((equals ? equals : stop) - at)}, ' ', room, name) &&
                    vs_http_decode((struct vs_slice){behind, (size_t)(stop - behind)}, ' ', room, value);
    return is_sound ? 1 : -1;
}

bool vs_http_is_form(struct vs_slice type) {
    static const char form[] = "application/x-www-form-urlencoded";
    const char *end = type.at ? memchr(type.at, ';', type.length) : NULL;
    size_t length = end ? (size_t)(end - type.at) : type.length;
    while (length > 0 && (type.at[length - 1] == ' ' || type.at[length - 1] == '\t'))
        length--;
    return length == sizeof form - 1 && strncasecmp(type.at, form, length) == 0;
}
