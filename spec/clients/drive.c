/* drive.c -- runs libvesta_client by the commands in README. */
#include "vesta_client.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LINE_MAX_BYTES (1 << 20)
#define ID_TEXT_MAX 22

static struct vesta_client *client;
static struct vesta_gen *fallback;
static int64_t wait_us;

/* A reply: ids until the first error, and that error. */
struct said {
    char *ids;
    size_t length;
    char error[2048];
};

static void decode(char *text) {
    char *to = text;
    for (; *text; text++) {
        char digits[3] = {0};
        if (*text == '%' && text[1] && text[2]) {
            memcpy(digits, text + 1, 2);
            *to++ = (char)strtol(digits, NULL, 16);
            text += 2;
        } else {
            *to++ = *text;
        }
    }
    *to = '\0';
}

static void close_client(void) {
    vesta_client_close(client);
    vesta_close(fallback);
    client = NULL;
    fallback = NULL;
}

/* Opens the fallback generator from the options in `text`. */
static int open_fallback(const char *text, struct vesta_client_opts *opts, struct vesta_error *err) {
    int rc = vesta_open_text(text, &fallback, err);
    opts->fallback = fallback;
    return rc;
}

static void open_client(char *pairs) {
    struct vesta_client_opts opts = VESTA_CLIENT_OPTS_INIT;
    struct vesta_error err;
    char *rest = NULL;
    int rc = VESTA_OK;
    close_client();
    wait_us = 5 * 1000 * 1000;
    opts.servers = "";
    for (char *pair = strtok_r(pairs, " ", &rest); pair; pair = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(pair, '=');
        if (!value) continue;
        *value++ = '\0';
        decode(value);
        int64_t number = strtoll(value, NULL, 10);
        if (strcmp(pair, "servers") == 0) opts.servers = value;
        if (strcmp(pair, "name") == 0) opts.name = value;
        if (strcmp(pair, "password") == 0) opts.password = value;
        if (strcmp(pair, "user") == 0) opts.user = value;
        if (strcmp(pair, "secret_file") == 0) opts.secret_file = value;
        if (strcmp(pair, "tls_ca") == 0) opts.tls_ca = value;
        if (strcmp(pair, "tls_certificate") == 0) opts.tls_certificate = value;
        if (strcmp(pair, "tls_key") == 0) opts.tls_key = value;
        if (strcmp(pair, "tls_unverified") == 0) opts.tls_unverified = strcmp(value, "yes") == 0;
        if (strcmp(pair, "size") == 0) opts.block_min = opts.block_max = number;
        if (strcmp(pair, "ttl") == 0) opts.ttl_ms = number;
        if (strcmp(pair, "timeout") == 0) opts.timeout_ms = number;
        if (strcmp(pair, "wait") == 0) wait_us = number * 1000;
        if (strcmp(pair, "fallback") == 0 && rc == VESTA_OK) rc = open_fallback(value, &opts, &err);
    }
    if (rc == VESTA_OK) rc = vesta_client_open(&opts, &client, &err);
    if (rc != VESTA_OK) {
        client = NULL;
        printf("error %s\n", err.text);
    } else {
        puts("ok");
    }
}

static void take(struct said *said, size_t count) {
    struct vesta_pause pause;
    uint64_t id;
    said->ids = malloc(count * ID_TEXT_MAX + 1);
    said->length = 0;
    said->error[0] = '\0';
    if (!said->ids) abort();
    for (size_t i = 0; i < count; i++) {
        if (!client) {
            snprintf(said->error, sizeof said->error, "closed"); /* in C a closed handle must not be used */
            return;
        }
        if (vesta_client_next_wait(client, &id, wait_us, &pause) != VESTA_OK) {
            vesta_client_pause_text(client, &pause, said->error, sizeof said->error);
            return;
        }
        said->length += (size_t)sprintf(said->ids + said->length, " %" PRIu64, id);
    }
}

static void answer(const struct said *said, int count) {
    const char *error = "";
    printf("ids");
    for (int i = 0; i < count; i++) {
        fwrite(said[i].ids, 1, said[i].length, stdout);
        if (said[i].error[0]) error = said[i].error;
    }
    printf("%s%s\n", *error ? " error " : "", error);
}

