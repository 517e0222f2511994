"""Every command of the command line, on small files: what it reads, and what it writes.

`{out}` stands for the folder of outputs; inputs are in the current folder.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cpwl import CPWL, Network
from cpwl.cli import main
from cpwl.io import to_onnx
from cpwl.io.json import save

__all__ = ["COMMANDS", "PRINTING", "Command", "make_inputs"]


@dataclass(frozen=True)
class Command:
    """The words of a command line, and the files or folders that it writes, the first of which it names."""

    words: str
    writes: tuple[str, ...] = ()
    slow: bool = False
    timed: bool = False
    """Whether it measures times, so that its work differs from run to run."""

    def argv(self, out: Path | str) -> list[str]:
        return [word.replace("{out}", str(out)) for word in self.words.split()]


COMMANDS: dict[str, Command] = {
    "compile": Command("compile law.json -o {out}/a.onnx", ("a.onnx",)),
    "compile exactly": Command("compile law.json -o {out}/a.json", ("a.json",)),
    "compile to C": Command("compile law.json -o {out}/a.h", ("a.h",), slow=True),
    "compile with proof": Command("compile law.json -o {out}/a.onnx --certify", ("a.onnx", "a.proof.json")),
    "compile a formula": Command(
        "compile --formula max(x,y-1,0) -o {out}/a.json --certify", ("a.json", "a.proof.json"), slow=True
    ),
    "convert to json": Command("convert net.onnx {out}/a.json", ("a.json",), slow=True),
    "convert to onnx": Command("convert net.json {out}/a.onnx", ("a.onnx",), slow=True),
    "convert to npz": Command("convert net.json {out}/a.npz", ("a.npz",)),
    "convert to safetensors": Command("convert net.json {out}/a.safetensors", ("a.safetensors",), slow=True),
    "convert to csv": Command("convert law.json {out}/a.csv", ("a.csv",)),
    "convert to mat": Command("convert law.json {out}/a.mat", ("a.mat",), slow=True),
    "convert to C": Command("convert net.json {out}/a.h", ("a.h",), slow=True),
    "extract": Command("extract net.json -o {out}/a.json", ("a.json",)),
    "extract parts": Command("extract net.json -o {out}/a", ("a",)),
    "compress": Command("compress net.json -o {out}/a.onnx", ("a.onnx",)),
    "milp lp": Command("milp net.json -o {out}/a.lp --box -1 1", ("a.lp",)),
    "milp mps": Command("milp net.json -o {out}/a.mps --box -1 1", ("a.mps",), slow=True),
    "milp omlt": Command(
        "milp net.json -o {out}/a.onnx --box -1 1", ("a.onnx", "a.onnx.bounds.json", "a.onnx.neurons.json")
    ),
    "mpc": Command("mpc plant.json -o {out}/a.h", ("a.h",), slow=True),
    "mpc with proof": Command(
        "mpc plant.json -o {out}/a.h --certify", ("a.h", "a.law.json", "a.net.json", "a.proof.json")
    ),
    "vnnlib": Command("vnnlib net.json -o {out}/a --box -1 1", ("a",)),
    "report": Command("report law.json -o {out}/a.html", ("a.html",)),
    "tradeoff": Command("tradeoff law.json -o {out}/a.csv --within 0.5", ("a.csv",), slow=True),
    "plot": Command("plot law.json -o {out}/a.svg", ("a.svg",)),
    "count with notes": Command("count net.json --cells --checkpoint {out}/a", ("a",)),
    "batch": Command("batch laws -o {out}/a", ("a",), slow=True),
    "demo": Command("demo -o {out}/a", ("a",), slow=True),
}
PRINTING: dict[str, Command] = {
    "info": Command("info law.json"),
    "kinds": Command("info --json", slow=True),
    "check": Command("check law.json proved.onnx proved.proof.json"),
    "doctor": Command("doctor law.json"),
    "equal": Command("equal net.json net.onnx"),
    "ask": Command("ask law.json --max --convex"),
    "count": Command("count net.json"),
    "bench": Command("bench run law.json --points 10", slow=True, timed=True),
    "bounds": Command("bounds --pieces 3"),
    "help": Command("--help", slow=True),
    "version": Command("--version"),
}


def make_inputs(folder: Path) -> None:
    """The files that the commands read."""
    law = CPWL.from_breakpoints([0, 1, 2, 3], [0, 2, 1, 5])
    save(law, folder / "law.json")
    net = Network([([[1, 2], [-1, 1], [2, -1]], [0, 1, -1]), ([[1, -1, 2]], [0])])
    save(net, folder / "net.json")
    to_onnx(net, folder / "net.onnx")
    assert main(["compile", str(folder / "law.json"), "-o", str(folder / "proved.onnx"), "--certify"]) == 0
    plant = '{"A": [[1.5]], "B": [[1]], "Q": 1, "R": 1, "N": 1, "u": [-1, 1], "x": [-4, 4]}'
    (folder / "plant.json").write_text(plant, encoding="utf-8")
    (folder / "laws").mkdir()
    save(law, folder / "laws" / "law.json")
