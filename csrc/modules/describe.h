/* describe.h -- a server as its config describes it.  lua/cli/lib/server.lua adds facts about the machine. */
#ifndef VS_DESCRIBE_H
#define VS_DESCRIBE_H

#include "config/config.h"

#include <lauxlib.h>

/* Pushes the description of a server:
 *   path, user, group, clients   path and user of the config, path of its file of clients; nil: not set
 *   has_password                 the Redis protocol requires a password
 *   log, access_log              paths of the log files, or nil
 *   notes                        warnings about the config, a list of texts
 *   proxies                      networks whose connections begin with a PROXY header, a list of texts
 *   addresses                    a list of { protocol = "http", "resp" or "admin", address as written, plain = without
 *                                tls:, is_tls, is_local = other machines cannot reach it }
 *   tls                          { certificate, key, client_ca, asks = "off", "optional" or "required" }, or nil
 *   namespaces                   a list of { name, path, store, policy, lease, layout, names_store = the config itself
 *                                names the store, place = the store's file or folder on this machine }
 *   segments                     a list of { place, table, order, form, step = 0 if the config has none,
 *                                is_any = every tag of the table, tags, stores = a list of { uri, secret, place, shown = the URI without its password } }
 * Stack: +1. */
void host_push_description(lua_State *L, const struct vs_config *config);

#endif
