/* file_store.c -- a second copy of the library, loaded into a program that has one: its file: store, under a name that
 * can be looked up. */
#include "store/store.h"

__attribute__((visibility("default"))) const struct vs_backend *copied_file_store(void);

const struct vs_backend *copied_file_store(void) {
    return &vs_store_file;
}
