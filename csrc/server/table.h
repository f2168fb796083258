/* table.h -- the table of commands of both protocols, one row each.  Included by commands.h, which declares the
 * handlers, and by commands.c, which fills struct vs_call.  The most frequent commands come first.  The rows also fill
 * docs/http.md and docs/redis.md (scripts/tables).
 *
 *   CALL   name, handler, args_min, args_max, flags, route, methods, params, json, help, route_help
 *   RESP   a row without a route
 *   ROUTE  a row that is not a command of the Redis protocol */
#define RESP(name, handler, args_min, args_max, flags, help)                                                           \
    CALL(name, handler, args_min, args_max, flags, NULL, 0, NULL, false, name help, NULL)
#define ROUTE(handler, flags, route, methods, params, json, help)                                                      \
    CALL(NULL, handler, 0, 0, flags, route, methods, params, json, NULL, help)

/* clang-format off: a row is not a statement */
CALL("GET", vs_on_next, 1, 1, VS_CALL_GIVES | VS_CALL_KEY | VS_NEEDS_GIVE, "/genid", VS_ANY_METHOD, "ns", false,
     "GET name -- the next id", "/genid?ns=NAME -- the next id, without a line end")
RESP("MGET", vs_on_many, 1, VS_RESP_ARGS_MAX - 1, VS_CALL_GIVES | VS_CALL_KEYS | VS_NEEDS_GIVE,
     " name... -- one id per name; if one fails, none is issued")
RESP("VESTA.NEXT", vs_on_some, 1, 4, VS_CALL_GIVES | VS_CALL_KEY | VS_NEEDS_GIVE,
     " name [n [UUID7|UUID8|ULID|HEX32 [prefix]]] -- the next n (1..10000) ids, or UUIDs (1..3000) and TypeIDs")
RESP("PING", vs_on_ping, 0, VS_RESP_ARGS_MAX - 1, 0, " [text] -- PONG, or the text")
ROUTE(vs_on_batch, VS_NEEDS_GIVE, "/v1/ids", VS_ANY_METHOD, "ns,n,format,shape,prefix", true,
      "/v1/ids?ns=NAME&n=1..10000&format=json|text&shape=uuid7|uuid8|ulid|hex32&prefix=TYPE -- the next n ids, or UUIDs "
      "(1..3000) and TypeIDs")
ROUTE(vs_on_explain, VS_NEEDS_READ, "/v1/ids/", VS_READ_METHODS, "ns,mask", true,
      "/v1/ids/{id}?ns=NAME&mask=0|1 -- the parts of an id (mask=1: of a masked id)")
ROUTE(vs_on_expid, VS_NEEDS_READ, "/expid", VS_ANY_METHOD, "id,ns", false, "/expid?id=ID&ns=NAME -- the parts of an id")
ROUTE(vs_on_transtime, VS_NEEDS_READ, "/transtime", VS_ANY_METHOD, "time,ns", false,
      "/transtime?time=TIME&ns=NAME -- the date of a time field")
ROUTE(vs_on_makeid, VS_NEEDS_MAKE, "/makeid", VS_ANY_METHOD, "*", false,
      "/makeid?time=&seq=&machine=&genMethod=&type=&version=&ns=NAME -- an id built from these fields")
ROUTE(vs_on_leaf_get, VS_NEEDS_GIVE, "/api/snowflake/get/", VS_ANY_METHOD, NULL, false,
      "/api/snowflake/get/{key} -- the next id of the namespace")
ROUTE(vs_on_leaf_segment, VS_NEEDS_GIVE, "/api/segment/get/", VS_ANY_METHOD, NULL, false,
      "/api/segment/get/{key} -- the next number of the tag")
ROUTE(vs_on_tinyid, VS_CALL_TINYID | VS_NEEDS_GIVE, "/tinyid/id/nextId", VS_ANY_METHOD, "bizType,batchSize,token", true,
      "/tinyid/id/nextId?bizType=TAG&batchSize=1..10000&token=TOKEN -- the next numbers of the tag")
ROUTE(vs_on_tinyid, VS_CALL_TINYID | VS_NEEDS_GIVE, "/tinyid/id/nextIdSimple", VS_ANY_METHOD,
      "bizType,batchSize,token", false,
      "/tinyid/id/nextIdSimple?bizType=TAG&batchSize=1..10000&token=TOKEN -- the next numbers of the tag, as text")
ROUTE(vs_on_tinyid_segment, VS_CALL_TINYID | VS_NEEDS_BLOCK, "/tinyid/id/nextSegmentId", VS_ANY_METHOD, "bizType,token",
      true, "/tinyid/id/nextSegmentId?bizType=TAG&token=TOKEN -- a range for tinyid's client")
