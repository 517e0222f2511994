"""``cpwl plot``: the file is of the kind that its ending says, and the same each time."""

from __future__ import annotations

from pathlib import Path

import pytest

import cpwl
from cpwl.cli import main
from support.functions import five_pieces

pytest.importorskip("matplotlib", reason="matplotlib is not installed")


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("ending", "start"), [("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_the_ending_says_the_kind(tmp_path: Path, ending: str, start: bytes) -> None:
    """Twice the same bytes."""
    cpwl.write(five_pieces(), tmp_path / "law.json")
    out = tmp_path / f"law.{ending}"
    assert main(["plot", str(tmp_path / "law.json"), "-o", str(out), "--box", "-1", "1"]) == 0
    first = out.read_bytes()
    assert first.startswith(start)
    assert main(["plot", str(tmp_path / "law.json"), "-o", str(out), "--box", "-1", "1"]) == 0
    assert out.read_bytes() == first


def test_networks_and_mistakes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A network is drawn; a box is not for it, and endings that we do not write are refused."""
    cpwl.write(cpwl.compile(five_pieces()).network, tmp_path / "net.json")
    assert main(["plot", str(tmp_path / "net.json"), "-o", str(tmp_path / "net.svg")]) == 0
    assert main(["plot", str(tmp_path / "net.json"), "-o", str(tmp_path / "net.svg"), "--box", "0", "1"]) == 64
    assert "layer by layer" in capsys.readouterr().err
    assert main(["plot", str(tmp_path / "net.json"), "-o", str(tmp_path / "net.gif")]) == 64
    assert main(["plot", str(tmp_path / "none.json"), "-o", str(tmp_path / "net.svg")]) == 65


def test_which_output_is_one_of_the_function(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An output that is not there is refused by the option's name; a network has all its outputs on the picture."""
    cpwl.write(five_pieces(), tmp_path / "law.json")
    cpwl.write(cpwl.Network([([[1], [1]], [0, 1])]), tmp_path / "net.json")
    for name, number in (("law.json", "1"), ("net.json", "1")):
        words = ["plot", str(tmp_path / name), "-o", str(tmp_path / "p.svg"), "--output-number", number]
        assert main(words) == 64
        assert "'--output-number'" in capsys.readouterr().err
