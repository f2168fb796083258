/* turn.h -- lets one process at a time use a database, and handles forks.
 *
 * SQLite's locks belong to the process, so they do not exclude another copy of SQLite in the same process.  A child
 * that is forked during a call would inherit SQLite's state without these locks.  So each call takes a turn (a lock of
 * <database>-turn, see os/queue.c), and a fork waits until no call is in progress.  The fork waits for at most a
 * second, because a call's disk may hang.  After that, the child cannot use SQLite. */
#ifndef VS_SQLITE_TURN_H
#define VS_SQLITE_TURN_H

#include "store/reply.h"

struct vs_sqlite_turn {
    const char *path;
    int group;
    int fd; /* open only during the turn */
};

enum vs_turn { VS_TURN_OURS, VS_TURN_BUSY, VS_TURN_NONE /* VS_TURN_NONE: the reply has the reason */ };

/* Tries once to take a turn, without waiting.  If the result is OURS, no other turn and no fork can start until
 * vs_sqlite_turn_leave. */
enum vs_turn vs_sqlite_turn_enter(struct vs_sqlite_turn *turn, struct vs_reply *reply);
void vs_sqlite_turn_leave(struct vs_sqlite_turn *turn);

/* Returns the pid of the process that has locked the database, which is either in its turn or owns a kernel lock on the
 * file. Returns -1 if the pid is unknown.  Do not call this during a turn. */
int64_t vs_sqlite_turn_holder(const struct vs_sqlite_turn *turn);

/* Creates the database's empty file, or checks the existing one.  An existing file is not opened, because closing it
 * would drop the locks of this process's calls.  Errors: VESTA_EIO, VESTA_EOPTION. */
int vs_sqlite_make_file(const struct vs_sqlite_turn *turn, struct vesta_error *err);

#endif
