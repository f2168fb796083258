-- For a laptop: one namespace, which only this machine can reach.
return { namespaces = { default = { layout = "vesta-second" } } }