ROUTE(vs_on_tinyid_segment, VS_CALL_TINYID | VS_NEEDS_BLOCK, "/tinyid/id/nextSegmentIdSimple", VS_ANY_METHOD,
      "bizType,token", false, "/tinyid/id/nextSegmentIdSimple?bizType=TAG&token=TOKEN -- the same range as text")
CALL("VESTA.RESERVE", vs_on_reserve, 1, 2, VS_CALL_KEY | VS_CALL_ALONE | VS_NEEDS_GIVE, "/v1/reservations", VS_POST,
     "tag,hold_ms", true,
     "VESTA.RESERVE tag [hold_ms] -- reserves the next number of a gapless tag",
     "/v1/reservations?tag=TAG&hold_ms=60000 -- reserves the next number of a gapless tag")
CALL("VESTA.COMMIT", vs_on_commit, 3, 3, VS_CALL_KEY | VS_CALL_ALONE | VS_NEEDS_GIVE, "/v1/reservations/commit",
     VS_POST, "tag,number,token", true,
     "VESTA.COMMIT tag number token -- commits a reserved number",
     "/v1/reservations/commit?tag=TAG&number=N&token=TOKEN -- commits a reserved number")
CALL("VESTA.CANCEL", vs_on_cancel, 3, 3, VS_CALL_KEY | VS_CALL_ALONE | VS_NEEDS_GIVE, "/v1/reservations/cancel",
     VS_POST, "tag,number,token", true,
     "VESTA.CANCEL tag number token -- returns a reserved number",
     "/v1/reservations/cancel?tag=TAG&number=N&token=TOKEN -- returns a reserved number")
CALL("VESTA.LEASE", vs_on_lease, 1, 4, VS_CALL_KEY | VS_CALL_ALONE | VS_NEEDS_LEASE, "/v1/leases", VS_POST,
     "ns,ttl,worker,name", true,
     "VESTA.LEASE name [ttl [worker|* [program]]] -- leases a worker id for a program, for ttl seconds",
     "/v1/leases?ns=NAME&ttl=30&worker=N&name=PROGRAM -- leases a worker id for a program, for ttl seconds")
ROUTE(vs_on_lease_route, VS_CALL_HIDES | VS_NEEDS_LEASE, "/v1/leases/", VS_LEASE_METHODS, "ended_ms", true,
      "/v1/leases/{lease}?ended_ms=MS -- renews a lease (PUT), or releases it (DELETE)")
RESP("VESTA.RENEW", vs_on_renew, 1, 1, VS_CALL_ALONE | VS_NEEDS_LEASE, " lease -- renews the lease of a worker id")
RESP("VESTA.RELEASE", vs_on_release, 1, 2, VS_CALL_ALONE | VS_NEEDS_LEASE,
     " lease [ended_ms] -- releases a worker id (ended_ms: Unix time of the last id)")
CALL("VESTA.WATERMARK", vs_on_watermark, 1, 3, VS_CALL_KEY | VS_CALL_ALONE | VS_NEEDS_READ, "/v1/watermark",
     VS_READ_METHODS, "ns,by,leased_as", true,
     "VESTA.WATERMARK name [ID|TIME [leased_as]] -- the id up to which an event table is complete",
     "/v1/watermark?ns=NAME&by=time&leased_as=NAME.2 -- the id up to which an event table is complete")
ROUTE(vs_on_segments, VS_CALL_DEAR | VS_CALL_OPS | VS_NEEDS_READ, "/v1/segments", VS_READ_METHODS, "tag,after", true,
      "/v1/segments?tag=TAG&after=TAG -- the state of the tags: buffers, step, speed, next refill")
ROUTE(vs_on_leaf_decode, VS_NEEDS_READ, "/decodeSnowflakeId", VS_ANY_METHOD, "snowflakeId,ns", false,
      "/decodeSnowflakeId?snowflakeId=ID&ns=NAME -- the parts of an id, in Leaf's format")
ROUTE(vs_on_healthz, VS_CALL_OPS | VS_CALL_OPEN, "/healthz", VS_READ_METHODS, NULL, false,
      "/healthz -- 200 while the process answers")
ROUTE(vs_on_readyz, VS_CALL_DEAR | VS_CALL_OPS | VS_CALL_STATE | VS_CALL_OPEN, "/readyz", VS_READ_METHODS, NULL, true,
      "/readyz -- 200 if ids are available, else 503 and the reason")
