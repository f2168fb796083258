/* find.c -- where the connection to Redis comes from. */
#include "main/fill/redis.h"
#include "store/module.h"

const struct vs_redis_client *vs_redis_find(struct vesta_error *err) {
    static const struct vs_module_file file = {"fill/redis", "vs_redis_module", "Redis client of vesta fill",
                                               "apt-get install libhiredis-dev and build vesta again"};
    const struct vs_redis_client *client = vs_module_load(&file, err);
    if (!client || (client->abi == VS_REDIS_ABI && client->redis_bytes == sizeof(struct vs_redis))) return client;
    return vs_module_foreign(&file, err);
}
