/* families.h -- the one table of /metrics, a row each, in the order of the page.  Included by counts.h, which declares the
 * counts, and by handlers/metrics.c, which writes them.
 *
 *   COUNT         name, member, labels, kind, help      a count that each loop keeps: member of struct vs_counts
 *   COUNT_OF_NET  the same                              one that csrc/net declares
 *   VALUE         name, expression, kind, when, help    one sample: an expression of the scrape `m`
 *   FAMILY        name, put, kind, when, help           samples that `put` writes
 *
 * labels: NONE, or the labels of a row in handlers/metrics.c, whose sizes are in counts.h. */
#ifndef COUNT_OF_NET
#define COUNT_OF_NET(...)
#endif
#ifndef VALUE
#define VALUE(...)
#endif
#ifndef FAMILY
#define FAMILY(...)
#endif

/* clang-format off: a row is no statement */
VALUE(vesta_namespaces, m->server->names.count, GAUGE, ALWAYS, "Namespaces that are served")
FAMILY(vesta_namespaces_unready, vs_put_unready, GAUGE, ALWAYS, "Namespaces of which a request for an id would be refused")
FAMILY(vesta_ids_issued_total, vs_put_issued, COUNTER, ALWAYS, "Ids given")
FAMILY(vesta_pauses_total, vs_put_pauses, COUNTER, ALWAYS, "Requests that met a pause, by reason")
FAMILY(vesta_sequence_exhausted_total, vs_put_exhausted, COUNTER, ALWAYS, "Requests that found the time unit used up")
FAMILY(vesta_clock_backwards_total, vs_put_backwards, COUNTER, ALWAYS, "Requests that found the clock behind a time already seen")
FAMILY(vesta_clock_drift_seconds, vs_put_drift, GAUGE, ALWAYS, "Drift of the wall clock against uptime since it was last confirmed")
FAMILY(vesta_ready, vs_put_ready, GAUGE, ALWAYS, "1 while a request for an id would be served, 0 while it would be refused")
FAMILY(vesta_lease_held, vs_put_held, GAUGE, ALWAYS, "1 while a worker number is leased")
FAMILY(vesta_lease_expiry_timestamp_seconds, vs_put_expiry, GAUGE, ALWAYS, "Time at which ids end unless the lease is renewed")
FAMILY(vesta_lease_renewals_total, vs_put_renewals, COUNTER, ALWAYS, "Renewals, by the store's answer")
FAMILY(vesta_worker_id, vs_put_worker, GAUGE, ALWAYS, "The leased worker number")
FAMILY(vesta_layout_end_timestamp_seconds, vs_put_layout_end, GAUGE, ALWAYS, "Time at which the layout's time field ends")
VALUE(vesta_tags, m->served, GAUGE, OF_TAGS, "Tags that are served")
VALUE(vesta_tags_not_served, m->tags.passed, GAUGE, OF_TAGS, "Tags of tables that are not served, because something else has the name or there are too many")
VALUE(vesta_tag_tables_unread, m->tags.unread, GAUGE, OF_TAGS, "Tables whose tags could not be read since the start")
FAMILY(vesta_tag_numbers_issued_total, vs_put_tag_numbers, COUNTER, OF_TAGS, "Numbers given")
FAMILY(vesta_tag_pauses_total, vs_put_tag_pauses, COUNTER, OF_TAGS, "Requests that found no number")
FAMILY(vesta_tag_ranges_total, vs_put_tag_ranges, COUNTER, OF_TAGS, "Ranges that were taken from the databases")
FAMILY(vesta_tag_store_errors_total, vs_put_tag_errors, COUNTER, OF_TAGS, "Questions for a range that brought none")
FAMILY(vesta_tag_numbers_left, vs_put_tag_left, GAUGE, OF_TAGS, "Numbers of the ranges that are here")
FAMILY(vesta_tag_step, vs_put_tag_step, GAUGE, OF_TAGS, "Numbers that are taken at a time")
COUNT(vesta_requests_total, requests, CODE, COUNTER, "Requests answered, by the stable code of the answer")
FAMILY(vesta_request_duration_seconds, put_durations, HISTOGRAM, ALWAYS, "Time from reading a request to writing its answer")
FAMILY(vesta_client_requests_total, put_client_requests, COUNTER, OF_CLIENTS, "Requests answered, by the client that asked")
FAMILY(vesta_client_refused_total, put_client_refused, COUNTER, OF_CLIENTS, "Requests refused, by the client that asked and why")
FAMILY(vesta_client_connections, put_client_connections, GAUGE, OF_CLIENTS, "Connections open, by client")
FAMILY(vesta_client_ids_total, put_client_ids, COUNTER, OF_CLIENTS, "Ids and numbers given, by the client that asked")
FAMILY(vesta_secrets_total, put_secrets, COUNTER, ALWAYS, "Secrets that were said, by what they turned out to be")
FAMILY(vesta_connections, put_connections, GAUGE, ALWAYS, "Connections open")
FAMILY(vesta_loop_connections, put_loops, GAUGE, ALWAYS, "Connections that a loop serves")
COUNT(vesta_connections_accepted_total, accepted, PROTO, COUNTER, "Connections accepted")
COUNT(vesta_connections_refused_total, turned, TURNED, COUNTER, "Connections turned away, by the limit they exceeded")
COUNT_OF_NET(vesta_proxy_headers_total, net.headers, HEADER, COUNTER, "PROXY headers of balancers, by what became of them")
COUNT(vesta_share_waits_total, held, SHARE, COUNTER, "Requests that waited for a share, by whose")
COUNT(vesta_share_refusals_total, over, SHARE, COUNTER, "Requests refused because a share was used up, by whose")
FAMILY(vesta_connections_limit, put_limits, GAUGE, ALWAYS, "Connections that a protocol, or one address at it, may have")
VALUE(vesta_connections_total_limit, ledger_limits(m->server->ledger)->connections_max, GAUGE, ALWAYS,
      "Connections that the HTTP and Redis protocols may have together")
