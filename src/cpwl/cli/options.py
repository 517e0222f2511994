"""What several commands share: options, files that hold a function or a network, workers, progress bars."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from cpwl.doors import needed
from cpwl.errors import InputError, LimitError, counted
from cpwl.progress import progress_bar

if TYPE_CHECKING:
    from cpwl.compiled import Compiled
    from cpwl.function import CPWL
    from cpwl.geometry.polyhedra import Polyhedron
    from cpwl.network import Network

# The words that options take; those of `cpwl.construct.plan`, which would load NumPy before --help is printed.
Dtype: TypeAlias = Literal["float64", "float32"]
Precision: TypeAlias = Literal["float64", "float32", "exact"]
Minimize: TypeAlias = Literal["neurons", "depth", "width", "nonzeros", "bytes"]
Outside: TypeAlias = Literal["free", "clip", "error"]
PictureKind: TypeAlias = Literal["auto", "map", "surface"]

# What is given as a file; whether it can be read is found out, and said, when it is read.


def file_argument(metavar: str, text: str, **more: Any) -> Any:
    """A file to be read."""
    return typer.Argument(metavar=metavar, readable=False, help=text, **more)


def output_option(metavar: str, text: str) -> Any:
    """``--output``, or ``-o``: a file or a folder to be written."""
    return typer.Option("--output", "-o", metavar=metavar, readable=False, help=text)


def path_option(metavar: str, text: str) -> Any:
    """Another file or folder."""
    return typer.Option(metavar=metavar, readable=False, help=text)


Certify = Annotated[
    bool, typer.Option("--certify", help="Prove the network as written, and save the proof as OUT.proof.json.")
]
Train = Annotated[
    bool,
    typer.Option("--train", help="Also propose trained networks for a tolerance (needs torch). Proved like any other."),
]

CForm = Annotated[
    Literal["auto", "network", "tree", "grid"],
    typer.Option(help="Form of OUT.h: network, search tree, lookup in a grid, or the fastest of these."),
]
CTest = Annotated[
    bool, typer.Option("--c-test", help="Also write OUT_test.c, a program that tests OUT.h: PASS or FAIL.")
]
Fixed = Annotated[
    str | None,
    typer.Option(metavar="FORMAT", help="Integers only in OUT.h: Q7.8, or Q7.8:Q1.14 for inputs and outputs."),
]
MaxBytes = Annotated[int | None, typer.Option(min=1, metavar="BYTES", help="Most bytes of constants in OUT.h.")]

# ``--workers`` and ``--dask``: who does the work. A command asks for them with a parameter `work`.


Work: TypeAlias = Callable[[], AbstractContextManager[dict[str, Any]]]
"""``with work() as how``: `how` has the `executor` and the `progress` that a long step is called with."""


@contextmanager
def working(workers: int, dask: str | None) -> Iterator[dict[str, Any]]:
    """The executor that the options name, and a progress bar."""
    with progress_bar() as progress, executor_of(workers, dask) as executor:
        yield {"executor": executor, "progress": progress}


@contextmanager
def executor_of(workers: int, dask: str | None) -> Iterator[Executor | None]:
    """An executor of so many processes, or of a Dask cluster; None for one process, which is this one."""
    if dask is not None:
        with _dask(dask) as executor:
            yield executor
    elif workers == 1:
        yield None
    else:
        import multiprocessing
        from concurrent.futures import ProcessPoolExecutor

        # Not forked: threads of this process might hold locks.
        with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
            try:
                yield pool
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise


@contextmanager
def _dask(address: str) -> Iterator[Executor]:
    library = needed("distributed", "--dask")
    try:
        client = library.Client(address, timeout=10)
    except (OSError, ValueError, TimeoutError) as error:
        raise InputError(f"there is no Dask scheduler at `{address}`: {error}", address=address) from None
    with client, client.get_executor() as executor:
        yield executor


# ``--max-neurons``: the largest network that a command may write.


MaxNeurons = Annotated[
    int | None, typer.Option(min=1, help="Write no network with more neurons than this; exit with status 2.")
]


def check_neurons(neurons: int, most: int | None) -> None:
    """`LimitError` if there are more than allowed."""
    if most is not None and neurons > most:
        message = f"nothing was written: the smallest network found has {counted(neurons, 'neuron')}"
        raise LimitError(f"{message}, and --max-neurons allows {most:,}", neurons=neurons)


def within_neurons(held: CPWL | Network, most: int | None) -> CPWL | Network | Compiled:
    """What a file holds, or, where neurons are counted, the network that a function is compiled to."""
    from cpwl.compiler import compile
    from cpwl.function import CPWL

    if most is None:
        return held
    made = compile(held) if isinstance(held, CPWL) else held
    check_neurons(made.sizes.neurons, most)
    return made


# The option ``--box``: two numbers, the same bounds for every input, or one pair LO,HI for each input.


def whole_boxes(argv: Sequence[str]) -> list[str]:
    """The command line with every ``--box LO,HI LO,HI ..`` as an option of two words, as ``--box LO HI`` is.

    >>> whole_boxes(["plot", "f.json", "--box", "0,1", "-2,2", "0,1/3", "-o", "f.svg"])
    ['plot', 'f.json', '--box', '0,1', '-2,2 0,1/3', '-o', 'f.svg']
    """
    words, found = list(argv), list[str]()
    while words:
        found.append(words.pop(0))
        if found[-1] != "--box":
            continue
        pairs = 0
        while pairs < len(words) and _PAIR.fullmatch(words[pairs]):
            pairs += 1
        if pairs:
            found += [words[0], " ".join(words[1:pairs])]
            words = words[pairs:]
    return found


_PAIR = re.compile(r"[^,\s]+,[^,\s]+")


def box_of(box: tuple[str, str] | None, dim: int, hint: str = "'--box'") -> tuple[Any, Any] | None:
    """``(low, high)``, numbers for all inputs or one for each; numbers are taken exactly."""
    if box is None:
        return None
    from cpwl.exact.rational import fraction

    words = " ".join(box).split()
    pairs = [word.split(",") for word in words] if "," in box[0] else [words] * dim
    if len(pairs) != dim:
        message = f"there are {counted(len(pairs), 'pair')} LO,HI for {counted(dim, 'input')}."
        raise typer.BadParameter(message, param_hint=hint)
    try:
        bounds = [[fraction(bound) for bound in pair] for pair in pairs]
    except InputError as error:
        raise typer.BadParameter(f"{error}.", param_hint=hint) from None
    for pair, (low, high) in zip(pairs, bounds, strict=True):
        if low >= high:
            raise typer.BadParameter(f"{pair[0]} is not below {pair[1]}.", param_hint=hint)
    if "," not in box[0]:
        return bounds[0][0], bounds[0][1]
    return [low for low, _ in bounds], [high for _, high in bounds]


def box_domain(box: tuple[str, str] | None, dim: int) -> Polyhedron | None:
    """The box as a polyhedron; None if there is none."""
    from cpwl.geometry.polyhedra import box_polyhedron

    bounds = box_of(box, dim)
    return None if bounds is None else box_polyhedron(bounds, dim)


BoxBounds = Annotated[
    tuple[str, str] | None,
    typer.Option("--box", metavar="LO HI", help="Restrict all inputs to [LO, HI]; or one pair LO,HI for each input."),
]
NeededBox = Annotated[
    tuple[str, str] | None,
    typer.Option(
        "--box", metavar="LO HI", help="Bounds of all inputs, or one pair LO,HI for each. Networks need them."
    ),
]
Layout = Annotated[
    Literal["points", "matrix"] | None,
    typer.Option(
        help="Layout of a CSV file: one point per line, or a matrix with its axes in the first column and row."
    ),
]


def load_any(path: Path, layout: str | None = None) -> CPWL | Network:
    """The function or the network in a file, read by the ending of its name, or its content; else as JSON."""
    from cpwl.io.endings import read, recognized
    from cpwl.io.json import load

    if recognized(path) is None and layout is None:
        return load(path)
    options: dict[str, Any] = {} if layout is None else {"layout": layout}
    return read(path, **options)


def about(p: CPWL, source: Path, output: Path) -> dict[str, Any]:
    """What --json says first of a function that goes from one file to another."""
    sizes = {"dim": p.dim, "outputs": p.outputs, "pieces": p.num_pieces, "components": p.num_components}
    return {"input": str(source), "output": str(output), **sizes}


def load_network(path: Path) -> Network:
    """The network in a file, with the weights exactly as they stand there."""
    from cpwl.network import Network

    network = load_any(path)
    if not isinstance(network, Network):
        raise InputError(f"{path} holds a function, not a network", path=str(path))
    return network


def load_function(path: Path, otherwise: str, layout: str | None = None) -> CPWL:
    """The function in a file; for a network, an error that ends with `otherwise`."""
    from cpwl.function import CPWL

    p = load_any(path, layout)
    if not isinstance(p, CPWL):
        raise InputError(f"{path} holds a network; {otherwise}", path=str(path))
    return p
