"""A soak: random functions and networks of all families and kinds of data through every door, until time is up.

``make soak MINUTES=10`` runs it. What is compared with is computed here, in plain rationals, from the definition of
each function (`truth`); nothing of the package is used for it.
"""
