/* news.h -- decides whether the text of a lasting condition is logged.  Without this, texts that alternate, or that
 * contain a countdown, would be logged again and again.  Pure: the caller passes the time. */
#ifndef VS_NEWS_H
#define VS_NEWS_H

#include "vesta.h"

#include <stdbool.h>

/* period in which each text is logged at most once, and at most VS_NEWS_MAX texts are logged */
#define VS_NEWS_US 60000000
#define VS_NEWS_MAX 8

/* All zero is the initial state, in which no text was logged. */
struct vs_news {
    struct {
        int64_t told_us;
        char text[sizeof((struct vesta_info *)0)->keeper];
    } told[VS_NEWS_MAX];
    int count, last; /* count: number of used entries of `told`.  last: index of the last logged text */
};

/* Returns true if the text must be logged, and then records it as logged.  Returns false if the text is the last logged
 * one, or if a text that differs only in digits was logged within VS_NEWS_US.  The last line in the log therefore
 * describes every condition that lasts longer than VS_NEWS_US.  Reset `news` to zeros when the condition is over. */
bool vs_news_take(struct vs_news *news, const char *sentence, int64_t now_us);

#endif
