/* resp_parse.c -- the RESP parser: valid requests, every prefix of them, and hostile ones, in front of a guard page. */
#include "base/array.h"
#include "check.h"
#include "proto/resp.h"
#include "tools.h"

#define ROOM (2 << 20)

static struct vs_args args;

static int parse(const char *bytes, size_t length) {
    memset(&args, 0xee, sizeof args); /* so that no old value looks like a result */
    return vs_resp_parse(at_wall(bytes, length), length, &vs_resp_limits, &args);
}

static int parse_text(const char *text) {
    return parse(text, strlen(text));
}

static const struct {
    const char *bytes;
    int count;
    const char *words; /* the expected arguments, joined by '|' */
} good[] = {
    {"*1\r\n$4\r\nPING\r\n", 1, "PING"},
    {"*2\r\n$3\r\nGET\r\n$7\r\ndefault\r\n", 2, "GET|default"},
    {"*3\r\n$4\r\nMGET\r\n$1\r\na\r\n$0\r\n\r\n", 3, "MGET|a|"},
    {"*2\r\n$4\r\nECHO\r\n$10\r\n$1\r\n*\r\n\r\n+\r\n", 2, "ECHO|$1\r\n*\r\n\r\n+"},
    {"*0\r\n", 0, ""},
    {"PING\r\n", 1, "PING"},
    {"PING\n", 1, "PING"},
    {"  GET \t default  \r\n", 2, "GET|default"},
    {"\r\n", 0, ""},
    {"\n", 0, ""},
    {"GET\tdefault\v \f\r\n", 2, "GET|default\v"},
    {"\f\vGET\r\"default\"\f\r\n", 2, "GET|default"},
    {"ECHO \"a b\"\r\n", 2, "ECHO|a b"},
    {"ECHO 'a b' \"\"\r\n", 3, "ECHO|a b|"},
    {"ECHO a\"b c\" d'e f'\n", 3, "ECHO|ab c|de f"},
    {"ECHO \"\\n\\r\\t\\b\\a\\\\\\\"\\q'\"\r\n", 2, "ECHO|\n\r\t\b\a\\\"q'"},
    {"ECHO \"\\x41\\xfF\\x4g\\x\"\r\n", 2, "ECHO|A\xffx4gx"},
    {"ECHO 'it\\'s' '\\n\\x41\"'\r\n", 3, "ECHO|it's|\\n\\x41\""},
    {"ECHO \\n a\\\r\n", 3, "ECHO|\\n|a\\"},
    {"\"ECHO\" \"hi\"\r\n", 2, "ECHO|hi"},
};

static void check_words(const char *want) {
    char got[256] = "";
    size_t used = 0;
    for (int i = 0; i < args.count; i++) {
        if (i) got[used++] = '|';
        memcpy(got + used, args.at[i].at, args.at[i].length);
        used += args.at[i].length;
    }
    got[used] = '\0';
    CHECK_STR(got, want);
}

static void reads(void) {
    for (size_t i = 0; i < VS_COUNT(good); i++) {
        CHECK_EQ_I64(parse_text(good[i].bytes), (int)strlen(good[i].bytes));
        CHECK_EQ_I64(args.count, good[i].count);
        check_words(good[i].words);
    }
}

static void wants_more(void) {
    for (size_t i = 0; i < VS_COUNT(good); i++)
        for (size_t length = 0; length < strlen(good[i].bytes); length++)
            CHECK_EQ_I64(parse(good[i].bytes, length), 0);
}

static void leaves_the_next(void) {
    for (size_t i = 0; i < VS_COUNT(good); i++) {
        char two[128];
        snprintf(two, sizeof two, "%s%s", good[i].bytes, "*1\r\n$4\r\nQUIT\r\n");
        CHECK_EQ_I64(parse_text(two), (int)strlen(good[i].bytes));
        check_words(good[i].words);
    }
}

static void refuses(void) {
    static const char *const bad[] = {"*1000000000\r\n",
                                      "*1025\r\n",
                                      "*-1\r\n",
                                      "*-2\r\n",
                                      "*+1\r\n",
                                      "*01\r\n",
                                      "*\r\n",
                                      "* 1\r\n",
                                      "*1 \r\n",
                                      "*1\n$4\nPING\n",
                                      "*1\r$4\r\n",
                                      "*99999999999999999999\r\n",
                                      "*1\r\n$2147483648\r\n",
                                      "*1\r\n$65537\r\n",
                                      "*1\r\n$-1\r\n",
                                      "*1\r\n$-2\r\n",
                                      "*1\r\n$04\r\nPING\r\n",
                                      "*1\r\n$\r\n",
                                      "*1\r\nPING\r\n",
                                      "*1\r\n*1\r\n$4\r\nPING\r\n",
                                      "*1\r\n:4\r\n",
                                      "*1\r\n$4\r\nPINGPONG\r\n",
                                      "*1\r\n$4\r\nPINGX",
                                      "*1\r\n$4\r\nPING\rX",
                                      "*1\r\n$4\nPING\r\n",
                                      "*1\r\n$0x4\r\n",
                                      "*1\r\n$4.0\r\n",
                                      "*1;2\r\n",
                                      "ECHO \"a\r\n",
                                      "ECHO 'a\r\n",
                                      "ECHO \"a\"b\r\n",
                                      "ECHO 'a'b\r\n",
                                      "ECHO 'a''b'\r\n",
                                      "ECHO \"a\\\"\r\n",
                                      "ECHO 'a\\'\r\n",
                                      "ECHO it's\r\n",
                                      "\"\n",
                                      "\"\\\n",
                                      "\x16\x03\x01\x02"};
    for (size_t i = 0; i < VS_COUNT(bad); i++) {
        int rc = parse_text(bad[i]);
        if (rc >= 0 || !args.broken) CHECK_FAIL("case %zu: got %d", i, rc);
    }
}

