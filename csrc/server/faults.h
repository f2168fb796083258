/* faults.h -- the one table of the errors that a request can fail with, one row each.  Included by problem.c.  The rows
 * also fill docs/errors.md (scripts/tables).
 *
 *   FAULT   code, HTTP status, prefix of the Redis protocol's error, meaning
 *
 * A code never changes.  TRYAGAIN and LOADING are the prefixes after which some Redis clients retry.  vs_code_of_status
 * returns the first row that has a status, for requests that could not be parsed. */

/* clang-format off: a row is not a statement */
FAULT(bad_request, 400, "ERR", "The bytes are not a valid request")
FAULT(no_length, 411, "ERR", "The request has a body but no `Content-Length`, for example a chunked body")
FAULT(too_large, 413, "ERR", "The body is too large")
FAULT(too_long, 414, "ERR", "The request line is too long")
FAULT(bad_expect, 417, "ERR", "The request expects something other than `100-continue`")
FAULT(too_many_headers, 431, "ERR", "The request has too many headers, or they are too long")
FAULT(too_slow, 408, "ERR", "The request was not complete in time")
FAULT(bad_version, 505, "ERR", "The server does not support this version of HTTP")
FAULT(full, 503, "TRYAGAIN", "The time unit's sequence is exhausted: clients request more ids than the layout allows")
FAULT(clock_back, 503, "TRYAGAIN", "The clock went back")
FAULT(ahead, 503, "TRYAGAIN", "The lease begins in the future, or ids are too far ahead of the clock")
FAULT(clock_ahead, 503, "TRYAGAIN", "The clock jumped forward and is not confirmed yet")
FAULT(choose, 503, "TRYAGAIN", "A policy has not chosen a worker id yet")
FAULT(lease, 503, "LOADING", "The namespace has no lease")
FAULT(closed, 503, "TRYAGAIN", "The generator's shared memory is being replaced")
FAULT(not_ready, 503, "LOADING", "The namespace is not open yet")
FAULT(epoch_end, 500, "ERR", "The time field of the layout has reached its end")
FAULT(failstop, 500, "ERR", "The store lost or contradicts a lease that it granted")
FAULT(bad_id, 400, "ERR", "The id is invalid")
FAULT(bad_field, 400, "ERR", "A field or parameter is invalid")
FAULT(bad_count, 400, "ERR", "The count is out of range")
FAULT(unknown_name, 404, "ERR", "No namespace or tag has this name")
FAULT(not_found, 404, "ERR", "No route has this path")
FAULT(bad_method, 405, "ERR", "The route does not accept this method")
FAULT(not_acceptable, 406, "ERR", "The route has no response type that `Accept` allows")
FAULT(bad_type, 415, "ERR", "The body is not a URL-encoded form")
FAULT(no_token, 401, "ERR", "The token is missing or wrong")
FAULT(no_policies, 409, "ERR", "The server has nothing to reload")
FAULT(bad_command, 400, "ERR", "The command is unknown, or its arguments are wrong")
FAULT(bad_protocol, 400, "NOPROTO", "The protocol version is neither 2 nor 3")
FAULT(no_password, 401, "NOAUTH", "The client sent no credentials")
FAULT(bad_password, 401, "WRONGPASS", "The credentials are wrong")
FAULT(aborted, 400, "EXECABORT", "A command of the transaction was rejected, so none was run")
FAULT(overloaded, 503, "OOM", "The client uses its whole share of the server's memory")
FAULT(not_served, 503, "ERR", "The namespace cannot be served until an operator corrects the cause")
FAULT(range, 503, "TRYAGAIN", "The tag has no numbers: its database granted none")
FAULT(settled, 409, "ERR", "The reservation expired, never existed, or was already committed or cancelled")
FAULT(lease_busy, 503, "TRYAGAIN", "Every worker id of the namespace, or the requested worker id, is held")
FAULT(lease_limit, 429, "TRYAGAIN", "The client holds as many worker ids of the namespace as its limit allows")
FAULT(lease_lost, 410, "ERR", "The lease was released, or it expired and its worker id was claimed again, or it never existed")
FAULT(lease_unknown, 503, "TRYAGAIN", "The store did not confirm the lease, its renewal or its release")
FAULT(watermark_unknown, 503, "TRYAGAIN", "The store did not answer, or a holder has not reported its position yet")
FAULT(used_up, 409, "ERR", "The next number has more digits than the tag's form or the mask")
FAULT(cross_site, 403, "ERR", "A browser sent the request for another site's page")
FAULT(foreign_host, 421, "ERR", "The `Host` header has a name that this server does not serve")
FAULT(not_allowed, 403, "NOPERM", "The client has no right to this command or name")
FAULT(put_off, 429, "TRYAGAIN", "Too many wrong secrets came from this address, so the secret was not checked")
FAULT(over_share, 429, "TRYAGAIN", "The client, its address or the namespace has used up its rate limit or fair share")
/* clang-format on */

#undef FAULT
