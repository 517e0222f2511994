"""One small document of each kind of JSON file, and how to write it as other programs do."""

import json

__all__ = ["EXAMPLES", "NETWORK", "PIECES", "TABLE", "write"]

PIECES = {
    "format": "cpwl",
    "version": 1,
    "dim": 2,
    "outputs": 2,
    "tol": 0,
    "domain": {"A": [[0, 1]], "b": [5]},
    "note": "two half planes",
    "pieces": [
        {"A": [[1, 0]], "b": [0], "gradient": [[0, 0], [1, 2]], "offset": [0, 1]},
        {"A": [[-1, 0]], "b": [0], "gradient": [["1/3", 0], [1, 2]], "offset": [0, 1]},
    ],
}
TABLE = {
    "format": "cpwl",
    "version": 1,
    "dim": 1,
    "outputs": 1,
    "domain": None,
    "note": "a tent",
    "points": [[0], [0.5], ["4/3"]],
    "simplices": [[0, 1], [1, 2]],
    "values": [[0], [1], ["1/3"]],
}
NETWORK = {
    "format": "cpwl-network",
    "version": 1,
    "inputs": 1,
    "outputs": 1,
    "note": "a hinge",
    "layers": [
        {"rows": 2, "columns": 1, "bias": [0, 1], "entries": [[0, 0, "1/3"], [1, 0, -1]]},
        {"rows": 1, "columns": 2, "bias": [0], "entries": [[0, 0, 1], [0, 1, 2]]},
    ],
}
EXAMPLES = {"pieces": PIECES, "table": TABLE, "network": NETWORK}


def write(path, document):
    """A file with that text, or with that document as any other program would write it."""
    path.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
    return path
