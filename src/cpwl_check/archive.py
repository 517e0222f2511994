"""This package as one file that runs anywhere: ``python -m cpwl_check.archive cpwl_check.pyz``."""

import io
import sys
import zipfile
from importlib.resources import files
from pathlib import Path

NAME = "cpwl_check.pyz"


def archive() -> bytes:
    """A zip file that Python runs. It has the same bytes wherever it is made: sorted, with one date, not compressed."""
    sources = {f"cpwl_check/{path.name}": path for path in files("cpwl_check").iterdir() if path.name.endswith(".py")}
    sources["__main__.py"] = sources["cpwl_check/__main__.py"]
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as held:
        for name, path in sorted(sources.items()):
            held.writestr(zipfile.ZipInfo(name), path.read_bytes())
    return made.getvalue()


if __name__ == "__main__":
    Path(*sys.argv[1:] or [NAME]).write_bytes(archive())
