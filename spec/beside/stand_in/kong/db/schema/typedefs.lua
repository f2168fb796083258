-- Replaces Kong's typedefs.
return { protocols_http = { type = "set" } }
