"""The functions that the demonstration compiles, and one line of it: the network in files, the proofs beside it."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from importlib.resources import as_file, files
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text
from scipy.spatial import Delaunay

from cpwl import bounds
from cpwl.compiled import Compiled
from cpwl.compiler import compile
from cpwl.errors import ConstructionError, InternalError
from cpwl.files import make_folder, write_bytes
from cpwl.function import CPWL
from cpwl.function.answers import bound_text, point_text
from cpwl.io.json import load, save
from cpwl.io.onnx.read import from_onnx
from cpwl.io.onnx.write import to_onnx
from cpwl.network import Network, Sizes
from cpwl.progress import Progress
from cpwl.proofs.certify import Certificate, certify
from cpwl.regions.extract import extract
from cpwl.show.explorer.facts import Examined, Item
from cpwl.show.explorer.page import Page, page_of
from cpwl_check.archive import NAME, archive


@dataclass(frozen=True, slots=True, eq=False)
class Example:
    """A function with a name, and the cube ``[low, high]^n`` in which it is drawn."""

    name: str
    slug: str
    """The name of its files."""
    about: str
    """A sentence on where it comes from."""
    function: CPWL
    low: float
    high: float


def five_pieces() -> CPWL:
    """The smallest function known to us on which Algorithm 1 is wrong (docs/theory/algorithm_1.md).

    ``p(x, y) = 0`` for ``y <= 0`` and ``min(y, 1 - 3 y + |x|)`` for ``y >= 0``. On ``y <= 0`` only the
    component 0 stays above `p`, so its row is 0 and the max-min form is never negative; but `p` is:

    >>> float(five_pieces()([[0.0, 1.0]])[0, 0])
    -2.0
    """
    A = [
        [[0, 1]],
        [[-1, 0], [0, -1], [-1, 4]],
        [[1, 0], [0, -1], [1, 4]],
        [[-1, 0], [1, -4]],
        [[1, 0], [-1, -4]],
    ]
    b = [[0], [0, 0, 1], [0, 0, 1], [0, -1], [0, -1]]
    gradient, offset = [[0, 0], [0, 1], [0, 1], [1, -3], [-1, -3]], [0, 0, 0, 1, 1]
    return CPWL.from_pieces(A, b, gradient, offset)


def bundled_examples() -> Iterator[Example]:
    """The examples of the demonstration, in order."""
    # No rows at all: one piece, the whole space.
    affine = CPWL.from_pieces([[[0, 0, 0]]], [[0]], [[2, -1, "1/3"]], [1])
    yield Example("affine", "affine", "2 x - y + z / 3 + 1: no hidden neuron at all.", affine, -1, 1)
    signs = [(1, 1), (1, -1), (-1, 1), (-1, -1)]
    quadrants = [[[-s, 0], [0, -t]] for s, t in signs]
    norm = CPWL.from_pieces(quadrants, [[0, 0]] * 4, signs, [0] * 4)
    yield Example("|x| + |y|", "norm", "The sum norm in the plane, linear on each quadrant.", norm, -2, 2)
    about = "A damped wave through 31 breakpoints with rational values."
    yield Example("wave, 1-D", "wave", about, _wave(), -17, 17)
    about = "Terrain heights at 5 x 5 points, linear on 32 triangles."
    yield Example("5 x 5 table", "table", about, _table(), 0, 4)
    about = "One of the paper's random functions, with all its 32 pieces."
    yield Example("random, 10-D", "random", about, _random(), -3, 3)
    about = "Explicit model-predictive control of a double integrator, in floats."
    yield Example("MPC law", "mpc", about, _mpc(), -5, 5)
    about = "Heights at 48 scattered places, linear on their Delaunay triangles."
    yield Example("Delaunay, 2-D", "plane", about, _plane(), 0, 100)
    about = "Random values at 16 random points of space, linear on their Delaunay tetrahedra."
    yield Example("Delaunay, 3-D", "space", about, _space(), -10, 10)
    about = "0 below the axis and min(y, 1 - 3 y + |x|) above. Five pieces are enough for Algorithm 1 to fail."
    yield Example("five pieces", "five_pieces", about, five_pieces(), -4, 4)


def _wave() -> CPWL:
    x = list(range(-15, 16))
    y = [Fraction(round(1000 * math.cos(v * v / 24 + v / 9) * math.exp(-abs(v) / 14)), 1000) for v in x]
    return CPWL.from_breakpoints(x, y, left_slope=Fraction(1, 3), right_slope=0)


def _table() -> CPWL:
    heights = [[0, 1, 1, 0, 0], [1, 3, 4, 1, 0], [0, 4, 7, 3, 1], [0, 2, 3, 2, -1], [0, 0, 1, -1, -3]]
    return CPWL.from_grid([range(5), range(5)], heights)


def _random() -> CPWL:
    rng = np.random.default_rng(0)
    hidden = rng.standard_normal((5, 10)), rng.standard_normal(5)
    return extract(Network([hidden, (rng.standard_normal((1, 5)), [0])]), exact=True)


def _plane() -> CPWL:
    """Two hills and a hollow as a surveyor sees them: at whole numbers of paces, to the foot, and never quite right."""
    rng = np.random.default_rng(7)
    places = np.concatenate([[[0, 0], [100, 0], [100, 100], [0, 100]], rng.integers(4, 97, (44, 2))])
    x, y = places.T / 50 - 1
    heights = 60 * np.exp(-3 * ((x + 0.4) ** 2 + (y - 0.3) ** 2)) + 45 * np.exp(-5 * ((x - 0.5) ** 2 + (y + 0.4) ** 2))
    heights -= 30 * np.exp(-4 * ((x - 0.3) ** 2 + (y - 0.6) ** 2))
    return _interpolant(places, np.rint(heights + rng.normal(0, 4, len(places))).astype(np.int64))


def _space() -> CPWL:
    rng = np.random.default_rng(5)
    return _interpolant(rng.integers(-10, 11, (16, 3)), rng.integers(-10, 11, 16))


def _interpolant(points: NDArray[np.int64], values: NDArray[np.int64]) -> CPWL:
    # Whole numbers keep the rationals of the proof short.
    return CPWL.from_simplices(points, Delaunay(points).simplices, values)


def _mpc() -> CPWL:
    with as_file(files("cpwl.show").joinpath("examples", "mpc_double_integrator_27.json")) as path:
        law = load(path)
    if not isinstance(law, CPWL):
        raise InternalError("the bundled control law is not a function")
    return law


# One line of the demonstration: a function, its network in files, the proofs beside it, and what else there is.


_ERROR = 1e-12  # the ONNX files are for float64, and are meant to be as good as the function there


@dataclass(frozen=True, slots=True, eq=False)
class Failure:
    """Where Algorithm 1's network is not the function: a witness in the domain, and both values there."""

    point: NDArray[Any]
    network_value: Any
    function_value: Any
    """Rational for an exact function, float otherwise."""

    @property
    def amount(self) -> float:
        """How far the two are apart at the point."""
        return float(abs(self.network_value - self.function_value))


