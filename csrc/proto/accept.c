/* accept.c -- parses the Accept header (RFC 9110, section 12.5.1). */
#include "proto/accept.h"

#include <string.h>
#include <strings.h>

static const char *const accept_name[VS_TYPES] = {[VS_TYPE_TEXT] = "text/plain",
                                                  [VS_TYPE_JSON] = "application/json",
                                                  [VS_TYPE_OPENMETRICS] = "application/openmetrics-text",
                                                  [VS_TYPE_HTML] = "text/html"};

static struct vs_slice accept_trim(struct vs_slice text) {
    while (text.length > 0 && (*text.at == ' ' || *text.at == '\t'))
        text.at++, text.length--;
    while (text.length > 0 && (text.at[text.length - 1] == ' ' || text.at[text.length - 1] == '\t'))
        text.length--;
    return text;
}

/* Removes the text up to the first `mark` from *rest and returns it. */
static struct vs_slice accept_cut(struct vs_slice *rest, char mark) {
    const char *at = memchr(rest->at, mark, rest->length);
    struct vs_slice word = {rest->at, at ? (size_t)(at - rest->at) : rest->length};
    size_t used = word.length + (at != NULL);
    *rest = (struct vs_slice){rest->at + used, rest->length - used};
    return accept_trim(word);
}

/* Reads "0", "1", "0.25" or "1.000" as thousandths.  Returns -1 if the text is not a valid q value. */
static int accept_read_q(struct vs_slice text) {
    int q = 0, unit = 1000;
    if (text.length < 1 || text.length > 5 || (text.at[0] != '0' && text.at[0] != '1')) return -1;
    if (text.length > 1 && text.at[1] != '.') return -1;
    for (size_t i = 0; i < text.length; i++) {
        if (i == 1) continue;
        if (text.at[i] < '0' || text.at[i] > '9') return -1;
        q += (text.at[i] - '0') * unit;
        unit /= 10;
    }
    return q <= 1000 ? q : -1;
}

/* Returns the q value among a media range's parameters, 1000 if there is no q, or -1 if it is malformed. */
static int accept_q_of(struct vs_slice params) {
    int q = 1000;
    while (params.length > 0) {
        struct vs_slice param = accept_cut(&params, ';');
        if (param.length >= 2 && (param.at[0] | 0x20) == 'q' && param.at[1] == '=')
            q = accept_read_q((struct vs_slice){param.at + 2, param.length - 2});
    }
    return q;
}

static bool accept_is(struct vs_slice text, const char *name, size_t length) {
    return text.length == length && strncasecmp(text.at, name, length) == 0;
}

/* Returns how specifically a media range matches a type, as in struct vs_accept. */
static int accept_match(struct vs_slice range, const char *name) {
    size_t main = (size_t)(strchr(name, '/') + 1 - name);
    if (accept_is(range, name, strlen(name))) return 3;
    if (range.length == main + 1 && range.at[main] == '*' && strncasecmp(range.at, name, main) == 0) return 2;
    return accept_is(range, "*/*", 3);
}

void vs_accept_read(struct vs_accept *accept, struct vs_slice value) {
    while (value.length > 0) {
        struct vs_slice params = accept_cut(&value, ','), range = accept_cut(&params, ';');
        int q = accept_q_of(params);
        if (range.length == 0 || q < 0) continue;
        accept->given = true;
        for (int i = 0; i < VS_TYPES; i++) {
            int exact = accept_match(range, accept_name[i]);
            if (exact == 0 || exact < accept->type[i].exact) continue;
            if (exact == accept->type[i].exact && q < accept->type[i].q) continue;
            accept->type[i].exact = (uint8_t)exact;
            accept->type[i].q = (uint16_t)q;
        }
    }
}

int vs_accept_q(const struct vs_accept *accept, enum vs_type type) {
    return accept->given ? accept->type[type].q : 1000;
}
