"""Damaged files of every kind end in one sentence, quickly and without much memory; nothing is half-written."""

import json
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat
from test_regions import CONSTANTS, RIGHT, ROWS, SLOPES, cells
from test_text import NNET, PIECES
from test_weights import NAMED, header

from cpwl.cli import main
from cpwl.errors import CpwlWarning, InputError, LimitError
from cpwl.io.endings import doors, read
from support.mutations import damaged_bytes, damaged_json

LAW = json.loads((Path(__file__).parent / "data" / "mi_N3.json").read_text())
SMALL = {**LAW, "pieces": LAW["pieces"][:6]}


def example(ending, folder):
    """A small proper file."""
    path = folder / f"a{ending}"
    if ending == ".npz":
        np.savez_compressed(path, **NAMED)
    elif ending == ".mat":
        savemat(path, {"A": cells(ROWS), "b": cells(RIGHT), "C": cells(SLOPES), "d": cells(CONSTANTS)})
    elif ending == ".safetensors":
        entry = {"dtype": "F64", "shape": [2, 2], "data_offsets": [0, 32]}
        path.write_bytes(header({"0.weight": entry}, np.arange(4.0).tobytes()))
    else:
        path.write_text(TEXTS[ending])
    return path.read_bytes()


TEXTS = {
    ".json": json.dumps(SMALL),
    ".nnet": NNET,
    ".pwl": PIECES,
    ".csv": "x,y,f\n" + "\n".join(f"{i % 3},{i // 3},{i * i % 7 / 10}" for i in range(9)),
    ".txt": "max(min(x + 2*y - 1, 3), -x) + clip(0.5*x, -1, 1), abs(y)/3",
}
ENDINGS = [".json", ".npz", ".safetensors", ".nnet", ".mat", ".csv", ".pwl", ".txt"]


def mutants(ending, folder, seeds):
    """Truncated, with bytes changed, or random."""
    whole = example(ending, folder)
    for seed in seeds:
        rng = np.random.default_rng(seed)
        kind = rng.integers(0, 4)
        if kind == 0:
            yield seed, whole[: rng.integers(0, len(whole))]
        elif kind == 1:
            yield seed, rng.bytes(int(rng.integers(0, 300)))
        elif kind == 2 and ending == ".json":
            yield seed, damaged_json(SMALL, rng).encode()
        else:
            yield seed, damaged_bytes(whole, rng)


def said_of(path, note):
    """What is said about a file; whatever is raised but a refusal is a defect."""
    try:
        return repr(read(path))
    except (InputError, LimitError) as error:
        return str(error)
    except BaseException as error:
        error.add_note(note)
        raise


def run(ending, folder, seeds):
    path = folder / f"damaged{ending}"
    for seed, raw in mutants(ending, folder, seeds):
        path.write_bytes(raw)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CpwlWarning)
            said = said_of(path, f"{ending}, seed {seed}")
        assert 0 < len(said) < 3000
        assert said.replace("\n", "").isprintable()


def test_every_reader_is_here():
    """No kind of file is forgotten; ONNX has tests of its own."""
    assert {door.ending for door in doors("read")} == {*ENDINGS, ".onnx"}


@pytest.mark.one_in(2)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # overflow in a proposal of floats that integers then decide
@pytest.mark.parametrize("ending", ENDINGS)
def test_damaged_files(ending, tmp_path):
    """Some dozens of each kind."""
    run(ending, tmp_path, range(60))


def test_a_constraint_without_coefficients(tmp_path):
    """A damaged program with a row of zeros, as it was found: it ended in a division by zero."""
    run(".json", tmp_path, [3003764])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("ending", ENDINGS)
def test_many_damaged_files(ending, tmp_path):
    """Many hundreds of each kind."""
    run(ending, tmp_path, range(60, 1500))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("ending", ENDINGS)
def test_commands_end_in_one_sentence(ending, tmp_path, capsys):
    """Exit code 65, no traceback, and nothing is written."""
    whole = example(ending, tmp_path)
    path, out = tmp_path / f"b{ending}", tmp_path / "out.json"
    broken = {".csv": whole + b"\n1,2", ".txt": whole[:10]}.get(ending, whole[: len(whole) // 2])
    for raw in (b"", broken, b"\x00\xff" * 40):
        path.write_bytes(raw)
        for words in (["info", path], ["convert", path, out], ["compile", path, "-o", out]):
            code = main([str(word) for word in words])
            said = capsys.readouterr().err
            assert code == 65, (words, raw[:20], said)
            assert said.startswith("error: ")
            assert said.count("\n") <= 3
    assert not out.exists()


def large(ending):
    """Some megabytes of a file that is wrong at its end."""
    if ending == ".csv":
        return b"\n".join(b"%d.%06d,%06d" % (i, i, i) for i in range(150_000)) + b"\nx,1\n"
    if ending == ".nnet":
        return b"1,2,1,2,\n2,120000,\n0,\n0,0,\n1,1,\n0,0,0,\n1,1,1,\n" + b"0.123456,0.654321,\n" * 110_000
    if ending == ".pwl":
        return b"pwl\n" + b"b 0.123456 0.654321 0.111111\n" * 80_000 + b"q\n"
    if ending == ".txt":
        return b"max(x, " + b"0.123456*x + " * 78_000 + b"y"
    if ending == ".json":
        rows = b",".join(b"[0.123456789,0.987654321]" for _ in range(90_000))
        return b'{"proc": {"A": [' + rows + b']}, "pieces": [{"act": [0]}]}'
    if ending == ".safetensors":
        return header({"0.weight": {"dtype": "F64", "shape": [500, 1001], "data_offsets": [0, 1]}}, bytes(4 * 10**6))
    return None


@pytest.mark.slow
@pytest.mark.parametrize("ending", [ending for ending in ENDINGS if large(ending) is not None])
def test_memory(ending, tmp_path):
    """Within ten times the file, and a constant."""
    path = tmp_path / f"large{ending}"
    path.write_bytes(large(ending))
    tracemalloc.start()
    try:
        with pytest.raises((InputError, LimitError)):
            read(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= 10 * path.stat().st_size + 2**26