class Checked(NamedTuple):
    """What the stand-alone checker said, and whether that was yes."""

    accepted: bool
    text: str


class Files(NamedTuple):
    """What is written for an example."""

    law: Path
    """The function."""
    onnx: Path
    """The network in float64."""
    onnx_proof: Path
    """A proof for the float64 weights."""
    network: Path
    """The network in rationals."""
    proof: Path
    """A proof for the rational weights."""

    @property
    def page(self) -> Path:
        """Where the example can be explored."""
        return self.law.with_suffix(".html")

    @classmethod
    def of(cls, folder: Path, slug: str) -> Files:
        """The names for an example.

        >>> Files.of(Path("out"), "norm").proof.name
        'norm.exact.proof.json'
        """
        ends = (".json", ".onnx", ".proof.json", ".network.json", ".exact.proof.json")
        return cls(*(folder / f"{slug}{end}" for end in ends))


@dataclass(frozen=True, slots=True, eq=False)
class DemoRow:
    """An example, its network, and what was proved and checked about it."""

    example: Example
    compiled: Compiled
    hertrich: int
    algorithm1: int
    """The neurons of the network that Algorithm 1 builds."""
    failure: Failure | None
    """Where Algorithm 1 is wrong; None where it is right."""
    exported: Certificate
    """For the float64 weights, read back from the ONNX file."""
    exact: Certificate
    """For the network as compiled."""
    verdict: Checked
    """Of the checker on the proof of the network as compiled."""
    files: Files
    seconds: float
    """What compiling, exporting, both proofs and the check took."""

    @property
    def sizes(self) -> Sizes:
        """Neurons, depth, width and nonzero weights of the network."""
        return self.compiled.sizes

    @property
    def theorem2(self) -> int:
        """The neurons that suffice by Theorem 2."""
        return self.compiled.bounds["theorem2"].neurons

    @property
    def proof(self) -> str:
        """The checker's verdict in a word or two: what is proved, if it agrees."""
        bound = self.exact.error_bound
        if not self.verdict.accepted or bound is None:
            return "refused"
        if isinstance(bound, tuple):
            return f"<= {bound_text(bound[0])} + {bound_text(bound[1])} |x|"
        return f"<= {bound_text(bound)}" if bound else "= proved"

    @property
    def recheck(self) -> str:
        """The command line that has the exact network's proof checked again, in the folder of the files."""
        names = (self.files.law.name, self.files.network.name, self.files.proof.name)
        return " ".join(("python", "-I", NAME, *names))