COUNT(vesta_connections_shed_total, shed, PROTO, COUNTER, "Connections closed because clients held too much memory")
COUNT_OF_NET(vesta_accept_rests_total, net.rests, NONE, COUNTER, "Times that new connections had to wait for a file descriptor")
VALUE(vesta_access_log_lost_total, vs_access_lost(m->server->monitor.access), COUNTER, OF_ACCESS,
      "Lines of the access log that were lost")
COUNT_OF_NET(vesta_tls_handshakes_total, net.shakes, SHAKE, COUNTER, "TLS handshakes, by what became of them")
FAMILY(vesta_tls_certificate_expiry_timestamp_seconds, put_tls_expiry, GAUGE, ALWAYS, "Time at which the certificate expires")
VALUE(vesta_client_memory_bytes, ledger_bytes_held(m->server->ledger), GAUGE, ALWAYS, "Memory held for clients")
VALUE(vesta_client_memory_limit_bytes, ledger_limits(m->server->ledger)->memory_max, GAUGE, ALWAYS,
      "Limit of the memory held for clients")
COUNT(vesta_waiting_requests, waiting, NONE, GAUGE, "Requests that wait for an id")
FAMILY(vesta_policy_calls_total, metrics_put_calls, COUNTER, OF_POLICIES, "Calls of policies")
FAMILY(vesta_policy_decisions_total, metrics_put_verdicts, COUNTER, OF_POLICIES, "Answers of the policies in force")
FAMILY(vesta_policy_duration_seconds, put_call_durations, SUMMARY, OF_POLICIES, "Time spent in calls of policies")
VALUE(vesta_policy_generation, m->policies.generation, GAUGE, OF_POLICIES, "Sets of policies that were put into use")
VALUE(vesta_policy_stuck, m->policies.stuck, GAUGE, OF_POLICIES, "1 while a policy is running that cannot be stopped")
FAMILY(vesta_policy_shadow_total, metrics_put_shadow, COUNTER, OF_SHADOWS, "Answers of policies that are tried and not obeyed")
VALUE(vesta_policy_shadow_dropped_total, m->policies.shadow.dropped, COUNTER, OF_SHADOWS, "Questions that no such policy was asked")
VALUE(vesta_config_last_reload_successful, m->policies.reload_ok, GAUGE, OF_POLICIES, "1 if the last reload succeeded")
FAMILY(vesta_config_last_reload_success_timestamp_seconds, put_reload_time, GAUGE, OF_POLICIES, "Time of the last successful reload")
FAMILY(vesta_build_info, put_build, GAUGE, ALWAYS, "The version of vesta and of its Lua")
FAMILY(process_start_time_seconds, put_start, GAUGE, ALWAYS, "Start time of the process")
FAMILY(process_cpu_seconds_total, put_cpu, COUNTER, ALWAYS, "Processor time used")
VALUE(process_resident_memory_bytes, m->process.resident_bytes, GAUGE, ALWAYS, "Resident memory")
VALUE(process_virtual_memory_bytes, m->process.virtual_bytes, GAUGE, ALWAYS, "Virtual memory")
VALUE(process_open_fds, m->process.open_fds, GAUGE, ALWAYS, "Open file descriptors")
VALUE(process_max_fds, m->process.max_fds, GAUGE, ALWAYS, "Limit of open file descriptors")
VALUE(vesta_reserved_fds, ledger_limits(m->server->ledger)->reserved, GAUGE, ALWAYS,
      "File descriptors that are reserved, and not for clients")
/* clang-format on */

#undef COUNT
#undef COUNT_OF_NET
#undef VALUE
#undef FAMILY
