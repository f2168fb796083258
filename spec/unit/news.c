/* news.c -- which messages of a failing keeper are logged: each one once, even if several alternate. */
#include "check.h"
#include "log/news.h"

#define SECOND INT64_C(1000000)
#define MINUTE (60 * SECOND)

static int told_of(struct vs_news *news, const char *const *sentence, int count, int from_s, int to_s) {
    int told = 0;
    for (int s = from_s; s < to_s; s++)
        told += vs_news_take(news, sentence[s % count], s * SECOND);
    return told;
}

static void what_stands_is_told_once(void) {
    struct vs_news news = {.count = 0};
    CHECK(vs_news_take(&news, "the store does not answer", 5));
    for (int s = 1; s < 600; s++)
        CHECK(!vs_news_take(&news, "the store does not answer", s * SECOND));
    CHECK(vs_news_take(&news, "the disk is full", 600 * SECOND));
    CHECK(!vs_news_take(&news, "the disk is full", 601 * SECOND));
}

static void two_in_turn_are_told_once_a_minute(void) {
    static const char *const turn[] = {"a", "b"};
    struct vs_news news = {.count = 0};
    CHECK_EQ_U64((uint64_t)told_of(&news, turn, 2, 0, 60), 2);
    CHECK_EQ_U64((uint64_t)told_of(&news, turn, 2, 60, 600), 2 * 9);
}

static void seconds_that_count_down_are_no_news(void) {
    struct vs_news news = {.count = 0};
    char text[64];
    int told = 0;
    for (int s = 0; s < 60; s++) {
        snprintf(text, sizeof text, "the store answered 503; it is asked again in %d.%d s", (59 - s) / 10, s % 10);
        told += vs_news_take(&news, text, s * SECOND);
        told += vs_news_take(&news, s % 2 ? "7 tries" : "12 tries", s * SECOND);
    }
    CHECK_EQ_U64((uint64_t)told, 2);
    CHECK(vs_news_take(&news, "the store answered 503; it was not asked again in 5.9 s",
                       MINUTE - 1)); /* the words differ */
}

static void any_number_in_turn_is_bounded(void) {
    static const char *const turn[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"};
    struct vs_news news = {.count = 0};
    CHECK_EQ_U64((uint64_t)told_of(&news, turn, 11, 0, 60), VS_NEWS_MAX);
    CHECK((uint64_t)told_of(&news, turn, 11, 60, 600) <= VS_NEWS_MAX * 9);
}

static void what_was_held_back_and_stands_is_told_when_the_minute_is_over(void) {
    struct vs_news news = {.count = 0};
    CHECK(vs_news_take(&news, "a", 0));
    CHECK(vs_news_take(&news, "b", SECOND));
    for (int64_t us = 2 * SECOND; us < MINUTE; us += SECOND / 2)
        CHECK(!vs_news_take(&news, "a", us));
    CHECK(vs_news_take(&news, "a", MINUTE)); /* the last logged message was b */
    CHECK(!vs_news_take(&news, "a", 9 * MINUTE));
}

static void a_new_trouble_after_a_good_time_is_told_at_once(void) {
    struct vs_news news = {.count = 0};
    CHECK(vs_news_take(&news, "a", 0));
    news = (struct vs_news){.count = 0};
    CHECK(vs_news_take(&news, "a", SECOND));
}

static const struct check_case cases[] = {
    {"a message that stays the same is logged once, and so is the one after it", what_stands_is_told_once},
    {"two messages that alternate are logged once a minute", two_in_turn_are_told_once_a_minute},
    {"a message that differs only in its numbers is not logged again, one with other words is",
     seconds_that_count_down_are_no_news},
    {"any number of alternating messages is logged eight times a minute", any_number_in_turn_is_bounded},
    {"a message that was held back is logged when the minute is over, if it still applies",
     what_was_held_back_and_stands_is_told_when_the_minute_is_over},
    {"a new failure after a healthy time is logged at once", a_new_trouble_after_a_good_time_is_told_at_once},
};

CHECK_MAIN(cases)
