/* error.c -- names of codes, and texts of errors. */
#include "check.h"
#include "base/error.h"

#include <limits.h>

static void names_are_stable(void) {
    static const struct {
        int code;
        const char *name;
    } want[] = {
        {VESTA_OK, "ok"},
        {VESTA_EPAUSE, "pause"},
        {VESTA_ELAYOUT, "bad_layout"},
        {VESTA_EFIELD, "bad_field"},
        {VESTA_EID, "bad_id"},
        {VESTA_EMISMATCH, "mismatch"},
        {VESTA_ENOGEN, "no_generator"},
        {VESTA_ECLOSED, "closed"},
        {VESTA_EEPOCH, "epoch_end"},
        {VESTA_ENAME, "unknown_name"},
        {VESTA_EOPTION, "bad_option"},
        {VESTA_ENOTNOW, "not_now"},
        {VESTA_EIO, "io"},
        {VESTA_ENOMEM, "no_memory"},
        {VESTA_EFULL, "too_many"},
    };
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        CHECK_STR(vesta_code_name(want[i].code), want[i].name);
}

static void names_of_pauses_are_stable(void) {
    static const char *const want[] = {"full",   "clock_back", "clock_ahead", "ahead",    "lease",
                                       "choose", "epoch_end",  "closed",      "failstop", "range"};
    for (int i = 0; i < 10; i++)
        CHECK_STR(vesta_why_name((enum vesta_why)(i + VESTA_FULL)), want[i]);
}

static void unknown_codes_have_a_name(void) {
    static const int codes[] = {1, -15, 100, INT_MIN, INT_MAX};
    for (size_t i = 0; i < 5; i++)
        CHECK_STR(vesta_code_name(codes[i]), "unknown");
    CHECK_STR(vesta_why_name((enum vesta_why)0), "unknown");
    CHECK_STR(vesta_why_name((enum vesta_why)11), "unknown");
}

static void failing_fills_and_returns(void) {
    struct vesta_error err;
    CHECK_EQ_I64(vs_fail(&err, VESTA_EIO, "%s %d", "disk", 7), VESTA_EIO);
    CHECK_EQ_I64(err.code, VESTA_EIO);
    CHECK_STR(err.text, "disk 7");
    CHECK_EQ_I64(vs_fail(NULL, VESTA_EID, "nobody listens"), VESTA_EID);
}

static void long_texts_are_cut(void) {
    struct vesta_error err;
    vs_fail(&err, VESTA_EIO, "%0700d", 1);
    CHECK_EQ_U64(strlen(err.text), sizeof err.text - 1);
}

static void texts_end_with_a_whole_character(void) {
    static const char *const characters[] = {"e", "\u00e9", "\u3042", "\U0001f600"};
    struct vesta_error err;
    for (size_t i = 0; i < sizeof characters / sizeof *characters; i++) {
        size_t length = strlen(characters[i]);
        for (int before = 0; before < 8; before++) {
            size_t room = sizeof err.text - 1 - (size_t)before, fit = (size_t)before + room / length * length;
            char text[2 * sizeof err.text] = "1234567";
            for (size_t at = (size_t)before; at + length < sizeof text; at += length)
                memcpy(text + at, characters[i], length + 1);
            vs_fail(&err, VESTA_EIO, "%s", text);
            CHECK_EQ_U64(strlen(err.text), fit);
            CHECK(memcmp(err.text, text, fit) == 0);
            text[before + (int)length] = '\0'; /* nothing is removed without a cut */
            vs_fail(&err, VESTA_EIO, "%s", text);
            CHECK_STR(err.text, text);
        }
    }
    vs_fail(&err, VESTA_EIO, "\x80\x80");
    CHECK_STR(err.text, "\x80\x80");
}

static const struct check_case cases[] = {
    {"every code has its stable name", names_are_stable},
    {"every pause has its stable name", names_of_pauses_are_stable},
    {"an unknown code or pause is called unknown", unknown_codes_have_a_name},
    {"vs_fail fills an error if there is one, and returns its code", failing_fills_and_returns},
    {"a text that is too long is cut", long_texts_are_cut},
    {"a text is not cut within a character", texts_end_with_a_whole_character},
};
CHECK_MAIN(cases)
