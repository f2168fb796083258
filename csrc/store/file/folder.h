/* folder.h -- a folder of small texts with atomic compare-and-set.  A stopped process cannot block others, and a
 * delayed process cannot undo later changes.  Handles names and texts, and does not interpret them.
 *
 * How a change is made:
 *
 *     1. Write the new text to <name>.<pid>-<token>.new and sync it.
 *     2. Announce the change: rename the file to .next.
 *     3. Remove every other .next of that name.
 *     4. Compare: the stored text must still be the text on which the change is based.
 *     5. Rename .next over the stored text.
 *
 * If another writer removed the change in its step 3, the rename in step 5 fails with ENOENT.  If two changes are
 * announced, the writer of the later one finds the earlier one in its step 3.  So a change replaces exactly the text
 * that was compared, or nothing, wherever a process is stopped.
 *
 * Turns (a lock of <folder>/lock, see os/queue.c) only prevent writers from disturbing each other.  A writer that waits
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
    struct stat st; /* status of the folder when its owner was last checked.  ino 0: never checked */
    int fd;         /* open during a call, like the next three members */
    int turn_fd;    /* -1: no turn */
    char fresh[VS_FOLDER_NAME_MAX + 40], next[VS_FOLDER_NAME_MAX + 40];
    bool is_held_up; /* the last wait for a turn timed out, so the next one does not wait */
};

/* Opens the folder for a call, and checks its owner if the folder has changed. */
bool vs_folder_enter(struct vs_folder *folder, struct vs_reply *reply);
void vs_folder_leave(struct vs_folder *folder);

/* Reads a text into `text` of VS_RECORD_TEXT_MAX bytes.  Returns its length, or 0 if the file does not exist.  After an
 * error, fills the reply and returns -1. */
ssize_t vs_folder_load(const struct vs_folder *folder, const char *name, char *text, struct vs_reply *reply);

/* Takes a turn for `count` places from `first` on, or for all places from `first` on if `count` is 0.  Each name has a
 * place.  Returns false if an older version of vesta has locked the folder, and has then filled the reply.  If another
 * process is stopped during its turn, returns true without a turn. */
bool vs_folder_turn(struct vs_folder *folder, uint64_t first, uint64_t count, bool writes, struct vs_reply *reply);
void vs_folder_end_turn(struct vs_folder *folder);

/* The steps of a change, in this order.  Each returns false if it fails, and has then filled the reply.  There is
 * nothing to undo.  After vs_folder_write, a change that is not made must be dropped.  *fenced becomes true if another
 * writer removed the change. */
bool vs_folder_write(struct vs_folder *folder, const char *name, const char *text, size_t length,
                     struct vs_reply *reply);
bool vs_folder_announce(struct vs_folder *folder, const char *name, struct vs_reply *reply, bool *fenced);
bool vs_folder_make(struct vs_folder *folder, const char *name, struct vs_reply *reply, bool *fenced);
void vs_folder_drop(const struct vs_folder *folder);
/* Completes a change: syncs the folder, and checks that it still has its path.  If not, sets the reply to UNKNOWN and
 * returns false. */
bool vs_folder_settle(const struct vs_folder *folder, struct vs_reply *reply);

#endif
