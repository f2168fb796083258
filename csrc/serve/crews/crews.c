/* crews.c -- assigns namespaces to the threads that open and close them.  Each store has a few threads of its own, so a
 * store that hangs does not delay the namespaces of other stores.  Starts no threads. */
#include "command/options.h"
#include "keeper/file.h"
#include "keeper/shift.h"
#include "serve/serving.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct entry {
    char *store;
    int ns;
};

/* Returns the store that the config names.  If the config names none, returns the store in the generator file ("": this
 * machine's own store).  Creates no file. */
static char *store_of(const struct vs_conf_namespace *conf) {
    struct vs_settings settings;
    struct vs_anchor anchor;
    bool found = false;
    if (conf->opts.store) return strdup(conf->opts.store);
    if (vs_settings_look(&conf->opts, &settings, NULL) == VESTA_OK && access(settings.path, F_OK) == 0)
        (void)vs_anchor_find(&settings, false, &found, &anchor, NULL);
    return strdup(found ? anchor.header.store : "");
}

static int by_store(const void *a, const void *b) {
    const struct entry *left = a, *right = b;
    int order = strcmp(left->store, right->store);
    return order != 0 ? order : left->ns - right->ns;
}

/* Distributes the namespaces of a store over its threads, round-robin. */
static void assign(struct vs_crews *crews, const struct entry *entry, int count) {
    int first = 0; /* first entry of this store */
    for (int i = 0; i < count; i++) {
        if (i > 0 && strcmp(entry[i].store, entry[i - 1].store) != 0) first = i;
        int nth = i - first;
        if (nth < VS_SHIFTS_OF_A_STORE)
            crews->of[entry[i].ns] = crews->threads++;
        else
            crews->of[entry[i].ns] = crews->of[entry[first + nth % VS_SHIFTS_OF_A_STORE].ns];
    }
}

bool vs_crews_make(struct vs_crews *crews, const struct vs_config *config) {
    int count = config->ns_count, had = 0;
    struct entry *entry = calloc((size_t)count + 1, sizeof *entry);
    *crews = (struct vs_crews){.count = count, .of = calloc((size_t)count + 1, sizeof *crews->of)};
    for (; entry && had < count; had++) {
        entry[had] = (struct entry){store_of(&config->ns[had]), had};
        if (!entry[had].store) break;
    }
    bool made = crews->of && entry && had == count;
    if (made) {
        qsort(entry, (size_t)count, sizeof *entry, by_store);
        assign(crews, entry, count);
    }
    for (int i = 0; i < had; i++)
        free(entry[i].store);
    free(entry);
    return made;
}

int vs_crews_keepers(const struct vs_crews *crews) {
    return crews->threads + crews->count / VS_SHIFT_TASKS;
}

void vs_crews_free(struct vs_crews *crews) {
    free(crews->of);
    crews->of = NULL;
}
