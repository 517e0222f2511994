"""Networks of more regions than memory holds: the domain in tiles that no region crosses, one tile at a time."""
