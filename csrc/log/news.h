/* news.h -- whether the text of a lasting condition is worth a line of the log.  Without this, texts that alternate, or
 * that contain a countdown, would be logged again and again.  Pure: the caller passes the time. */
#ifndef VS_NEWS_H
#define VS_NEWS_H

#include "vesta.h"

#include <stdbool.h>

#define VS_NEWS_US 60000000 /* within this time, a text is logged once, and at most VS_NEWS_MAX texts are */
#define VS_NEWS_MAX 8

/* All zero: nothing was logged. */
struct vs_news {
    struct {
        int64_t told_us;
        char text[sizeof((struct vesta_info *)0)->keeper];
    } told[VS_NEWS_MAX];
    int count, last; /* used entries of told; index of the last logged one */
};

/* True if the current text must be logged, and records it as logged.  False if it is the last logged text, or if a text
 * that only differs in digits was logged within VS_NEWS_US.  So the last line in the log describes every condition that
 * lasts longer than that.  Reset `news` to zeros when the condition is over. */
bool vs_news_take(struct vs_news *news, const char *sentence, int64_t now_us);

#endif
