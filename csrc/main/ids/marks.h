/* marks.h -- running text, copied with a mark behind each id in it. */
#ifndef VS_MARKS_H
#define VS_MARKS_H

#include "main/ids/holders.h"

struct vs_marks {
    const struct vesta_layout *layout;
    const struct vs_holders *holders;
    int64_t now_ms;
    const char *since; /* the time before which nothing is taken for an id; NULL: ten years ago */
    enum vesta_base base;
    int json; /* an object for each id, instead of the text */
};

/* From stdin to its end.  Returns an exit code. */
int vs_marks_run(const struct vs_marks *marks);

#endif
