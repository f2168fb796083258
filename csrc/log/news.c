/* news.c -- decides whether the text of a lasting condition is logged. */
#include "log/news.h"

#include <stdio.h>
#include <string.h>

/* Returns the position after leading digits and decimal points. */
static const char *behind_digits(const char *text) {
    return text + strspn(text, "0123456789.");
}

static bool news_alike(const char *a, const char *b) {
    for (a = behind_digits(a), b = behind_digits(b); *a == *b; a = behind_digits(a + 1), b = behind_digits(b + 1))
        if (!*a) return true;
    return false;
}

/* Returns the index of the text that differs only in digits, or else of a free entry, or else of the oldest entry. */
static int news_place_of(const struct vs_news *news, const char *sentence) {
    int oldest = 0;
    for (int i = 0; i < news->count; i++) {
        if (news_alike(news->told[i].text, sentence)) return i;
        if (news->told[i].told_us < news->told[oldest].told_us) oldest = i;
    }
    return news->count < VS_NEWS_MAX ? news->count : oldest;
}

bool vs_news_take(struct vs_news *news, const char *sentence, int64_t now_us) {
    int place = news_place_of(news, sentence);
    bool taken = place < news->count;
    if (taken && place == news->last && strcmp(news->told[place].text, sentence) == 0) return false;
    /* this text was logged recently, or every entry has a text that was logged recently */
    if (taken && now_us - news->told[place].told_us < VS_NEWS_US) return false;
    snprintf(news->told[place].text, sizeof news->told[place].text, "%s", sentence);
    news->told[place].told_us = now_us;
    news->last = place;
    if (!taken) news->count++;
    return true;
}
