/* prove.h -- `layout prove`: whether ids of two layouts can ever be equal. */
#ifndef VS_CLI_PROVE_H
#define VS_CLI_PROVE_H

struct vs_prove {
    const char *from, *until; /* as they were written; NULL: now, and for ever */
    int json;
};

/* Returns an exit code: VS_DONE if they cannot be. */
int vs_prove(const struct vs_prove *asked, int count, char **operands);

#endif