ROUTE(vs_on_metrics, VS_CALL_DEAR | VS_CALL_OPS | VS_CALL_STATE | VS_NEEDS_READ | VS_CALL_SHOWS_ALL, "/metrics", VS_READ_METHODS, NULL,
      false, "/metrics -- the metrics, for Prometheus")
ROUTE(vs_on_version, VS_CALL_OPS | VS_CALL_STATE, "/version", VS_READ_METHODS, NULL, true,
      "/version -- the versions of vesta and its Lua")
ROUTE(vs_on_admin_status, VS_CALL_DEAR | VS_CALL_ADMIN, "/admin/status", VS_READ_METHODS, "ns", true,
      "/admin/status?ns=NAME -- the state of the server, and of this namespace or the first 64")
ROUTE(vs_on_admin_events, VS_CALL_DEAR | VS_CALL_ADMIN, "/admin/events", VS_READ_METHODS, "all", true,
      "/admin/events?all=1 -- the state as server-sent events, once a second (all=1: with the page's other data)")
ROUTE(vs_on_admin_history, VS_CALL_DEAR | VS_CALL_ADMIN, "/admin/history", VS_READ_METHODS, "ns", true,
      "/admin/history?ns=NAME -- ids issued and requests rejected in the last hour, in steps of ten seconds")
ROUTE(vs_on_admin_workers, VS_CALL_DEAR | VS_CALL_ADMIN, "/admin/workers", VS_READ_METHODS, "ns", true,
      "/admin/workers?ns=NAME -- the holder of each worker id, as last read from the store")
ROUTE(vs_on_admin_clients, VS_CALL_DEAR | VS_CALL_ADMIN, "/admin/clients", VS_READ_METHODS, "client,address,after,n,by", true,
      "/admin/clients?client=NAME&address=HOST&after=ID&n=1..400&by=id|ids -- clients and their connections")
ROUTE(vs_on_admin_end, VS_CALL_DEAR | VS_CALL_ADMIN, "/admin/clients/end", VS_POST, "client,address,id", true,
      "/admin/clients/end?client=NAME&address=HOST&id=ID -- closes the connections that match all parameters")
ROUTE(vs_on_page_file, VS_CALL_ADMIN, "/page/", VS_READ_METHODS, NULL, false,
      "/page/{file} -- files of the page at /")
ROUTE(vs_on_admin_reload, VS_CALL_ADMIN, "/admin/reload", VS_POST, NULL, true,
      "/admin/reload -- reloads policies, clients and tags, as HUP does")
ROUTE(vs_on_admin_drain, VS_CALL_ADMIN, "/admin/drain", VS_POST, NULL, true,
      "/admin/drain -- answers the requests in flight, then stops, as TERM does")
ROUTE(vs_on_admin_log, VS_CALL_ADMIN, "/admin/log", VS_POST, "level", true,
      "/admin/log?level=debug|info|warn|error -- sets the log level")
ROUTE(vs_on_index, VS_CALL_OPS, "/", VS_READ_METHODS, NULL, false, "/ -- this list")
CALL("VESTA.BLOCK", vs_on_block, 2, 4, VS_CALL_KEY | VS_CALL_ALONE | VS_NEEDS_BLOCK, "/v1/blocks", VS_ANY_METHOD,
     "ns,n,from,until", true,
     "VESTA.BLOCK name n [from until] -- up to n (1..100000) ids as a range, or all ids of past dates",
     "/v1/blocks?ns=NAME&n=1..100000&from=TIME&until=TIME -- up to n ids as a range, or all ids of past dates")
RESP("VESTA.EXPLAIN", vs_on_explain, 1, 3, VS_NEEDS_READ, " [name] id | name id MASK -- the parts of an id, or of a masked id")
RESP("VESTA.MAKE", vs_on_make, 1, VS_RESP_ARGS_MAX - 1, VS_NEEDS_MAKE, " name field value ... -- an id built from these fields")
RESP("VESTA.INFO", vs_on_vesta_info, 0, 0, VS_CALL_DEAR, " -- the namespaces and their state")
RESP("VESTA.LAYOUTS", vs_on_layouts, 0, 0, 0, " -- the presets of layouts")
RESP("INCR", vs_on_count, 1, 1, VS_CALL_GIVES | VS_CALL_KEY | VS_NEEDS_GIVE,
     " tag -- the next number of a tag; for a namespace use GET")
RESP("INCRBY", vs_on_count, 2, 2, VS_CALL_GIVES | VS_CALL_KEY | VS_NEEDS_GIVE,
     " tag n -- takes the next n (1..65536) consecutive numbers, returns the last; for a namespace use VESTA.NEXT")
