/* folder.h -- a folder of small texts with atomic compare-and-set.  A stopped process cannot block others, and a
 * delayed one cannot undo later changes.  Knows names and texts, no records.
 *
 * How a change is made:
 *
 *     1. Write the new text to <name>.<pid>-<token>.new and sync it.
 *     2. Announce it: rename it to .next.
 *     3. Remove every other .next of that name.
 *     4. Compare: the stored text must still be the text on which the change is based.
 *     5. Rename .next over the stored text.
 *
 * If another writer removed the change in its step 3, the rename in step 5 fails with ENOENT.  Of two announced
 * changes, the later one finds the other in its step 3.  So a change replaces exactly the text that was compared, or
 * nothing, wherever a process is stopped.
 *
 * Turns (a lock of <folder>/lock, see os/queue.c) only prevent that writers disturb each other.  A writer that waits
 * too long for its turn continues without one. */
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
    struct stat st; /* the folder's stat when its owner was last checked.  ino 0: never checked */
    int fd;         /* open during a call, like the next three */
    int turn_fd;    /* -1: none */
    char fresh[VS_FOLDER_NAME_MAX + 40], next[VS_FOLDER_NAME_MAX + 40];
    bool is_held_up; /* the last wait for a turn timed out, so the next one does not wait */
};

/* Opens the folder for a call, and checks its owner if the folder has changed. */
bool vs_folder_enter(struct vs_folder *folder, struct vs_reply *reply);
void vs_folder_leave(struct vs_folder *folder);

/* Reads a text into `text` of VS_RECORD_TEXT_MAX bytes.  Returns its length, 0 if the file does not exist, -1 if the
 * reply is filled. */
ssize_t vs_folder_load(const struct vs_folder *folder, const char *name, char *text, struct vs_reply *reply);

/* Takes a turn for `count` places from `first` on (0: all from there).  Each name has a place.  False: an older version
 * of vesta has locked the folder, and the reply is filled.  If another process is stopped in its turn, returns true
 * without a turn. */
bool vs_folder_turn(struct vs_folder *folder, uint64_t first, uint64_t count, bool writes, struct vs_reply *reply);
void vs_folder_end_turn(struct vs_folder *folder);

/* The steps of a change, in this order.  False: the reply is filled, and there is nothing to undo.  After
 * vs_folder_write, a change that is not made must be dropped.  *fenced: another writer removed the change. */
bool vs_folder_write(struct vs_folder *folder, const char *name, const char *text, size_t length,
                     struct vs_reply *reply);
bool vs_folder_announce(struct vs_folder *folder, const char *name, struct vs_reply *reply, bool *fenced);
bool vs_folder_make(struct vs_folder *folder, const char *name, struct vs_reply *reply, bool *fenced);
void vs_folder_drop(const struct vs_folder *folder);
/* After the change: syncs the folder, and checks that it still has its path.  False: the reply is UNKNOWN. */
bool vs_folder_settle(const struct vs_folder *folder, struct vs_reply *reply);

#endif
