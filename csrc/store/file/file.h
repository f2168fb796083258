/* file.h -- the file: store, as shared by its source files. */
#ifndef VS_STORE_FILE_FILE_H
#define VS_STORE_FILE_FILE_H

#include "store/file/folder.h"

#define VS_FILE_COUNTERS "~counters" /* not a valid namespace name, so it cannot be a namespace's folder */

struct file_store {
    struct vs_store base;
    struct vs_met met;
    struct vs_folder folder;
    char *dir;           /* points into `paths`, like counters_dir */
    size_t place_length; /* length of the store's path, with which `dir` starts */
    struct vs_folder counters;
    char *counters_dir;
    char paths[]; /* allocated to fit, not PATH_MAX long, because a process may have thousands of stores */
};

void vs_file_take(struct vs_store *store, const struct vs_counter *counter, uint64_t step, struct vs_reply *reply);
void vs_file_untake(struct vs_store *store, const struct vs_counter *counter, uint64_t from, uint64_t until,
                    struct vs_reply *reply);
void vs_file_tags(struct vs_store *store, const char *table, struct vs_tag_list *list, struct vs_reply *reply);
void vs_file_tag_add(struct vs_store *store, const struct vs_counter *counter, uint64_t from, uint64_t step,
                     struct vs_reply *reply);
void vs_file_tag_step(struct vs_store *store, const struct vs_counter *counter, uint64_t step, struct vs_reply *reply);
void vs_file_lift(struct vs_store *store, const struct vs_counter *counter, uint64_t floor, struct vs_reply *reply);
void vs_file_share(struct vs_store *store, const struct vs_counter *counter, const struct vs_share *share,
                   struct vs_reply *reply);
void vs_file_form(struct vs_store *store, const struct vs_counter *counter, uint64_t fingerprint,
                  struct vs_reply *reply);

#endif