RESP("DECR", vs_on_count_down, 1, 1, VS_CALL_KEY | VS_NEEDS_GIVE, " tag -- rejected: tags do not count down")
RESP("DECRBY", vs_on_count_down, 2, 2, VS_CALL_KEY | VS_NEEDS_GIVE, " tag n -- rejected: tags do not count down")
RESP("MULTI", vs_on_multi, 0, 0, VS_CALL_NOW, " -- queues the following commands until EXEC")
RESP("EXEC", vs_on_exec, 0, 0, VS_CALL_NOW | VS_CALL_EXEC, " -- runs the queued commands, returns their replies")
RESP("DISCARD", vs_on_discard, 0, 0, VS_CALL_NOW, " -- discards the queued commands")
RESP("WATCH", vs_on_watch, 1, VS_RESP_ARGS_MAX - 1, VS_CALL_NOW, " name... -- accepted, without effect")
RESP("UNWATCH", vs_on_ok, 0, 0, 0, " -- accepted, without effect")
RESP("ECHO", vs_on_echo, 1, 1, 0, " text -- the text")
RESP("TIME", vs_on_time, 0, 0, 0, " -- seconds and microseconds")
RESP("HELLO", vs_on_hello, 0, VS_RESP_ARGS_MAX - 1, VS_CALL_STRANGER | VS_CALL_ALONE,
     " [2|3 [AUTH user password] [SETNAME name]] -- chooses the protocol and logs in")
RESP("AUTH", vs_on_auth, 1, 2, VS_CALL_STRANGER | VS_CALL_ALONE, " [user] password -- logs in")
RESP("ACL", vs_on_acl, 1, VS_RESP_ARGS_MAX - 1, 0, " WHOAMI -- the client's name")
RESP("RESET", vs_on_reset, 0, 0, VS_CALL_STRANGER | VS_CALL_NOW, " -- resets the connection to its initial state")
RESP("QUIT", vs_on_quit, 0, VS_RESP_ARGS_MAX - 1, VS_CALL_STRANGER | VS_CALL_NOW, " -- closes the connection")
RESP("CLIENT", vs_on_client, 1, VS_RESP_ARGS_MAX - 1, VS_CALL_DEAR,
     " SETNAME name | GETNAME | ID | INFO | LIST [TYPE type | ID id...] | KILL address | KILL [ID id] [ADDR address] "
     "[LADDR address] [USER name] [TYPE type] [SKIPME yes|no] | SETINFO key value | NO-EVICT on|off | NO-TOUCH on|off -- "
     "the connections")
RESP("SELECT", vs_on_select, 1, 1, 0, " 0..15 -- accepted, without effect")
RESP("COMMAND", vs_on_command, 0, VS_RESP_ARGS_MAX - 1, VS_CALL_DEAR, " [COUNT | LIST | INFO name... | DOCS name...] -- the commands")
RESP("CONFIG", vs_on_config, 1, VS_RESP_ARGS_MAX - 1, VS_CALL_DEAR, " GET pattern... -- the settings that match")
RESP("INFO", vs_on_info, 0, VS_RESP_ARGS_MAX - 1, VS_CALL_DEAR, " [section...] -- the state of the server")
RESP("SLOWLOG", vs_on_slowlog, 1, VS_RESP_ARGS_MAX - 1, 0, " GET [n] | LEN | RESET -- an empty log: slow commands are not recorded")
RESP("LATENCY", vs_on_latency, 1, VS_RESP_ARGS_MAX - 1, 0,
     " LATEST | HISTORY event | HISTOGRAM | RESET | DOCTOR -- no events: they are not recorded")
RESP("MEMORY", vs_on_memory, 1, VS_RESP_ARGS_MAX - 1, VS_CALL_DEAR, " STATS | DOCTOR -- the memory of the server")
RESP("MODULE", vs_on_module, 1, VS_RESP_ARGS_MAX - 1, 0, " LIST -- an empty list")
RESP("CLUSTER", vs_on_cluster, 1, VS_RESP_ARGS_MAX - 1, 0, " subcommand -- an error: the server is not a cluster")
RESP("ROLE", vs_on_role, 0, 0, 0, " -- master, without replicas")
RESP("LASTSAVE", vs_on_lastsave, 0, 0, 0, " -- the time of the server's start")
RESP("DBSIZE", vs_on_dbsize, 0, 0, 0, " -- 0: nothing is stored")
RESP("READONLY", vs_on_ok, 0, 0, 0, " -- accepted, without effect")
RESP("READWRITE", vs_on_ok, 0, 0, 0, " -- accepted, without effect")
RESP("WAIT", vs_on_wait, 2, 2, 0, " replicas ms -- 0, the number of replicas")
/* clang-format on */

#undef RESP
#undef ROUTE
