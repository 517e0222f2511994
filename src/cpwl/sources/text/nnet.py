"""The .nnet files of ACAS Xu: weights of a ReLU network, with the means and ranges of its inputs and outputs.

// remarks
layers, inputs, outputs, largest layer
sizes of all layers
0
minima of the inputs, then maxima, one line each
means, then ranges, of the inputs and of the outputs
for each layer its weights, a row a neuron, then its biases, a line each
"""

from __future__ import annotations

import os
from fractions import Fraction
from itertools import pairwise

import numpy as np

from cpwl.doors import check_path, check_switch, within_float64
from cpwl.errors import InputError
from cpwl.network.network import Network
from cpwl.sources.text.lines import lines_of, number, reading

__all__ = ["from_nnet"]


@within_float64()
def from_nnet(path: str | os.PathLike[str], *, normalize: bool = True) -> Network:
    """The network in a .nnet file, exactly: decimals are read as decimals.

    Parameters
    ----------
    path
        The file.
    normalize
        Whether inputs are taken as they are measured, and outputs given so: means and ranges are put into the first
        and the last layer, in rationals. Otherwise the network is that of the weights alone, as most verifiers have it.

    Returns
    -------
    Network
        The network. Inputs beyond the minima and maxima of the file, which its own program clips, are not clipped.
    """
    check_path(path, "from_nnet")
    check_switch(normalize, "normalize")
    with reading(path):
        reader = _Lines(lines_of(os.fspath(path)))
        count, inputs, outputs, _ = reader.whole(4)
        sizes = reader.whole(count + 1)
        if count < 1 or sizes[0] != inputs or sizes[-1] != outputs or min(sizes) < 1:
            said = f"{count} layers of sizes {sizes[:9]} do not fit {inputs} inputs and {outputs} outputs"
            raise InputError(f"line {reader.at}: {said}", line=reader.at)
        reader.numbers(None)  # a flag that nobody uses
        reader.numbers(inputs)
        reader.numbers(inputs)
        means, ranges = reader.numbers(inputs + 1), reader.numbers(inputs + 1)
        layers = []
        for before, after in pairwise(sizes):
            weight = np.array([reader.numbers(before) for _ in range(after)], dtype=object)
            layers.append((weight, np.array([reader.numbers(1)[0] for _ in range(after)], dtype=object)))
        reader.end()
        if normalize:
            _put_in(layers, means, ranges)
        return Network(layers)


def _put_in(layers: list[tuple[np.ndarray, np.ndarray]], means: list[Fraction], ranges: list[Fraction]) -> None:
    """``(x - mean) / range`` before the first layer, ``y range + mean`` after the last."""
    if not all(ranges):
        raise InputError("a range is 0, by which inputs cannot be divided; read the weights alone, normalize=False")
    weight, bias = layers[0]
    scaled = weight / np.array(ranges[:-1], dtype=object)
    layers[0] = scaled, bias - scaled.dot(np.array(means[:-1], dtype=object))
    weight, bias = layers[-1]
    layers[-1] = weight * ranges[-1], bias * ranges[-1] + means[-1]


class _Lines:
    """Lines of numbers between commas, one after the other."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = [
            (i, line) for i, line in enumerate(lines, 1) if line.strip() and not line.lstrip().startswith("//")
        ]
        self.next = 0
        self.at = 0

    def numbers(self, count: int | None) -> list[Fraction]:
        """The next line, which has so many numbers."""
        if self.next >= len(self.lines):
            raise InputError("the file is cut short: a line of numbers is missing at its end")
        self.at, line = self.lines[self.next]
        self.next += 1
        words = line.strip().rstrip(",").split(",")
        if count is not None and len(words) != count:
            raise InputError(f"line {self.at} has {len(words)} numbers, and {count} belong there", line=self.at)
        return [number(word, self.at) for word in words]

    def whole(self, count: int) -> list[int]:
        found = self.numbers(count)
        if any(v.denominator != 1 or not 0 <= v < 10**7 for v in found):
            raise InputError(f"line {self.at}: numbers of layers and neurons must be whole", line=self.at)
        return [int(v) for v in found]

    def end(self) -> None:
        if self.next < len(self.lines):
            raise InputError(f"line {self.lines[self.next][0]}: there is more in the file than its layers")
