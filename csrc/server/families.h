/* families.h -- the table of /metrics, one row each, in the order of the page.  Included by counts.h, which declares
 * the counts, and by handlers/metrics.c, which writes them.  The rows also fill docs/metrics.md (scripts/tables).
 *
 *   COUNT         name, member, labels, kind, help       a member of struct vs_counts, which each event loop counts
 *   COUNT_OF_NET  name, member, labels, kind, help       a count that csrc/net declares
 *   VALUE         name, expression, kind, when, help     one sample: an expression in the scrape `m`
 *   FAMILY        name, put, kind, when, labels, help    samples with these labels, which the function `put` writes
 *
 * The labels of a COUNT name a row of the table in handlers/metrics.c: NONE, PROTO, CODE and so on. */
#ifndef COUNT_OF_NET
#define COUNT_OF_NET(...)
#endif
#ifndef VALUE
#define VALUE(...)
#endif
#ifndef FAMILY
#define FAMILY(...)
#endif

/* clang-format off: a row is not a statement */
VALUE(vesta_namespaces, m->server->names.count, GAUGE, ALWAYS, "Namespaces that the server serves")
FAMILY(vesta_namespaces_unready, vs_put_unready, GAUGE, ALWAYS, "", "Namespaces that cannot issue an id now")
FAMILY(vesta_ids_issued_total, vs_put_issued, COUNTER, ALWAYS, "namespace,proto",
       "Ids issued, including each id of a batch and of a block")
FAMILY(vesta_capacity_ids_per_second, vs_put_capacity, GAUGE, ALWAYS, "namespace",
       "Ids per second that the layout allows this process, or the rate limit of the namespace if that is lower")
FAMILY(vesta_pauses_total, vs_put_pauses, COUNTER, ALWAYS, "namespace,why",
       "Requests that found no id at once, by the first reason (most were served after a short wait)")
FAMILY(vesta_sequence_exhausted_total, vs_put_exhausted, COUNTER, ALWAYS, "namespace",
       "Requests that found the sequence of the time unit exhausted (full)")
FAMILY(vesta_clock_backwards_total, vs_put_backwards, COUNTER, ALWAYS, "namespace",
       "Requests that found the clock behind a time that ids already contain (clock_back)")
FAMILY(vesta_clock_drift_seconds, vs_put_drift, GAUGE, ALWAYS, "namespace",
       "Drift of the wall clock from uptime since the clock was last confirmed (ids pause if it is over 10 s ahead)")
FAMILY(vesta_ready, vs_put_ready, GAUGE, ALWAYS, "namespace",
       "1 if the namespace can issue an id now, else 0, as /readyz reports")
FAMILY(vesta_lease_held, vs_put_held, GAUGE, ALWAYS, "namespace",
       "1 if the namespace holds a lease of a worker id, else 0")
FAMILY(vesta_lease_expiry_timestamp_seconds, vs_put_expiry, GAUGE, ALWAYS, "namespace",
       "Time at which id generation stops unless the lease is renewed")
FAMILY(vesta_lease_renewals_total, vs_put_renewals, COUNTER, ALWAYS, "namespace,result", "Lease renewals, by result")
FAMILY(vesta_worker_id, vs_put_worker, GAUGE, ALWAYS, "namespace", "The leased worker id")
FAMILY(vesta_layout_end_timestamp_seconds, vs_put_layout_end, GAUGE, ALWAYS, "namespace",
       "Time at which the layout's time field ends")
VALUE(vesta_tags, m->served, GAUGE, OF_TAGS, "Tags that the server serves")
VALUE(vesta_tags_not_served, m->tags.passed, GAUGE, OF_TAGS,
       "Tags that are not served, because another tag or namespace has the same name, or there are too many tags")
VALUE(vesta_tag_tables_unread, m->tags.unread, GAUGE, OF_TAGS, "Tag tables that have not been read since the start")
FAMILY(vesta_tag_numbers_issued_total, vs_put_tag_numbers, COUNTER, OF_TAGS, "tag,proto", "Numbers issued")
FAMILY(vesta_tag_pauses_total, vs_put_tag_pauses, COUNTER, OF_TAGS, "tag", "Requests that found no number at once")
FAMILY(vesta_tag_ranges_total, vs_put_tag_ranges, COUNTER, OF_TAGS, "tag", "Ranges that the databases granted")
FAMILY(vesta_tag_store_errors_total, vs_put_tag_errors, COUNTER, OF_TAGS, "tag", "Failed requests for a range")
FAMILY(vesta_tag_numbers_left, vs_put_tag_left, GAUGE, OF_TAGS, "tag",
       "Numbers left in the ranges that this server holds")
FAMILY(vesta_tag_step, vs_put_tag_step, GAUGE, OF_TAGS, "tag", "Numbers that the server requests as the next range")
COUNT(vesta_network_leases_total, leases, LEASE, COUNTER,
      "Requests for leases of worker ids over the network, by result")
COUNT(vesta_requests_total, requests, CODE, COUNTER, "Requests answered, by error code, or ok")
FAMILY(vesta_request_duration_seconds, put_durations, HISTOGRAM, ALWAYS, "proto",
       "Time from reading a request to writing its response")
FAMILY(vesta_client_requests_total, put_client_requests, COUNTER, OF_CLIENTS, "client,result",
       "Requests answered, by client and result")
FAMILY(vesta_client_refused_total, put_client_refused, COUNTER, OF_CLIENTS, "client,reason",
       "Requests rejected, by client and reason")
