/* tools.h -- helpers of several specs: layouts that must parse, random numbers, a page followed by an inaccessible
 * one. */
#ifndef SPEC_TOOLS_H
#define SPEC_TOOLS_H

#include "check.h"
#include "vesta.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Parses a layout of the spec.  An error fails the case. */
__attribute__((unused)) static struct vesta_layout parsed(const char *text) {
    struct vesta_layout layout;
    struct vesta_error err;
    memset(&layout, 0, sizeof layout);
    if (vesta_layout_parse(text, &layout, &err) != VESTA_OK) CHECK_FAIL("'%s': %s", text, err.text);
    return layout;
}

/* splitmix64: the same numbers in every run. */
__attribute__((unused)) static uint64_t roll(uint64_t *dice) {
    uint64_t z = (*dice += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

__attribute__((unused)) static uint64_t roll_below(uint64_t *dice, uint64_t limit) {
    return roll(dice) % limit;
}

/* Copies bytes so that they end at an inaccessible page: reading too far crashes. */
__attribute__((unused)) static const char *at_wall(const void *bytes, size_t length) {
    static char *wall;
    size_t page = (size_t)sysconf(_SC_PAGESIZE), room = 2 << 20;
    if (!wall) {
        char *map = mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (map == MAP_FAILED || mprotect(map + room, page, PROT_NONE) != 0) abort();
        wall = map + room;
    }
    if (length > room) abort();
    memcpy(wall - length, bytes, length);
    return wall - length;
}

/* Returns the contents of a file, at most 64 KiB ("": it does not exist).  The next call overwrites them. */
__attribute__((unused)) static const char *text_in(const char *path) {
    static char text[65536];
    FILE *file = fopen(path, "r");
    size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file) fclose(file);
    text[length] = '\0';
    return text;
}

#endif
