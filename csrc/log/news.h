/* news.h -- whether a sentence that stands is worth a line of the log.  Several in turn, each of which is another than
 * the one before, and one with seconds that count down would be told again and again.  Pure: knows no clock. */
#ifndef VS_NEWS_H
#define VS_NEWS_H

#include "vesta.h"

#include <stdbool.h>

#define VS_NEWS_US 60000000 /* within so long a sentence is told once, and VS_NEWS_MAX are told */
#define VS_NEWS_MAX 8

/* All zero: nothing was told. */
struct vs_news {
    struct {
        int64_t told_us;
        char text[sizeof((struct vesta_info *)0)->keeper];
    } told[VS_NEWS_MAX];
    int count, last; /* of told */
};

/* Whether to tell the sentence that stands now; then it counts as told.  It is news where it is not the one that was
 * told last, and none that is the same but for its digits was told within VS_NEWS_US: what stands for longer than that
 * is what the log said last.  Begin anew, with zeros, once all was well. */
bool vs_news_take(struct vs_news *news, const char *sentence, int64_t now_us);

#endif
