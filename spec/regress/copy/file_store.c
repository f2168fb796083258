/* file_store.c -- a second copy of the library with a file: store, exported by name, for a program that already
 * contains one. */
#include "store/store.h"

__attribute__((visibility("default"))) const struct vs_backend *copied_file_store(void);

const struct vs_backend *copied_file_store(void) {
    return &vs_store_file;
}
