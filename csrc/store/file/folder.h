/* folder.h -- a folder of small text files with atomic compare-and-set.  A stopped process cannot block others, and a
 * delayed process cannot undo later changes.  Does not interpret the names and texts.
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
 * announced, the writer of the later change finds the earlier change in its own step 3.  So, at whatever point a
 * process is stopped, a change replaces either exactly the text that was compared, or nothing.
 *
 * Turns (locks on <folder>/lock, see os/queue.c) only prevent writers from interfering with each other. A writer that
 * waits too long for its turn continues without a turn. */
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
    int fd;         /* valid only during a call, like the next three members */
    int turn_fd;    /* -1: no turn */
    char fresh[VS_FOLDER_NAME_MAX + 40], next[VS_FOLDER_NAME_MAX + 40];
    bool is_held_up; /* the last wait for a turn timed out, so the next vs_folder_turn does not wait */
};

/* Opens the folder for a call, and checks its owner if the folder has changed. */
bool vs_folder_enter(struct vs_folder *folder, struct vs_reply *reply);
void vs_folder_leave(struct vs_folder *folder);

/* Reads a file's text into `text` of VS_RECORD_TEXT_MAX bytes.  Returns its length, or 0 if the file does not exist.
 * After an error, fills the reply and returns -1. */
ssize_t vs_folder_load(const struct vs_folder *folder, const char *name, char *text, struct vs_reply *reply);

/* Takes a turn for `count` places from `first` on, or for all places from `first` on if `count` is 0.  The caller
 * assigns a place to each name, and turns without a common place do not wait for each other.  If an older version of
 * vesta has locked the folder, fills the reply and returns false.  If another process is stopped during its turn,
 * returns true without a turn. */
bool vs_folder_turn(struct vs_folder *folder, uint64_t first, uint64_t count, bool writes, struct vs_reply *reply);
void vs_folder_end_turn(struct vs_folder *folder);

/* The steps of a change, in this order.  A step that fails fills the reply and returns false, and the caller has
 * nothing to undo.  After vs_folder_write, call vs_folder_drop if the change is not made.  *fenced becomes true if
 * another writer removed the change. */
bool vs_folder_write(struct vs_folder *folder, const char *name, const char *text, size_t length,
                     struct vs_reply *reply);
bool vs_folder_announce(struct vs_folder *folder, const char *name, struct vs_reply *reply, bool *fenced);
bool vs_folder_make(struct vs_folder *folder, const char *name, struct vs_reply *reply, bool *fenced);
void vs_folder_drop(const struct vs_folder *folder);
/* Completes a change: syncs the folder, and checks that the path still leads to it.  If one of the two fails, sets the
 * reply to UNKNOWN and returns false. */
bool vs_folder_settle(const struct vs_folder *folder, struct vs_reply *reply);

#endif
