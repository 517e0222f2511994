"""Damaged files end in one sentence: whatever else is raised is a defect."""

import numpy as np
import pytest
from test_onnx_operators import OPERATORS, operators

from cpwl.errors import InputError, LimitError
from cpwl.formats.json import load
from cpwl.formats.onnx.read import from_onnx
from support.json_examples import EXAMPLES
from support.mutations import damaged_bytes, damaged_json, damaged_model


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


@pytest.mark.slow
def test_many_damaged_files(tmp_path):
    """Thousands of both."""
    run_onnx(range(400, 5000), tmp_path)
    run_json(range(400, 5000), tmp_path)
