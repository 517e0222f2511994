"""The command line, thin: it parses, calls and prints. A file has the commands of one subject.

Exit codes: 0 done or proven; 1 refuted; 2 undecided, or beyond our limits; 3 proved in exact arithmetic, but
not as the file is evaluated; 64 wrong usage; 65 bad input, or a file that cannot be read or written; 70 our bug;
129 hung up; 130 interrupted; 141 nobody reads what is printed; 143 terminated.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv`, by default that of this process, and return its exit code.

    >>> main(["bounds", "--pieces", "3", "--json"])
    {"pieces": 3, "bounds": {"theorem1": {"layers": 5, "width": 15, "neurons": 44}}}
    0
    """
    try:
        from cpwl.cli.app import run_command

        return run_command(argv)
    except KeyboardInterrupt:  # before there was anybody to hear it: loading takes long enough for that
        print("interrupted", file=sys.stderr)
        return 130
