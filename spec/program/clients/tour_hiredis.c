/* tour_hiredis.c -- PORT [PASSWORD]: the tour of spec/program/clients/clients.py with hiredis. */
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>

static void fail(const char *text) {
    fprintf(stderr, "%s\n", text);
    exit(1);
}

static void say(const char *step, redisReply *reply) {
    if (!reply) fail("the connection broke");
    if (reply->type == REDIS_REPLY_ERROR) fail(reply->str);
    printf("%s", step);
    if (reply->type == REDIS_REPLY_STRING) printf(" %s", reply->str);
    for (size_t i = 0; i < reply->elements; i++)
        printf(" %s", reply->element[i]->str);
    puts("");
    freeReplyObject(reply);
}

static redisReply *next_reply(redisContext *redis) {
    void *reply = NULL;
    if (redisGetReply(redis, &reply) != REDIS_OK) fail(redis->errstr);
    return reply;
}

static void pipeline(redisContext *redis) {
    for (int i = 0; i < 10; i++)
        redisAppendCommand(redis, "GET default");
    printf("pipeline");
    for (int i = 0; i < 10; i++) {
        redisReply *reply = next_reply(redis);
        printf(" %s", reply->str);
        freeReplyObject(reply);
    }
    puts("");
}

static void transaction(redisContext *redis) {
    redisAppendCommand(redis, "MULTI");
    for (int i = 0; i < 3; i++)
        redisAppendCommand(redis, "GET %s", "default");
    redisAppendCommand(redis, "EXEC");
    for (int i = 0; i < 4; i++)
        freeReplyObject(next_reply(redis));
    say("multi", next_reply(redis));
}

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    redisContext *redis = redisConnect("127.0.0.1", atoi(argv[1]));
    redisReply *reply;
    if (!redis || redis->err) fail("cannot connect");
    if (argc > 2) {
        reply = redisCommand(redis, "AUTH %s", argv[2]);
        if (!reply || reply->type == REDIS_REPLY_ERROR) fail(reply ? reply->str : "the connection broke");
        freeReplyObject(reply);
    }
    say("id", redisCommand(redis, "GET default"));
    say("batch", redisCommand(redis, "MGET default default default default default"));
    pipeline(redis);
    transaction(redis);
    reply = redisCommand(redis, "GET nowhere");
    if (!reply || reply->type != REDIS_REPLY_ERROR) fail("GET nowhere is no error");
    printf("error %s\n", reply->str);
    freeReplyObject(reply);
    say("id", redisCommand(redis, "GET default"));
    puts("done");
    redisFree(redis);
    return 0;
}
