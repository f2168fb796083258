/* room.h -- limits of the length of replies. */
#ifndef VS_SERVER_ROOM_H
#define VS_SERVER_ROOM_H

#include "base/out.h"

#define VS_REPLY_MAX (344 * 1024) /* bytes of one reply (/metrics is the longest) */
#define VS_OUT_MAX (688 * 1024)   /* bytes of all replies in one write */

_Static_assert(VESTA_BATCH_MAX *(VESTA_FORMAT_MAX + 4) + 16 <= VS_REPLY_MAX,
               "a batch fits a reply, as bulk strings too");
_Static_assert(2 * VS_REPLY_MAX <= VS_OUT_MAX, "a half-full buffer has room for a reply");

#endif
