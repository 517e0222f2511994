"""Networks as pictures: a line for each weight, a dot for each neuron, or bars where there are too many."""

from __future__ import annotations

import xml.etree.ElementTree as xml

import numpy as np
import pytest

from cpwl import Network

plt = pytest.importorskip("matplotlib.pyplot", reason="matplotlib is not installed")

SMALL = Network([([[1], [-1]], [0, 0]), ([[1, 1]], [0])])


def test_every_weight_is_a_line_and_every_neuron_a_dot() -> None:
    """A small network is drawn whole."""
    plt.switch_backend("Agg")
    ax = SMALL.plot()
    lines = [c for c in ax.collections if hasattr(c, "get_segments")]
    dots = [c for c in ax.collections if not hasattr(c, "get_segments")]
    assert [len(c.get_segments()) for c in lines] == [2, 2]
    assert [len(c.get_offsets()) for c in dots] == [1, 2, 1]
    plt.close("all")


def test_a_large_network_is_bars() -> None:
    """As tall as its layers are wide."""
    plt.switch_backend("Agg")
    ax = Network([(np.ones((300, 2)), np.zeros(300)), (np.ones((1, 300)), [0.0])]).plot()
    assert [bar.get_height() for bar in ax.patches] == [2, 300, 1]
    plt.close("all")


def test_notebooks_show_networks() -> None:
    """One bar a layer."""
    root = xml.fromstring(SMALL._repr_svg_())
    assert len(root.findall("rect")) == 3
