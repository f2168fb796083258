/* clean.c -- makes untrusted text safe for a terminal: replaces characters that move the cursor or change the text
 * direction by '?'. */
#include "command/command.h"

#include <string.h>

/* Returns the length of a UTF-8 character that begins with this byte (0: no character begins with it). */
static size_t clean_length_of(unsigned char first) {
    return first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
}

/* Returns whether a character is safe.  Rejects control characters, including those from 0x80 on, which terminals
 * interpret like escape sequences.  Also rejects characters without width, and characters that change the text
 * direction. */
static bool clean_shows(uint32_t letter) {
    return letter >= ' ' && (letter < 0x7f || letter > 0x9f) && (letter < 0x200b || letter > 0x200f) &&
           (letter < 0x2028 || letter > 0x202e) && (letter < 0x2060 || letter > 0x206f) && letter != 0xfeff &&
           (letter < 0xd800 || letter > 0xdfff);
}

size_t vs_letter(const char *text, bool *is_fine) {
    size_t length = clean_length_of((unsigned char)*text);
    uint32_t letter = (unsigned char)*text & (length > 1 ? 0x7fu >> length : 0x7f);
    *is_fine = false;
    for (size_t i = 1; i < length; i++) {
        if (((unsigned char)text[i] & 0xc0) != 0x80) return i;
        letter = letter << 6 | ((unsigned char)text[i] & 0x3f);
    }
    *is_fine = length && clean_shows(letter);
    return length ? length : 1;
}

char *vs_clean(char *text) {
    bool is_fine;
    char *to = text;
    for (const char *from = text; *from;) {
        size_t length = vs_letter(from, &is_fine);
        memmove(to, is_fine ? from : "?", is_fine ? length : 1);
        to += is_fine ? length : 1;
        from += length;
    }
    *to = '\0';
    return text;
}

void vs_out_clean(const char *text) {
    bool is_fine;
    while (*text) {
        size_t length = vs_letter(text, &is_fine);
        vs_out_write(is_fine ? text : "?", is_fine ? length : 1);
        text += length;
    }
}
