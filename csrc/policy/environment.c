/* environment.c -- the environment variables that policies may read, as Lua text.  The caller chooses the variables. */
#include "policy/policy.h"

#include "base/error.h"
#include "base/slice.h"
#include "os/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES_MAX 128

static bool environment_is_name(const char *name) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
    size_t length = strnlen(name, NAME_BYTES_MAX + 1);
    return length > 0 && length <= NAME_BYTES_MAX && (*name < '0' || *name > '9') && strspn(name, letters) == length;
}

/* Writes every byte as a decimal escape, so that no value can end the Lua string. */
static void environment_put_quoted(FILE *out, const char *text) {
    fputc('"', out);
    for (; *text; text++)
        fprintf(out, "\\%03u", (unsigned char)*text);
    fputc('"', out);
}

static void environment_put_variable(FILE *out, const char *name) {
    const char *value = vs_environment(name);
    fprintf(out, "[\"%s\"]=", name);
    if (value)
        environment_put_quoted(out, value);
    else
        fputs("false", out);
    fputc(',', out);
}

int vs_policy_env(const char *const *name, int count, char **env, struct vesta_error *err) {
    char *text = NULL;
    size_t size;
    for (int i = 0; i < count; i++)
        if (!environment_is_name(name[i]))
            return vs_fail(err, VESTA_EOPTION, "'%s' is not a variable's name: use letters, digits and _",
                           VS_QUOTE(name[i], strlen(name[i])));
    FILE *out = open_memstream(&text, &size);
    if (!out) return vs_fail(err, VESTA_ENOMEM, "no memory");
    fputc('{', out);
    for (int i = 0; i < count; i++)
        environment_put_variable(out, name[i]);
    fputc('}', out);
    bool is_whole = !ferror(out);
    if (fclose(out) != 0 || !is_whole) {
        free(text);
        return vs_fail(err, VESTA_ENOMEM, "no memory");
    }
    *env = text;
    return VESTA_OK;
}