def compile_example(example: Example, folder: Path) -> DemoRow:
    """Compile an example into files in `folder`, prove what is in them, and have the proof checked by a copy there.

    >>> from tempfile import TemporaryDirectory
    >>> from cpwl.show.bundled import bundled_examples
    >>> with TemporaryDirectory() as folder:
    ...     row = compile_example(next(bundled_examples()), Path(folder))
    >>> row.sizes.neurons, row.theorem2, row.failure, row.proof
    (0, 0, None, '= proved')
    """
    p, files = example.function, Files.of(folder, example.slug)
    start = perf_counter()
    compiled = compile(p, max_error=_ERROR)
    save(p, files.law, note=example.about)
    save(compiled.network, files.network)
    to_onnx(compiled.network, files.onnx)
    exported = certify(p, from_onnx(files.onnx), rounded_from=compiled.network)
    exported.save(files.onnx_proof)
    exact = certify(p, compiled.network)
    exact.save(files.proof)
    write_bytes(folder / NAME, archive())  # for someone who has Python and nothing else
    verdict = check_proof(files.law, files.network, files.proof)
    seconds = perf_counter() - start
    hertrich = bounds.hertrich2021(p.dim, p.num_components)
    return DemoRow(example, compiled, hertrich, *_try_algorithm_1(p), exported, exact, verdict, files, seconds)