FAMILY(vesta_client_connections, put_client_connections, GAUGE, OF_CLIENTS, "client", "Open connections, by client")
FAMILY(vesta_client_ids_total, put_client_ids, COUNTER, OF_CLIENTS, "client", "Ids and numbers issued, by client")
FAMILY(vesta_secrets_total, put_secrets, COUNTER, ALWAYS, "result",
       "Secrets that clients sent: right, wrong, or put_off (not checked after many wrong ones)")
FAMILY(vesta_connections, put_connections, GAUGE, ALWAYS, "proto", "Open connections")
FAMILY(vesta_loop_connections, put_loops, GAUGE, ALWAYS, "loop", "Open connections, by event loop")
COUNT(vesta_connections_accepted_total, accepted, PROTO, COUNTER, "Connections accepted")
COUNT(vesta_connections_refused_total, turned, TURNED, COUNTER, "Connections rejected, by the limit that they exceeded")
COUNT_OF_NET(vesta_proxy_headers_total, net.headers, HEADER, COUNTER, "PROXY headers, by result")
COUNT(vesta_share_waits_total, held, SHARE, COUNTER, "Requests that waited for a rate limit or fair share, by kind")
COUNT(vesta_share_refusals_total, over, SHARE, COUNTER, "Requests rejected by a rate limit or fair share, by kind")
FAMILY(vesta_connections_limit, put_limits, GAUGE, ALWAYS, "proto,of",
       "Maximum number of connections to a protocol (of=proto), or from one address to a protocol (of=address)")
VALUE(vesta_connections_total_limit, ledger_limits(m->server->ledger)->connections_max, GAUGE, ALWAYS,
       "Maximum number of connections of HTTP and Redis clients together")
COUNT(vesta_connections_shed_total, shed, PROTO, COUNTER, "Connections closed because clients held too much memory")
COUNT_OF_NET(vesta_accept_rests_total, net.rests, NONE, COUNTER,
       "Times that the server stopped accepting connections because it ran out of file descriptors")
VALUE(vesta_access_log_lost_total, vs_access_lost(m->server->monitor.access), COUNTER, OF_ACCESS,
       "Access log lines that were lost")
COUNT_OF_NET(vesta_tls_handshakes_total, net.shakes, SHAKE, COUNTER, "TLS handshakes, by result")
FAMILY(vesta_tls_certificate_expiry_timestamp_seconds, put_tls_expiry, GAUGE, ALWAYS, "",
       "Time at which the server's certificate expires")
VALUE(vesta_client_memory_bytes, ledger_bytes_held(m->server->ledger), GAUGE, ALWAYS,
       "Memory used for clients: unread replies, unfinished and queued requests")
VALUE(vesta_client_memory_limit_bytes, ledger_limits(m->server->ledger)->memory_max, GAUGE, ALWAYS,
       "Maximum memory for clients")
COUNT(vesta_waiting_requests, waiting, NONE, GAUGE, "Requests that are waiting for an id")
FAMILY(vesta_policy_calls_total, metrics_put_calls, COUNTER, OF_POLICIES, "hook,result",
       "Calls to policies, by hook and result")
FAMILY(vesta_policy_decisions_total, metrics_put_verdicts, COUNTER, OF_POLICIES, "hook,decision",
       "Decisions of the active policies")
FAMILY(vesta_policy_duration_seconds, put_call_durations, SUMMARY, OF_POLICIES, "hook",
       "Time spent in calls to policies")
VALUE(vesta_policy_generation, m->policies.generation, GAUGE, OF_POLICIES, "Number of times that policies were loaded")
VALUE(vesta_policy_stuck, m->policies.stuck, GAUGE, OF_POLICIES,
       "1 if a policy runs and cannot be stopped, else 0")
FAMILY(vesta_policy_shadow_total, metrics_put_shadow, COUNTER, OF_SHADOWS, "hook,decision,outcome",
       "Decisions of shadow policies, compared with those of the active policies")
VALUE(vesta_policy_shadow_dropped_total, m->policies.shadow.dropped, COUNTER, OF_SHADOWS,
       "Calls that shadow policies missed because their queue was full")
VALUE(vesta_config_last_reload_successful, m->policies.reload_ok, GAUGE, OF_POLICIES,
       "1 if the last reload succeeded, else 0")
FAMILY(vesta_config_last_reload_success_timestamp_seconds, put_reload_time, GAUGE, OF_POLICIES, "",
       "Time of the last successful reload")
FAMILY(vesta_build_info, put_build, GAUGE, ALWAYS, "version,lua",
       "The version of vesta and of its Lua; the value is always 1")
FAMILY(process_start_time_seconds, put_start, GAUGE, ALWAYS, "", "Time at which the process started")
FAMILY(process_cpu_seconds_total, put_cpu, COUNTER, ALWAYS, "", "CPU time used")
VALUE(process_resident_memory_bytes, m->process.resident_bytes, GAUGE, ALWAYS, "Resident memory")
VALUE(process_virtual_memory_bytes, m->process.virtual_bytes, GAUGE, ALWAYS, "Virtual memory")
VALUE(process_open_fds, m->process.open_fds, GAUGE, ALWAYS, "Open file descriptors")
VALUE(process_max_fds, m->process.max_fds, GAUGE, ALWAYS, "Maximum number of open file descriptors")
VALUE(vesta_reserved_fds, ledger_limits(m->server->ledger)->reserved, GAUGE, ALWAYS,
       "File descriptors reserved for stores, keepers, tags and the log")
/* clang-format on */

#undef COUNT
#undef COUNT_OF_NET
#undef VALUE
#undef FAMILY
