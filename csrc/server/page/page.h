/* page.h -- the files of the admin's page, embedded in the program. */
#ifndef VS_PAGE_H
#define VS_PAGE_H

#include <stddef.h>

struct vs_page_file {
    const char *name; /* "page.js". NULL ends the list */
    const char *text;
    size_t length;
};
extern const struct vs_page_file vs_page_files[];

#endif
