"""Damaged files end in one sentence: whatever else is raised is a defect."""

import numpy as np
import pytest
from test_onnx_operators import OPERATORS, operators

from cpwl.cli import main
from cpwl.errors import InputError, LimitError
from cpwl.io.json import load
from cpwl.io.onnx.read import from_onnx
from support.json_examples import EXAMPLES, NETWORK, PIECES, TABLE
from support.mutations import damaged_bytes, damaged_json, damaged_model, damaged_numbers


def damaged_onnx(seed):
    """A damaged model: in its parts, or in its bytes."""
    rng = np.random.default_rng(seed)
    nodes, shape = list(OPERATORS.values())[seed % len(OPERATORS)]
    model = operators(nodes, shape)
    return damaged_bytes(model.SerializeToString(), rng) if rng.random() < 0.3 else damaged_model(model, rng)


def read(reader, path):
    """Reads a file that may be refused in a sentence; anything but a refusal is raised."""
    said = "a network or a function"
    try:
        reader(path)
    except (InputError, LimitError) as error:
        said = str(error)
    assert 0 < len(said) < 5000
    assert said.replace("\n", "").isprintable()


def run_onnx(seeds, folder):
    path = folder / "model.onnx"
    for seed in seeds:
        path.write_bytes(damaged_onnx(seed))
        try:
            read(from_onnx, path)
        except BaseException as error:
            error.add_note(f"seed {seed}")
            raise


def run_json(seeds, folder):
    path = folder / "law.json"
    examples = list(EXAMPLES.values())
    for seed in seeds:
        rng = np.random.default_rng(seed)
        document = examples[seed % len(examples)]
        text = damaged_json(document, rng).encode()
        path.write_bytes(damaged_bytes(text, rng) if rng.random() < 0.3 else text)
        try:
            read(load, path)
        except BaseException as error:
            error.add_note(f"seed {seed}")
            raise


def test_damaged_onnx(tmp_path):
    """A few hundred models."""
    run_onnx(range(400), tmp_path)


def test_damaged_json(tmp_path):
    """A few hundred documents."""
    run_json(range(400), tmp_path)


LAW = {
    **PIECES,
    "pieces": [
        {"A": [[1, 0]], "b": [0], "gradient": [[0, 0], [1, 2]], "offset": [0, 1]},
        {"A": [[-1, 0]], "b": [0], "gradient": [["1/3", 0], [1, 2]], "offset": [0, 1]},
    ],
}
COMMANDS = {
    "doctor": (LAW, ["doctor", "in.json"]),
    "compile": (LAW, ["compile", "in.json", "-o", "out.onnx"]),
    "certify": (TABLE, ["compile", "in.json", "-o", "out.json", "--certify"]),
    "extract": (NETWORK, ["extract", "in.json", "-o", "out.json"]),
    "compress": (NETWORK, ["compress", "in.json", "-o", "out.json"]),
    "equal": (NETWORK, ["equal", "in.json", "in.json"]),
}


def run_commands(seeds, folder, monkeypatch, command):
    monkeypatch.chdir(folder)
    document, words = COMMANDS[command]
    for seed in seeds:
        (folder / "in.json").write_text(damaged_numbers(document, np.random.default_rng(seed)))
        assert main(words) in (0, 1, 2, 65), f"seed {seed}"


@pytest.mark.one_in(2)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # overflow in a proposal of floats that integers then decide
@pytest.mark.parametrize("command", COMMANDS)
def test_commands_on_damaged_numbers(tmp_path, monkeypatch, command):
    """No command ends in a bug, whatever the numbers are."""
    run_commands(range(25), tmp_path, monkeypatch, command)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # overflow in a proposal of floats that integers then decide
@pytest.mark.parametrize("command", COMMANDS)
def test_commands_on_many_damaged_numbers(tmp_path, monkeypatch, command):
    """The same, 500 times."""
    run_commands(range(25, 525), tmp_path, monkeypatch, command)


@pytest.mark.slow
def test_many_damaged_files(tmp_path):
    """Thousands of both."""
    run_onnx(range(400, 5000), tmp_path)
    run_json(range(400, 5000), tmp_path)
