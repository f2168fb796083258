-- A laptop: one namespace, served to this machine alone.
return { namespaces = { default = { layout = "vesta-second" } } }
