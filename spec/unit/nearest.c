/* nearest.c -- finds the name that a misspelt name resembles. The Lua copies use the same vectors,
 * spec/vectors/nearest.csv. */
#include "base/nearest.h"
#include "check.h"

#include <stdio.h>

#define NAMES_MAX 8

static void check_line(char *line) {
    const char *names[NAMES_MAX + 1] = {NULL};
    char *word = strtok_r(line, ",\n", &line), *list = strtok_r(line, ",\n", &line);
    const char *meant = strtok_r(line, ",\n", &line), *got;
    for (int i = 0; i < NAMES_MAX && (names[i] = strtok_r(list, " ", &list)); i++)
        ;
    got = vs_nearest(word, names);
    CHECK_STR(got ? got : "-", meant);
}

static void vectors_hold(void) {
    char line[256];
    int count = 0;
    FILE *file = fopen(SPEC_DIR "/vectors/nearest.csv", "r");
    NEED(file);
    while (fgets(line, sizeof line, file)) {
        if (*line == '#') continue;
        check_line(line);
        count++;
    }
    fclose(file);
    CHECK(count >= 10);
}

static void a_long_word_resembles_nothing(void) {
    char word[64] = "";
    memset(word, 'a', sizeof word - 1);
    CHECK(!vs_nearest(word, (const char *const[]){"aaaa", word + 1, NULL}));
    CHECK(!vs_nearest("worker", (const char *const[]){NULL}));
}

static const struct check_case cases[] = {
    {"names with one or two mistakes, and beginnings of names, are recognized", vectors_hold},
    {"a long word and an empty word have no nearest name", a_long_word_resembles_nothing},
};
CHECK_MAIN(cases)
