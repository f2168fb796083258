-- A stand-in for Kong's typedefs.
return { protocols_http = { type = "set" } }
