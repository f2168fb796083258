/* folder.h -- a folder of small texts, each replaced whole by compare-and-set, which no stopped process can hold up and
 * no delayed one can undo.  Knows names and texts, no records.
 *
 * A change is written and on disk before anybody hears of it, as <name>.<pid>-<token>.new.  It is announced by a rename
 * to .next; then whoever announced it takes away every other .next of that name, looks whether the text is still the
 * one that the change was decided on, and renames its own over it.  A change that was taken away cannot be made any
 * more, for its rename finds nothing; and of two that are announced one finds the other.  So a change is made over the
 * text that was looked at, or not at all, wherever its process was stopped meanwhile.
 *
 * The turn (a lock of <folder>/lock, see os/queue.c) keeps writers out of each other's way, and that is all it does:
 * who has waited for its turn for too long goes on without. */
#ifndef VS_STORE_FILE_FOLDER_H
#define VS_STORE_FILE_FOLDER_H

#include "store/reply.h"

#include <limits.h>
#include <sys/stat.h>
#include <sys/types.h>

#define VS_FOLDER_NAME_MAX 72

struct vs_folder {
    const char *path;
    int group;
    struct stat st; /* as it was last trusted; ino 0: not yet */
    int fd;         /* during a call, as the next two */
    int turn_fd;    /* -1: there is none */
    char fresh[VS_FOLDER_NAME_MAX + 40], next[VS_FOLDER_NAME_MAX + 40];
    bool is_held_up; /* the last turn was waited for in vain: the next is only tried */
};

/* Opens the folder for a call, and looks whose it is where that is not known; false with the reply filled. */
bool vs_folder_enter(struct vs_folder *folder, struct vs_reply *reply);
void vs_folder_leave(struct vs_folder *folder);

/* A text, whole.  Shape: text of VS_RECORD_TEXT_MAX bytes; its length, 0 where there is none, -1 with the reply filled.
 */
ssize_t vs_folder_load(const struct vs_folder *folder, const char *name, char *text, struct vs_reply *reply);

/* A turn for some of the names, each of which has a place of its own: `first` from 0 on, count 0: all from there. False
 * with the reply filled where an older vesta has the folder locked; without a turn, but true, where one is stopped. */
bool vs_folder_turn(struct vs_folder *folder, uint64_t first, uint64_t count, bool writes, struct vs_reply *reply);
void vs_folder_end_turn(struct vs_folder *folder);

/* The steps of a change, in this order.  False with the reply filled, and nothing left to undo; after write, a change
 * that is not made must be dropped.  vs_folder_make: *fenced where another writer took the change away. */
bool vs_folder_write(struct vs_folder *folder, const char *name, const char *text, size_t length,
                     struct vs_reply *reply);
bool vs_folder_announce(struct vs_folder *folder, const char *name, struct vs_reply *reply, bool *fenced);
bool vs_folder_make(struct vs_folder *folder, const char *name, struct vs_reply *reply, bool *fenced);
void vs_folder_drop(const struct vs_folder *folder);
/* Then: on disk, in the folder that still has its name; else the reply says UNKNOWN. */
bool vs_folder_settle(const struct vs_folder *folder, struct vs_reply *reply);

#endif