def check_proof(law: Path, network: Path, proof: Path) -> Checked:
    """Run the checker beside the files in a process of its own: nothing of ours is in it, nor any other package."""
    command = [sys.executable, "-I", "-S", str(law.with_name(NAME)), str(law), str(network), str(proof)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return Checked(done.returncode == 0, (done.stdout + done.stderr).strip())


def _try_algorithm_1(p: CPWL) -> tuple[int, Failure | None]:
    """Algorithm 1 as printed: its neurons, and where its network is wrong, if it is."""
    try:
        return compile(p, construction="paper").sizes.neurons, None
    except ConstructionError as error:
        network = compile(p, construction="paper", check=False).network
        point, output = error.details["point"], error.details["output"]
        return network.sizes.neurons, Failure(point, network(point)[output], p(point)[output])


# The demonstration: the bundled examples compiled, exported, proved, and laid side by side.


INDEX = "report.html"
NOTES = (
    "Hertrich (et al. 2021, up to a constant), Theorem 2: ReLU neurons that suffice",
    "by the published bounds.  Algorithm 1: neurons of the paper's construction, red",
    "where it is wrong.  ours: neurons of the network in the files.  proof: verdict",
    "of cpwl_check.pyz, which has no code of cpwl; = proved: the network equals the",
    "function at every point; <= e: it is nowhere off by more than e.  sec: seconds",
    "to compile, export, prove and check.",
)
"""What the table's columns mean."""


def run_demo(folder: str | Path, *, progress: Progress | None = None) -> list[DemoRow]:
    """Compile every bundled example into `folder`: functions, networks, proofs, pages, the checker, one table."""
    folder = make_folder(folder)
    examples = list(bundled_examples())
    rows: list[DemoRow] = []
    for i, example in enumerate(examples):
        if progress is not None:
            progress(i, len(examples), example.name)
        rows.append(compile_example(example, folder))
        explore(rows[-1]).save(rows[-1].files.page)
    index_of(rows).save(folder / INDEX)
    return rows


def explore(row: DemoRow) -> Page:
    """The page on which one example can be explored, from what was found out already."""
    example, shown = row.example, row.files
    proofs = (("the compiled network", row.exact), ("the ONNX file, its float64 weights", row.exported))
    item = Item(example.name, example.function, row.compiled.network)
    found = Examined((item,), row.compiled, proofs, example.function.doctor(), None, (example.about,))
    recipe = [
        {"what": "All files of the demonstration:", "code": "cpwl demo"},
        {"what": "This page from the function alone:", "code": f"cpwl report {shown.law.name} -o {shown.page.name}"},
        {"what": "The proof, checked again with nothing but Python:", "code": row.recheck},
    ]
    return page_of(found, example.name, box=(example.low, example.high), recipe=recipe)


def index_of(rows: Sequence[DemoRow]) -> Page:
    """The page with the table of all examples, which leads to the page and the files of each."""
    heads = ("function", "inputs", "pieces", "components", "Hertrich", "Theorem 2", "Algorithm 1", "ours", "layers")
    lines = []
    for row in rows:
        *cells, ours, depth = map(str, _cells(row))
        mark = "good" if row.verdict.accepted else "wrong"
        cells += [
            f"<b>{ours}</b>",
            depth,
            f'<span class="chip {mark}">{escape(row.proof)}</span>',
            f"{row.seconds:.2f}",
        ]
        links = " ".join(f'<a href="{escape(path.name)}">{escape(path.name)}</a>' for path in row.files)
        name = f'<a href="{escape(row.files.page.name)}">{escape(row.example.name)}</a>'
        about = f"<small>{escape(row.example.about)}</small><small>{links}</small>"
        lines.append(f'<tr><th scope="row">{name}{about}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>')
    head = "".join(f"<th>{name}</th>" for name in (*heads, "proof, checked", "seconds"))
    wrong = "".join(f"<li>{escape(line)}</li>" for line in failures(rows))
    style = files("cpwl.show.explorer").joinpath("style.css").read_text("utf-8")
    title = "From pieces to neurons"
    return Page(
        title,
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>cpwl: {title}</title>\n<style>{style}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n"
        f'<div class="wide"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n' + "\n".join(lines) + "\n</tbody>\n"
        f"</table></div>\n<h2>Values of Algorithm 1 where it is wrong</h2>\n<ul>{wrong}</ul>\n"
        f'<p class="soft">{escape(" ".join(NOTES))}</p>\n</main>\n</body>\n</html>\n',
    )


def demo_table(rows: Sequence[DemoRow]) -> Table:
    """The rows as a table for a terminal of 80 columns or more."""
    table = Table(box=SIMPLE_HEAD, padding=0, pad_edge=False, show_edge=False)
    table.add_column("function", no_wrap=True, style="bold")
    for head in ("in-\nputs", "pie-\nces", "com-\npon.", "Her-\ntrich", "Theo-\nrem 2", "Algorithm 1"):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("ours", justify="right", style="bold green", no_wrap=True)
    table.add_column("lay-\ners", justify="right", no_wrap=True)
    table.add_column("proof,\nchecked", no_wrap=True)
    table.add_column("sec", justify="right", no_wrap=True)
    for row in rows:
        table.add_row(
            row.example.name,
            *_cells(row),
            Text(row.proof, style="green" if row.verdict.accepted else "bold red"),
            f"{row.seconds:.1f}" if row.seconds < 9.95 else f"{row.seconds:.0f}",
        )
    return table


def failures(rows: Sequence[DemoRow]) -> list[str]:
    """Values of Algorithm 1 where it is wrong, one line for each function."""
    return [
        f"{row.example.name:<14}{float(at.network_value):.4g} instead of {float(at.function_value):.4g} "
        f"at {point_text(at.point)}"
        for row in rows
        if (at := row.failure) is not None
    ]


def _cells(row: DemoRow) -> list[str | Text]:
    """Inputs, pieces, components; neurons by the published bounds, of Algorithm 1 and of ours; layers."""
    p, algorithm1 = row.example.function, Text(f"{row.algorithm1:,}")
    if row.failure is not None:
        algorithm1 = Text(f"{row.algorithm1:,}\nwrong by\n{row.failure.amount:.3g}", style="bold red")
    sizes = (p.dim, p.num_pieces, p.num_components)
    bounds = (_power(row.hertrich), _power(row.theorem2))
    return [*map(str, sizes), *bounds, algorithm1, f"{row.sizes.neurons:,}", str(row.sizes.depth)]


def _power(count: int) -> str:
    """A number to be read at a glance.

    >>> _power(50_927), _power(3 * 10**5000)
    ('50,927', '10^5000')
    """
    return f"{count:,}" if count < 10**6 else f"10^{round(math.log10(count))}"
