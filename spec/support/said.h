/* said.h -- the texts of a keeper, for specs.  A text is written byte by byte while others read it, so it is read until
 * it is complete. */
#ifndef SPEC_SAID_H
#define SPEC_SAID_H

#include "check.h"
#include "vesta.h"

#include <unistd.h>

#define SAID_WITHIN_MS 30000

/* Waits until the text of the generator's pause contains this part. */
__attribute__((unused)) static void await_pause_text(struct vesta_gen *gen, struct vesta_pause *pause,
                                                     const char *part) {
    char text[256] = "";
    uint64_t id;
    for (int i = 0; i < SAID_WITHIN_MS; i++) {
        CHECK(vesta_next(gen, &id, pause) == VESTA_EPAUSE);
        vesta_pause_text(gen, pause, text, sizeof text);
        if (strstr(text, part)) return;
        usleep(1000);
    }
    CHECK_FAIL("waited for \"%s\", and the pause says \"%s\"", part, text);
}

/* Waits until the keeper's last text is this. */
__attribute__((unused)) static void await_keeper_text(struct vesta_gen *gen, const char *want) {
    struct vesta_info info;
    for (int i = 0; i < SAID_WITHIN_MS; i++) {
        vesta_get_info(gen, &info);
        if (strcmp(info.keeper, want) == 0) return;
        usleep(1000);
    }
    CHECK_FAIL("waited for \"%s\", and the keeper says \"%s\"", want, info.keeper);
}

#endif
