"""Networks in files, whatever their format."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cpwl.errors import InputError

if TYPE_CHECKING:
    from cpwl.network import Network

__all__ = ["load_network"]


def load_network(path: Path) -> Network:
    """The network in an ONNX or a JSON file, with the weights exactly as they stand there."""
    if path.suffix.lower() == ".onnx":
        from cpwl.formats.onnx.read import from_onnx

        return from_onnx(path)
    from cpwl.formats.json import load
    from cpwl.network import Network

    network = load(path)
    if not isinstance(network, Network):
        raise InputError(f"{path} holds a function, not a network", path=str(path))
    return network