static void uuids(size_t count) {
    struct vesta_pause pause;
    unsigned char *uuid = malloc(count * VESTA_UUID_BYTES + 1);
    char text[VESTA_UUID_TEXT_MAX];
    if (!uuid) abort();
    int rc = vesta_client_batch_uuid_wait(client, VESTA_UUID7, uuid, count, wait_us, &pause);
    if (rc != VESTA_OK) {
        if (rc == VESTA_EPAUSE) vesta_client_pause_text(client, &pause, text, sizeof text);
        printf("error %s: a namespace with room for a counter has UUIDs\n", rc == VESTA_EPAUSE ? text : "bad_option");
    } else {
        printf("uuids");
        for (size_t i = 0; i < count; i++) {
            vesta_uuid_format(VESTA_UUID7, uuid + i * VESTA_UUID_BYTES, text);
            printf(" %s", text);
        }
        putchar('\n');
    }
    free(uuid);
}

static size_t at_once_count;

static void *take_some(void *said) {
    take(said, at_once_count);
    return NULL;
}

static void at_once(int threads, size_t count) {
    struct said *said = calloc((size_t)threads, sizeof *said);
    pthread_t *thread = calloc((size_t)threads, sizeof *thread);
    if (!said || !thread) abort();
    at_once_count = count;
    for (int i = 0; i < threads; i++)
        if (pthread_create(&thread[i], NULL, take_some, &said[i]) != 0) abort();
    for (int i = 0; i < threads; i++)
        pthread_join(thread[i], NULL);
    answer(said, threads);
    for (int i = 0; i < threads; i++)
        free(said[i].ids);
    free(said);
    free(thread);
}

static void fork_and_take(size_t count) {
    int ends[2];
    if (pipe(ends) != 0) abort();
    pid_t child = fork();
    if (child < 0) abort();
    if (child == 0) {
        struct said said;
        take(&said, count);
        dprintf(ends[1], "ids%.*s%s%s\n", (int)said.length, said.ids, said.error[0] ? " error " : "", said.error);
        _exit(0);
    }
    close(ends[1]);
    char part[4096];
    for (ssize_t got; (got = read(ends[0], part, sizeof part)) > 0;)
        fwrite(part, 1, (size_t)got, stdout);
    close(ends[0]);
    waitpid(child, NULL, 0);
}

static void info(void) {
    struct vesta_client_info info;
    vesta_client_get_info(client, &info);
    printf("info blocks=%" PRIu64 " requests=%" PRIu64 " drops=%" PRIu64 " errors=", info.blocks, info.requests,
           info.drops);
    for (int i = 0; i < info.server_count; i++)
        printf("%s%s:%" PRIu64, i ? "," : "", info.server[i].address, info.server[i].errors);
    puts("");
}

/* Prints the defaults of ttl and timeout, the only ones that C has. The error for an invalid value names them. */
static void defaults(void) {
    struct vesta_client *none = NULL;
    printf("defaults");
    for (int i = 0; i < 2; i++) {
        struct vesta_client_opts opts = VESTA_CLIENT_OPTS_INIT;
        struct vesta_error err;
        opts.servers = "127.0.0.1:1";
        *(i ? &opts.timeout_ms : &opts.ttl_ms) = -1;
        if (vesta_client_open(&opts, &none, &err) == VESTA_OK) abort();
        const char *held = strstr(err.text, "default of ");
        printf(" %s=%lld", i ? "timeout" : "ttl", held ? strtoll(held + sizeof "default of", NULL, 10) : -1LL);
    }
    puts("");
}

int main(void) {
    static char line[LINE_MAX_BYTES];
    while (fgets(line, sizeof line, stdin)) {
        struct said said;
        int threads = 0;
        size_t count = 0;
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "open", 4) == 0) {
            open_client(line + 4);
        } else if (sscanf(line, "next %zu", &count) == 1) {
            take(&said, count);
            answer(&said, 1);
            free(said.ids);
        } else if (sscanf(line, "at_once %d %zu", &threads, &count) == 2) {
            at_once(threads, count);
        } else if (sscanf(line, "uuids %zu", &count) == 1) {
            uuids(count);
        } else if (sscanf(line, "fork %zu", &count) == 1) {
            fork_and_take(count);
        } else if (strcmp(line, "defaults") == 0) {
            defaults();
        } else if (strcmp(line, "info") == 0) {
            info();
        } else if (strcmp(line, "close") == 0) {
            close_client();
            puts("ok");
        } else {
            printf("error no command %s\n", line);
        }
        fflush(stdout);
    }
    close_client();
    return 0;
}
