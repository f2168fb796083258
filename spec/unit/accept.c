/* accept.c -- reads the Accept header: the q of each of the server's types. */
#include "base/array.h"
#include "check.h"
#include "proto/accept.h"
#include "tools.h"

static struct vs_accept read_one(const char *text) {
    struct vs_accept accept = {0};
    vs_accept_read(&accept, (struct vs_slice){at_wall(text, strlen(text)), strlen(text)});
    return accept;
}

static void reads_weights(void) {
    static const struct {
        const char *text;
        int plain, json, metrics;
    } cases[] = {
        {"*/*", 1000, 1000, 1000},
        {"text/plain", 1000, 0, 0},
        {"TEXT/Plain", 1000, 0, 0},
        {"application/json", 0, 1000, 0},
        {"application/*", 0, 1000, 1000},
        {"text/*;q=0.5, application/json;q=0.25", 500, 250, 0},
        {"text/plain;q=0.2, */*;q=0.7", 200, 700, 700},
        {"*/*;q=0.7, text/plain;q=0.2", 200, 700, 700},
        {"application/json;q=0, */*", 1000, 0, 1000},
        {"text/plain ; charset=utf-8 ; Q=0.125", 125, 0, 0},
        {"text/plain;q=1.000", 1000, 0, 0},
        {"text/html, application/xhtml+xml", 0, 0, 0},
        {"application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,"
         "text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
         300, 200, 500},
        {"text/plain,", 1000, 0, 0},
        {" , ,\ttext/plain", 1000, 0, 0},
        {"text/plainx, xtext/plain, text/, /plain, *, */plain, text", 0, 0, 0},
        /* A range with an invalid q is ignored. A header without any valid range accepts every type. */
        {"text/plain;q=1.1, application/json", 0, 1000, 0},
        {"text/plain;q=-1", 1000, 1000, 1000},
        {"text/plain;q=", 1000, 1000, 1000},
        {"text/plain;q=0.1234", 1000, 1000, 1000},
        {"text/plain;q=1e3", 1000, 1000, 1000},
        {"text/plain;q=01", 1000, 1000, 1000},
        {"text/plain;q=2", 1000, 1000, 1000},
        {"", 1000, 1000, 1000},
        {";;;,,,;", 1000, 1000, 1000},
    };
    for (size_t i = 0; i < VS_COUNT(cases); i++) {
        struct vs_accept accept = read_one(cases[i].text);
        int plain = vs_accept_q(&accept, VS_TYPE_TEXT), json = vs_accept_q(&accept, VS_TYPE_JSON);
        int metrics = vs_accept_q(&accept, VS_TYPE_OPENMETRICS);
        if (plain != cases[i].plain || json != cases[i].json || metrics != cases[i].metrics)
            CHECK_FAIL("'%s': %d %d %d", cases[i].text, plain, json, metrics);
    }
}

static void joins(void) {
    struct vs_accept accept = {0};
    vs_accept_read(&accept, (struct vs_slice){"text/plain;q=0.5", 16});
    vs_accept_read(&accept, (struct vs_slice){"application/json", 16});
    CHECK_EQ_I64(vs_accept_q(&accept, VS_TYPE_TEXT), 500);
    CHECK_EQ_I64(vs_accept_q(&accept, VS_TYPE_JSON), 1000);
}

static void survives(void) {
    static const char letters[] = "*/;,q=.01 \tatext/plain\0\xff";
    uint64_t dice = 11;
    for (int i = 0; i < 20000; i++) {
        char text[40];
        size_t length = (size_t)(i % 40);
        for (size_t at = 0; at < length; at++) {
            text[at] = letters[roll_below(&dice, sizeof letters)];
        }
        struct vs_accept accept = {0};
        vs_accept_read(&accept, (struct vs_slice){at_wall(text, length), length});
        for (int type = 0; type < VS_TYPES; type++)
            CHECK(vs_accept_q(&accept, type) >= 0 && vs_accept_q(&accept, type) <= 1000);
    }
}

static const struct check_case cases[] = {
    {"a type has the q of the most specific range that matches it", reads_weights},
    {"several headers are one list", joins},
    {"no byte outside the header is read, whatever is sent", survives},
};

CHECK_MAIN(cases)