/* A bulk string is rejected at its first wrong byte, but not before its last byte has arrived. */
static void refuses_early(void) {
    CHECK(parse_text("*9x") < 0);
    CHECK(parse_text("*1\r\n+") < 0);
    CHECK(parse_text("*1\r\n$3\r\nGET?") < 0);
    CHECK(parse_text("*12345678901") < 0);
}

static void bounds_inline(void) {
    char *line = malloc(VS_RESP_INLINE_MAX + 2);
    memset(line, 'x', VS_RESP_INLINE_MAX + 2);
    CHECK_EQ_I64(parse(line, VS_RESP_INLINE_MAX - 1), 0);
    CHECK(parse(line, VS_RESP_INLINE_MAX) < 0);
    line[VS_RESP_INLINE_MAX - 1] = '\n';
    CHECK_EQ_I64(parse(line, VS_RESP_INLINE_MAX), VS_RESP_INLINE_MAX);
    for (int i = 0; i < VS_RESP_INLINE_MAX - 1; i += 2)
        line[i] = ' ';
    CHECK(parse(line, VS_RESP_INLINE_MAX) < 0); /* it has 32767 words */
    CHECK_HAS(args.broken, "too many");
    free(line);
}

static void bounds_arrays(void) {
    char *text = malloc(ROOM);
    size_t used = (size_t)sprintf(text, "*%d\r\n", VS_RESP_ARGS_MAX);
    for (int i = 0; i < VS_RESP_ARGS_MAX; i++)
        used += (size_t)sprintf(text + used, "$%d\r\n%0*d\r\n", 64, 64, i);
    CHECK_EQ_I64(parse(text, used), (int)used);
    CHECK_EQ_I64(args.count, VS_RESP_ARGS_MAX);
    used = (size_t)sprintf(text, "*1\r\n$%d\r\n", VS_RESP_BULK_MAX);
    memset(text + used, 'x', VS_RESP_BULK_MAX);
    memcpy(text + used + VS_RESP_BULK_MAX, "\r\n", 2);
    used += VS_RESP_BULK_MAX + 2;
    CHECK_EQ_I64(parse(text, used), (int)used);
    CHECK_EQ_U64(args.at[0].length, VS_RESP_BULK_MAX);
    free(text);
}

static void bounds_the_whole(void) {
    char *text = malloc(ROOM);
    size_t used = (size_t)sprintf(text, "*1024\r\n");
    while (used + VS_RESP_BULK_MAX + 16 < VS_RESP_REQUEST_MAX) {
        used += (size_t)sprintf(text + used, "$%d\r\n", VS_RESP_BULK_MAX);
        memset(text + used, 'x', VS_RESP_BULK_MAX);
        memcpy(text + used + VS_RESP_BULK_MAX, "\r\n", 2);
        used += VS_RESP_BULK_MAX + 2;
    }
    CHECK_EQ_I64(parse(text, used), 0);
    used += (size_t)sprintf(text + used, "$%d\r\n", VS_RESP_BULK_MAX);
    memset(text + used, 'x', VS_RESP_BULK_MAX);
    CHECK(parse(text, VS_RESP_REQUEST_MAX) < 0);
    CHECK_HAS(args.broken, "too big");
    free(text);
}

/* Before authentication the limits are the same as in Redis. */
static void bounds_before_authentication(void) {
    const struct vs_resp_limits *limits = &vs_resp_stranger_limits;
    char *text = malloc(ROOM);
    CHECK_EQ_I64(vs_resp_parse("*10\r\n", 5, limits, &args), 0);
    CHECK(vs_resp_parse("*11\r\n", 5, limits, &args) < 0);
    CHECK_HAS(args.broken, "0 to 10)");
    CHECK_EQ_I64(vs_resp_parse("*1\r\n$16384\r\n", 12, limits, &args), 0);
    CHECK(vs_resp_parse("*1\r\n$16385\r\n", 12, limits, &args) < 0);
    CHECK_HAS(args.broken, "0 to 16384)");
    memset(text, 'x', ROOM);
    CHECK_EQ_I64(vs_resp_parse(text, 4095, limits, &args), 0);
    CHECK(vs_resp_parse(text, 4096, limits, &args) < 0);
    CHECK_HAS(args.broken, "4096");
    CHECK(vs_resp_parse("a a a a a a a a a a a\n", 22, limits, &args) < 0);
    size_t used = (size_t)sprintf(text, "*10\r\n"); /* so a request is far smaller than the 1 MiB that Redis allows */
    for (int i = 0; i < 10; i++)
        used += (size_t)sprintf(text + used, "$16384\r\n%016384d\r\n", i);
    CHECK_EQ_I64(vs_resp_parse(text, used, limits, &args), (int)used);
    CHECK(used < VS_RESP_REQUEST_MAX / 4);
    free(text);
}

static const struct check_case cases[] = {
    {"requests are read, as arrays and as inline commands", reads},
    {"every prefix of a request needs more bytes", wants_more},
    {"a request ends at its last byte, whatever follows", leaves_the_next},
    {"wrong, negative, signed, padded, nested and huge lengths are protocol errors", refuses},
    {"invalid input is rejected at its first wrong byte", refuses_early},
    {"an inline command has at most 64 KiB and 1024 words", bounds_inline},
    {"an array has at most 1024 strings of 64 KiB", bounds_arrays},
    {"a request has at most 1 MiB", bounds_the_whole},
    {"before authentication: 10 strings of 16 KiB, or a line of 4 KiB", bounds_before_authentication},
};
CHECK_MAIN(cases)
