/* marks.h -- copies text, with a mark after each id in it. */
#ifndef VS_MARKS_H
#define VS_MARKS_H

#include "main/ids/holders.h"

struct vs_marks {
    const struct vesta_layout *layout;
    const struct vs_holders *holders;
    int64_t now_ms;
    const char *since; /* words with an earlier time are not treated as ids (NULL: the limit is ten years ago) */
    enum vesta_base base;
    int json; /* print an object per id instead of the text */
};

/* Copies stdin to stdout until its end.  Returns an exit code. */
int vs_marks_run(const struct vs_marks *marks);

#endif
