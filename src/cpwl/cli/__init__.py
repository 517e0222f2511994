"""The command line, thin: it parses, calls and prints. One command, one file.

Exit codes: 0 done or proven; 1 refuted; 2 undecided, or beyond our limits; 64 wrong usage; 65 bad input, or a
file that cannot be read or written; 70 our bug; 130 interrupted.
"""

from cpwl.cli.app import main

__all__ = ["main"]
