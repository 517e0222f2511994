"""Real control laws that are kept beside the repository, where they are: paths by name, or nothing."""

from pathlib import Path

__all__ = ["SHARED_CASES"]

SHARED_CASES = {
    path.stem: path
    for path in sorted((Path(__file__).parents[2] / "shared" / "cases").glob("*.json"))
    if path.is_file()
}
