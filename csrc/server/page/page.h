/* page.h -- the files of the admin page, embedded in the program. */
#ifndef VS_PAGE_H
#define VS_PAGE_H

#include <stddef.h>

struct vs_page_file {
    const char *name; /* such as "page.js" (NULL ends the list) */
    const char *text;
    size_t length;
};
extern const struct vs_page_file vs_page_files[];

#endif
