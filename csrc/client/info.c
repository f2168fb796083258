/* info.c -- vesta_client_get_info and vesta_client_pause_text. */
#include "client/client.h"

#include <stdio.h>
#include <string.h>

static void copy_source(struct vesta_client *client, int source, const char *address, struct vesta_client_source *out) {
    *out = client->shared->source[source];
    snprintf(out->address, sizeof out->address, "%s", address);
}

void vesta_client_get_info(struct vesta_client *client, struct vesta_client_info *out) {
    struct vs_client_shared *shared = client->shared;
    const struct vs_setup *setup = &client->setup;
    vs_client_lock(client);
    *out = shared->info;
    out->left = shared->current.block.count;
    out->next_left = shared->next.block.count;
    if (out->block_ids == 0) out->block_ids = setup->block_min;
    for (int i = 0; i < setup->server_count; i++)
        copy_source(client, i, setup->server[i].address, &out->server[i]);
    copy_source(client, VS_FALLBACK, "fallback", &out->fallback);
    vs_client_unlock(client);
    snprintf(out->name, sizeof out->name, "%s", setup->name);
    out->server_count = setup->server_count;
    for (int i = 0; i < setup->server_count; i++)
        out->requests += out->server[i].requests;
    out->fallback_blocks = out->fallback.blocks;
}

/* Appends a source's error or state, truncated to fit. */
static void info_append(char *buf, size_t size, const struct vesta_client_source *source) {
    size_t used = strlen(buf);
    const char *said = *source->error   ? source->error
                       : source->blocks ? "replied, but its next block has not arrived yet"
                       : source->is_up  ? "has not replied yet"
                                        : "is being connected";
    size_t named = strlen(source->address);
    bool is_named = strncmp(said, source->address, named) == 0; /* connection errors begin with the address */
    snprintf(buf + used, size - used, "; %s%s%s", is_named ? "" : source->address, is_named ? "" : ": ", said);
}

void vesta_client_pause_text(struct vesta_client *client, const struct vesta_pause *pause, char *buf, size_t size) {
    struct vesta_client_info info;
    (void)pause; /* unused, because a client has only one kind of pause */
    if (size == 0) return;
    vesta_client_get_info(client, &info);
    snprintf(buf, size, "no block of '%s' is available", info.name);
    for (int i = 0; i < info.server_count; i++)
        info_append(buf, size, &info.server[i]);
    if (client->setup.fallback && *info.fallback.error) info_append(buf, size, &info.fallback);
}
