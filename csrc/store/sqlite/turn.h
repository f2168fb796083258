/* turn.h -- when this process may be inside SQLite, and whose turn a database is.
 *
 * SQLite's locks belong to the process: they keep nobody out who brought another copy of SQLite into it.  And a child
 * that was forked in the middle of a call would inherit what SQLite believes of them.  So a call has a turn, by a lock
 * of <database>-turn (os/queue.c), and no fork begins while one is inside: for a second,
 * since its disk may hang.  The child of a fork that could not wait longer does without SQLite. */
#ifndef VS_SQLITE_TURN_H
#define VS_SQLITE_TURN_H

#include "store/reply.h"

struct vs_sqlite_turn {
    const char *path; /* of the database */
    int group;
    int fd; /* while it is this one's turn */
};

enum vs_turn { VS_TURN_OURS, VS_TURN_BUSY, VS_TURN_NONE /* the reply says why */ };

/* Asks once and waits for nobody.  OURS: no fork begins, and no other turn, until leave. */
enum vs_turn vs_sqlite_turn_enter(struct vs_sqlite_turn *turn, struct vs_reply *reply);
void vs_sqlite_turn_leave(struct vs_sqlite_turn *turn);

/* Who keeps the database locked: the process whose turn it is, or whom the kernel shows to have locked the file; -1: it
 * is not known.  Outside of a turn. */
int64_t vs_sqlite_turn_holder(const struct vs_sqlite_turn *turn);

/* Makes the database's file, empty, where there is none, or looks at the one that is there without opening it: closing
 * it again would drop the locks that a call of this process has on it.  Errors: VESTA_EIO, VESTA_EOPTION. */
int vs_sqlite_make_file(const struct vs_sqlite_turn *turn, struct vesta_error *err);

#endif
