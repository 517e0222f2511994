"""``python -m cpwl``: the command line."""

import sys

from cpwl.cli import main

if __name__ == "__main__":
    sys.exit(main())
