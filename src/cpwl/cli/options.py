"""What several commands share: options, files that hold a function or a network, workers, progress bars."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from cpwl.errors import InputError, LimitError

if TYPE_CHECKING:
    from rich.progress import Progress

    from cpwl.compiler import Compiled
    from cpwl.function import CPWL
    from cpwl.geometry.polyhedra import Polyhedron
    from cpwl.network import Network

__all__ = [
    "AsJson",
    "BoxBounds",
    "CForm",
    "CType",
    "Dask",
    "Dtype",
    "Layout",
    "MaxNeurons",
    "Minimize",
    "Outside",
    "PictureKind",
    "Precision",
    "Workers",
    "box_domain",
    "check_neurons",
    "executor_of",
    "load_any",
    "load_function",
    "load_network",
    "progress_bar",
    "within_neurons",
]

# The words that options take; those of `cpwl.construct.options`, which would load NumPy before --help is printed.
Dtype: TypeAlias = Literal["float64", "float32"]
Precision: TypeAlias = Literal["float64", "float32", "exact"]
Minimize: TypeAlias = Literal["neurons", "depth", "width", "nonzeros"]
Outside: TypeAlias = Literal["free", "clip", "error"]
CType: TypeAlias = Literal["double", "float"]
CForm: TypeAlias = Literal["auto", "network", "tree"]
PictureKind: TypeAlias = Literal["auto", "map", "surface"]

# Progress bars: on a terminal, and only for what takes more than a second.


@contextmanager
def progress_bar(*, delay: float = 1.0) -> Iterator[Callable[[int, int, str], None]]:
    """A callback ``(done, total, what)`` that draws a bar on stderr, from `delay` seconds on.

    >>> with progress_bar() as progress:
    ...     progress(1, 2, "rows")
    """
    if not sys.stderr.isatty():
        yield _ignore
        return
    bar = _bar()
    began, task, title = monotonic(), None, ""
    last: tuple[int, int, str] | None = None

    def show(done: int, total: int, what: str) -> None:
        nonlocal task, title, last
        last = (done, total, what)
        if task is None and monotonic() - began < delay:
            return
        if task is None:
            bar.start()
            task = bar.add_task(what, total=total)
        elif what != title:  # a new step, with a clock of its own
            bar.reset(task)
        title = what
        bar.update(task, completed=done, total=total, description=what)

    # A step that says nothing for long is shown as well.
    timer = Timer(delay, lambda: None if last is None else show(*last))
    timer.daemon = True
    timer.start()
    try:
        yield show
    finally:
        timer.cancel()
        bar.stop()


def _ignore(_done: int, _total: int, _what: str) -> None:
    pass


def _bar() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(file=sys.stderr),
        transient=True,
    )


# ``--workers`` and ``--dask``: who does the work.


Workers = Annotated[
    int, typer.Option(min=1, help="Processes that share the work; what is found does not depend on them.")
]
Dask = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="A Dask scheduler whose workers share the work: tcp://host:8786.")
]


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
    try:
        import distributed
    except ImportError:
        raise InputError("--dask needs Dask: install `cpwl[dask]`") from None
    library: Any = distributed
    try:
        client = library.Client(address, timeout=10)
    except (OSError, ValueError, TimeoutError) as error:
        raise InputError(f"there is no Dask scheduler at `{address}`: {error}", address=address) from None
    with client, client.get_executor() as executor:
        yield executor


# ``--max-neurons``: the largest network that a command may write.


MaxNeurons = Annotated[
    int | None, typer.Option(min=1, help="Write nothing, with exit code 2, if more neurons are needed.")
]


def check_neurons(neurons: int, most: int | None) -> None:
    """`LimitError` if there are more than allowed."""
    if most is not None and neurons > most:
        message = f"nothing was written: the smallest network that was found has {neurons:,} neurons, and {most:,} are"
        raise LimitError(f"{message} allowed", neurons=neurons)


def within_neurons(held: CPWL | Network, most: int | None) -> CPWL | Network | Compiled:
    """What a file holds, or, where neurons are counted, the network that a function is compiled to."""
    from cpwl.compiler import compile
    from cpwl.function import CPWL

    if most is None:
        return held
    made = compile(held) if isinstance(held, CPWL) else held
    check_neurons(made.sizes.neurons, most)
    return made


# The option ``--box LO HI`` as a domain: the same bounds for every coordinate.


def box_domain(box: tuple[str, str] | None, dim: int) -> Polyhedron | None:
    """The box of all `x` with ``low <= x_i <= high``; bounds are numbers or "p/q", taken exactly."""
    if box is None:
        return None
    from cpwl.errors import InputError
    from cpwl.exact.rational import fraction
    from cpwl.geometry.polyhedra import box_polyhedron

    try:
        low, high = (fraction(bound) for bound in box)
    except InputError as error:
        raise typer.BadParameter(f"{error}.", param_hint="'--box'") from None
    if low >= high:
        raise typer.BadParameter(f"{box[0]} is not below {box[1]}.", param_hint="'--box'")
    return box_polyhedron((low, high), dim)


AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
BoxBounds = Annotated[
    tuple[str, str] | None,
    typer.Option("--box", metavar="LO HI", help="Consider only points whose coordinates are all in [LO, HI]."),
]
Layout = Annotated[
    Literal["points", "matrix"] | None,
    typer.Option(help="How a CSV file is read: a point a line, or a matrix with its axes in the first column and row."),
]


def load_any(path: Path, layout: str | None = None) -> CPWL | Network:
    """The function or the network in a file, read by the ending of its name, or its content; else as JSON."""
    from cpwl.io.endings import read, recognized
    from cpwl.io.json import load

    if recognized(path) is None and layout is None:
        return load(path)
    options: dict[str, Any] = {} if layout is None else {"layout": layout}
    return read(path, **options)


def load_network(path: Path) -> Network:
    """The network in a file, with the weights exactly as they stand there."""
    from cpwl.network import Network

    network = load_any(path)
    if not isinstance(network, Network):
        raise InputError(f"{path} holds a function, not a network", path=str(path))
    return network


def load_function(path: Path, otherwise: str, layout: str | None = None) -> CPWL:
    """The function in a file; if there is a network in it, `otherwise` ends the sentence that says so."""
    from cpwl.function import CPWL

    p = load_any(path, layout)
    if not isinstance(p, CPWL):
        raise InputError(f"{path} holds a network; {otherwise}", path=str(path))
    return p
