/* slice.c -- the index of a word in a list such as "a|b|c". */
#include "base/slice.h"
#include "check.h"

static int place(const char *word, const char *list) {
    return vs_slice_place((struct vs_slice){word, strlen(word)}, list, '|');
}

static void words_are_found(void) {
    CHECK(place("dec", "dec|hex|z") == 0);
    CHECK(place("hex", "dec|hex|z") == 1);
    CHECK(place("z", "dec|hex|z") == 2);
    CHECK(place("dec", "dec") == 0);
    CHECK(vs_slice_place((struct vs_slice){"refuse now", 6}, "wait borrow refuse", ' ') == 2);
}

static void others_are_not(void) {
    CHECK(place("de", "dec|hex|z") == -1);
    CHECK(place("decimal", "dec|hex|z") == -1);
    CHECK(place("DEC", "dec|hex|z") == -1);
    CHECK(place("dec|hex", "dec|hex|z") == -1);
    CHECK(place("|", "dec|hex|z") == -1);
    CHECK(place("", "dec|hex|z") == -1);
    CHECK(place("dec", "") == -1);
    CHECK(place("", "") == -1);
}

static const struct check_case cases[] = {
    {"a word is found in a list, even if more text follows the slice", words_are_found},
    {"a part of a word, two words and an empty slice are not found", others_are_not},
};
CHECK_MAIN(cases)
