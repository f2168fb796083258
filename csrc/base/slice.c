/* slice.c -- the words of a text, and the sides of a mark. */
#include "base/slice.h"

static bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r'); /* not isspace: no locale in here */
}

bool vs_next_word(const char **text, struct vs_word *word) {
    const char *at = *text;
    while (is_space(*at))
        at++;
    const char *end = at;
    while (*end && !is_space(*end))
        end++;
    *word = (struct vs_word){at, (size_t)(end - at)};
    *text = end;
    return end > at;
}

bool vs_split(struct vs_word word, char mark, struct vs_word *before, struct vs_word *after) {
    const char *at = memchr(word.at, mark, word.length);
    if (!at) return false;
    size_t length = (size_t)(at - word.at);
    *before = (struct vs_word){word.at, length};
    *after = (struct vs_word){at + 1, word.length - length - 1};
    return true;
}
