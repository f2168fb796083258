/* question.c -- what a policy is asked, kept for later: a copy of its ctx with all that it points to. */
#include "policy/control/shadow.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static size_t size_of(const char *text) {
    return text ? strlen(text) + 1 : 0;
}

static size_t bytes_of(const struct vs_ctx *ctx) {
    size_t bytes = size_of(ctx->text);
    if (ctx->peers) bytes += ctx->count * sizeof *ctx->peers;
    for (size_t i = 0; ctx->records && i < ctx->count; i++)
        bytes += sizeof *ctx->records + size_of(ctx->records[i].holder) + size_of(ctx->records[i].identity);
    return bytes;
}

/* What is kept: first what wants an alignment, in one piece, then the texts. */
struct room {
    char *rows, *texts;
};

static const char *keep_text(struct room *room, const char *text) {
    if (!text) return NULL;
    char *at = memcpy(room->texts, text, size_of(text));
    room->texts += size_of(text);
    return at;
}

static const void *keep_rows(struct room *room, const void *rows, size_t bytes) {
    void *at = memcpy(room->rows, rows, bytes);
    room->rows += bytes;
    return at;
}

static void keep_records(struct room *room, struct vs_ctx *ctx) {
    struct vs_ctx_record *record = (struct vs_ctx_record *)room->rows;
    keep_rows(room, ctx->records, ctx->count * sizeof *record);
    for (size_t i = 0; i < ctx->count; i++) {
        record[i].holder = keep_text(room, record[i].holder);
        record[i].identity = keep_text(room, record[i].identity);
    }
    ctx->records = record;
}

bool vs_question_keep(struct vs_question_copy *to, const struct vs_hook_input *from) {
    size_t bytes = 1, rows = 0;
    assert(from->count <= VS_CTX_MAX);
    for (size_t i = 0; i < from->count; i++) {
        bytes += bytes_of(&from->ctx[i]);
        if (from->ctx[i].records) rows += from->ctx[i].count * sizeof *from->ctx[i].records;
        if (from->ctx[i].peers) rows += from->ctx[i].count * sizeof *from->ctx[i].peers;
    }
    char *memory = malloc(bytes);
    if (!memory) return false;
    struct room room = {memory, memory + rows};
    *to = (struct vs_question_copy){.hook = from->hook, .count = from->count, .memory = memory};
    for (size_t i = 0; i < from->count; i++) {
        struct vs_ctx *ctx = &to->ctx[i];
        *ctx = from->ctx[i];
        ctx->text = keep_text(&room, ctx->text);
        if (ctx->records) keep_records(&room, ctx);
        if (ctx->peers) ctx->peers = keep_rows(&room, ctx->peers, ctx->count * sizeof *ctx->peers);
    }
    return true;
}

void vs_question_free(struct vs_question_copy *question) {
    free(question->memory);
    *question = (struct vs_question_copy){0};
}
