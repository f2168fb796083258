/* store_fault.c -- messages about a store's fault: the store's whole text, followed by one remedy. */
#include "check.h"
#include "base/error.h"
#include "store/reply.h"

static void each_fault_has_a_remedy(void) {
    CHECK(!vs_fault_remedy(VS_FAULT_NONE));
    for (int fault = VS_FAULT_NONE + 1; fault < VS_FAULTS; fault++) {
        const char *remedy = vs_fault_remedy((enum vs_fault)fault);
        CHECK(remedy && *remedy);
        CHECK(remedy && remedy[strlen(remedy) - 1] != '.');
        for (int other = VS_FAULT_NONE + 1; other < fault; other++)
            CHECK(strcmp(remedy, vs_fault_remedy((enum vs_fault)other)) != 0);
    }
}

static void the_remedy_follows_the_words(void) {
    struct vs_reply reply = {.outcome = VS_STORE_DOWN};
    char said[200];
    vs_answer_fault(&reply, VS_STORE_REFUSED, VS_FAULT_BINLOG, "it is impossible.");
    CHECK_STR(vs_reply_say(&reply, "", said, sizeof said),
              "it is impossible. Set binlog_format=ROW or MIXED on the server");
    vs_answer(&reply, VS_STORE_REFUSED, "do this");
    CHECK_STR(vs_reply_say(&reply, "", said, sizeof said), "do this");
    reply.text[0] = '\0';
    CHECK_STR(vs_reply_say(&reply, "no reason", said, sizeof said), "no reason");
}

static void words_are_not_cut_for_the_remedy(void) {
    struct vs_reply reply = {.outcome = VS_STORE_DOWN};
    char said[60], long_[VS_REPLY_TEXT_MAX];
    vs_answer_fault(&reply, VS_STORE_DOWN, VS_FAULT_BINLOG, "%050d", 1);
    CHECK_EQ_U64(strlen(vs_reply_say(&reply, "", said, sizeof said)), 50);
    vs_answer_fault(&reply, VS_STORE_DOWN, VS_FAULT_BINLOG, "%070d", 1);
    CHECK_EQ_U64(strlen(vs_reply_say(&reply, "", said, sizeof said)), sizeof said - 1);
    vs_answer_fault(&reply, VS_STORE_DOWN, VS_FAULT_NONE, "%0600d", 1); /* a server's longest message has 512 bytes */
    CHECK_EQ_U64(strlen(vs_reply_say(&reply, "", long_, sizeof long_)), 600);
}

static void the_place_is_left_out_first(void) {
    static const char place[] = "mysql db.example.com:3306/vesta";
    struct vs_reply reply = {.outcome = VS_STORE_DOWN}, seen = reply;
    char said[70];
    vs_answer_fault(&seen, VS_STORE_DOWN, VS_FAULT_BINLOG, "%.60s: %s", place, "impossible");
    vs_answer_as(&reply, VS_STORE_DOWN, &seen);
    CHECK_STR(vs_reply_say(&reply, "", said, sizeof said), "impossible. Set binlog_format=ROW or MIXED on the server");
    vs_answer_fault(&reply, VS_STORE_DOWN, VS_FAULT_BINLOG, "%.60s: %060d", place, 1);
    CHECK_EQ_U64(strlen(vs_reply_say(&reply, "", said, sizeof said)), 60);
    vs_answer_fault(&reply, VS_STORE_DOWN, VS_FAULT_BINLOG, "%.60s has: %060d", place, 1);
    CHECK_EQ_U64(reply.words, 0);
}

static void our_text_is_omitted_first(void) {
    char said[20];
    vs_put_said(said, sizeof said, "ours", "theirs");
    CHECK_STR(said, "ours: theirs");
    vs_put_said(said, sizeof said, "ours is long", "theirs as well");
    CHECK_STR(said, "theirs as well");
    vs_put_said(said, sizeof said, "ours", "");
    CHECK_STR(said, "ours");
}

/* A server may write its texts in any language. */
static void characters_are_not_cut(void) {
    struct vs_reply reply;
    char said[64], words[2 * VS_REPLY_TEXT_MAX] = "";
    for (size_t i = 0; i + 3 < sizeof words; i += 3)
        memcpy(words + i, "\u3042", 4);
    vs_reply_clear(&reply);
    for (int before = 1; before <= 3; before++) {
        vs_answer(&reply, VS_STORE_DOWN, "%.*s%.640s", before, "abc", words);
        CHECK_EQ_U64((strlen(reply.text) - (size_t)before) % 3, 0);
        vs_reply_say(&reply, "", said, sizeof said - (size_t)before);
        CHECK_EQ_U64((strlen(said) - (size_t)before) % 3, 0);
    }
}

static const struct check_case cases[] = {
    {"each fault has its own remedy", each_fault_has_a_remedy},
    {"the remedy follows the store's text", the_remedy_follows_the_words},
    {"if there is no room for both, the remedy is omitted and the store's text stays",
     words_are_not_cut_for_the_remedy},
    {"the store's address is omitted first", the_place_is_left_out_first},
    {"a text is not cut within a character", characters_are_not_cut},
    {"if a text must be cut, our part is omitted first", our_text_is_omitted_first},
};
CHECK_MAIN(cases)
