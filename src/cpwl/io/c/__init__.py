"""Functions and networks as C code: one header, constants and a few loops."""
