"""One line of the demonstration: a function, its network in files, the proofs beside it, and what else there is."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import dataclass
from decimal import ROUND_UP, Context, Decimal
from fractions import Fraction
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from numpy.typing import NDArray

from cpwl import bounds
from cpwl.compiler import Compiled, compile
from cpwl.errors import ConstructionError
from cpwl.files import write_bytes
from cpwl.function import CPWL
from cpwl.io.json import save
from cpwl.io.onnx.read import from_onnx
from cpwl.io.onnx.write import to_onnx
from cpwl.network import Sizes
from cpwl.proofs.certificate import Certificate
from cpwl.proofs.certify import certify
from cpwl.show.bundled import Example
from cpwl_check.archive import NAME, archive

__all__ = [
    "Failure",
    "Files",
    "Row",
    "Verdict",
    "check_proof",
    "compile_example",
    "power_of_ten",
    "rounded_up",
]

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


class Verdict(NamedTuple):
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
class Row:
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
    verdict: Verdict
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
            return f"<= {rounded_up(bound[0])} + {rounded_up(bound[1])} |x|"
        return f"<= {rounded_up(bound)}" if bound else "= proved"

    @property
    def recheck(self) -> str:
        """The command line that has the exact network's proof checked again, in the folder of the files."""
        names = (self.files.law.name, self.files.network.name, self.files.proof.name)
        return " ".join(("python", "-I", NAME, *names))


def compile_example(example: Example, folder: Path) -> Row:
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
    return Row(example, compiled, hertrich, *_try_algorithm_1(p), exported, exact, verdict, files, seconds)


def check_proof(law: Path, network: Path, proof: Path) -> Verdict:
    """Run the checker beside the files in a process of its own: nothing of ours is in it, nor any other package."""
    command = [sys.executable, "-I", "-S", str(law.with_name(NAME)), str(law), str(network), str(proof)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return Verdict(done.returncode == 0, (done.stdout + done.stderr).strip())


def power_of_ten(count: int) -> tuple[str, str]:
    """A number to be read at a glance: ``("1,234", "")``, or for large ones ``("10", exponent)``.

    >>> power_of_ten(50_927), power_of_ten(3 * 10**5000)
    (('50,927', ''), ('10', '5000'))
    """
    return (f"{count:,}", "") if count < 10**6 else ("10", str(round(math.log10(count))))


def rounded_up(x: Fraction | float) -> str:
    """One digit, never too small.

    >>> rounded_up(Fraction("2.1e-14")), rounded_up(Fraction(0))
    ('3e-14', '0')
    """
    x = Fraction(x)
    up = Context(prec=1, rounding=ROUND_UP).divide(Decimal(x.numerator), Decimal(x.denominator))
    return f"{up:.0e}" if x else "0"


def _try_algorithm_1(p: CPWL) -> tuple[int, Failure | None]:
    """Algorithm 1 as printed: its neurons, and where its network is wrong, if it is."""
    try:
        return compile(p, construction="paper").sizes.neurons, None
    except ConstructionError as error:
        network = compile(p, construction="paper", check=False).network
        point, output = error.details["point"], error.details["output"]
        return network.sizes.neurons, Failure(point, network(point)[output], p(point)[output])
