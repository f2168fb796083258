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

static void a_lasting_message_is_logged_once(void) {
    struct vs_news news = {.count = 0};
    CHECK(vs_news_take(&news, "the store does not answer", 5));
    for (int s = 1; s < 600; s++)
        CHECK(!vs_news_take(&news, "the store does not answer", s * SECOND));
    CHECK(vs_news_take(&news, "the disk is full", 600 * SECOND));
    CHECK(!vs_news_take(&news, "the disk is full", 601 * SECOND));
}

static void alternating_messages_are_logged_once_a_minute(void) {
    static const char *const turn[] = {"a", "b"};
    struct vs_news news = {.count = 0};
    CHECK_EQ_U64((uint64_t)told_of(&news, turn, 2, 0, 60), 2);
    CHECK_EQ_U64((uint64_t)told_of(&news, turn, 2, 60, 600), 2 * 9);
}

static void counting_down_is_not_logged_again(void) {
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
                       MINUTE - 1)); /* logged, because its words differ */
}

static void any_number_in_turn_is_bounded(void) {
    static const char *const turn[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"};
    struct vs_news news = {.count = 0};
    CHECK_EQ_U64((uint64_t)told_of(&news, turn, 11, 0, 60), VS_NEWS_MAX);
    CHECK((uint64_t)told_of(&news, turn, 11, 60, 600) <= VS_NEWS_MAX * 9);
}

static void a_delayed_message_is_logged_after_the_minute(void) {
    struct vs_news news = {.count = 0};
    CHECK(vs_news_take(&news, "a", 0));
    CHECK(vs_news_take(&news, "b", SECOND));
    for (int64_t us = 2 * SECOND; us < MINUTE; us += SECOND / 2)
        CHECK(!vs_news_take(&news, "a", us));
    CHECK(vs_news_take(&news, "a", MINUTE)); /* the last logged message was b */
    CHECK(!vs_news_take(&news, "a", 9 * MINUTE));
}

static void a_new_failure_is_logged_at_once(void) {
    struct vs_news news = {.count = 0};
    CHECK(vs_news_take(&news, "a", 0));
    news = (struct vs_news){.count = 0};
    CHECK(vs_news_take(&news, "a", SECOND));
}

static const struct check_case cases[] = {
    {"a message that stays the same is logged once, and so is the one after it", a_lasting_message_is_logged_once},
    {"two messages that alternate are logged once a minute", alternating_messages_are_logged_once_a_minute},
    {"a message that differs only in its numbers is not logged again, one with other words is",
     counting_down_is_not_logged_again},
    {"any number of alternating messages is logged eight times a minute", any_number_in_turn_is_bounded},
    {"a message that was held back is logged when the minute is over, if it still applies",
     a_delayed_message_is_logged_after_the_minute},
    {"a new failure after a healthy time is logged at once", a_new_failure_is_logged_at_once},
};

CHECK_MAIN(cases)
