"""What commands share: exit codes and errors, output, tables and numbers; options, files to be read, workers."""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from enum import IntEnum
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from cpwl.doors import needed
from cpwl.errors import CpwlWarning, InputError, InternalError, LimitError, ProofError, counted, printable
from cpwl.progress import progress_bar

if TYPE_CHECKING:
    from rich.table import Table

    from cpwl.compiled import Compiled
    from cpwl.function import CPWL
    from cpwl.geometry.polyhedra import Polyhedron
    from cpwl.network import Network

# Asked to end: SIGTERM and SIGHUP are heard as Ctrl-C is, so that nothing is left half done.
#
# Some libraries turn the exception that a signal raises inside them into one of their own: what was heard is noted.


_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")  # Windows has no last one


@dataclass(slots=True)
class Heard:
    """Which signal has asked the command to end, if one has."""

    number: int | None = None

    @property
    def code(self) -> int:
        """The exit code of a command that was asked to end."""
        return 128 + (self.number or int(signal.SIGINT))

    @property
    def message(self) -> str:
        """What is said about it."""
        return "interrupted" if self.number in (None, signal.SIGINT) else "terminated"


@contextmanager
def listening() -> Iterator[Heard]:
    """Raises KeyboardInterrupt in the main thread at these signals, unless the caller of this process ignores them.

    Steps that can end early then return what they have found, drafts of files are removed, and processes that were
    started are ended.
    """
    heard, report = Heard(), sys.unraisablehook

    def end(number: int, _frame: object) -> None:
        heard.number = number
        raise KeyboardInterrupt

    # Python drops an exception that is raised while a generator is closed or an object is deleted: the next call of
    # a function raises it again. Objects that were interrupted halfway may also fail while they are deleted (a zip file
    # with an open entry): the command says that it was interrupted, and nothing else.
    def dropped(unraisable: Any) -> None:
        if heard.number is None:
            report(unraisable)
        elif unraisable.exc_type is KeyboardInterrupt:
            sys.setprofile(again)

    def again(_frame: object, event: str, _argument: object) -> None:
        if event.endswith("call"):
            sys.setprofile(None)
            raise KeyboardInterrupt

    before = {}
    if threading.current_thread() is threading.main_thread():
        numbers = [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]
        usual = (signal.SIG_DFL, signal.default_int_handler)
        before = {number: signal.signal(number, end) for number in numbers if signal.getsignal(number) in usual}
        sys.unraisablehook = dropped
    try:
        yield heard
    finally:
        sys.unraisablehook = report
        for number, handler in before.items():
            signal.signal(number, handler)


class Code(IntEnum):
    """The exit codes."""

    DONE = 0
    REFUTED = 1
    UNDECIDED = 2
    EXACTLY = 3
    USAGE = 64
    BAD_INPUT = 65
    BUG = 70
    HUNG_UP = 129
    INTERRUPTED = 130
    CLOSED = 141
    TERMINATED = 143


# The base of `BadParameter` is what every mistake in a command line raises. Typer does not name it, and where
# it lives has changed: in click, or in the copy of click that newer versions carry.
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]

_CODES: tuple[tuple[type[BaseException], Code], ...] = (
    (InputError, Code.BAD_INPUT),
    (LimitError, Code.UNDECIDED),
    (ProofError, Code.REFUTED),
    (InternalError, Code.BUG),
)


def run(app: typer.Typer, argv: Sequence[str]) -> int:
    """Run a command line and return its exit code; errors and warnings go to stderr, one message each."""
    options: dict[str, str] = {}
    with listening() as heard, warnings.catch_warnings():
        try:
            _open_streams()
            command = _command(app)
            options = _options_of(command, argv)
            warnings.simplefilter("always", CpwlWarning)
            warnings.showwarning = partial(_show_warning, options)
            code = command.main(args=list(argv), prog_name="cpwl", standalone_mode=False)
            sys.stdout.flush()
        except (Exception, KeyboardInterrupt) as error:
            if os.environ.get("CPWL_DEBUG") and not isinstance(error, _UsageError):
                raise
            return _flushed(_report(error, heard, options))
        except SystemExit as end:  # typer and rich end with 1 when nobody reads stdout any more, completion with 0
            return int(_report(BrokenPipeError(), heard, options)) if end.code else _flushed(Code.DONE)
        if code == Code.INTERRUPTED:  # some versions of typer turn Ctrl-C into this
            return _flushed(say(heard.message, Code(heard.code)))
    return code if isinstance(code, int) else int(Code.DONE)


# Reading the signatures of all commands takes longer than some commands do.
_command = cache(typer.main.get_command)


def _open_streams() -> None:
    """Put something in the place of closed streams: the next file that is opened would become stdout or stderr."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is not None:
            continue
        # Nothing can be written to what is open for reading: a command that prints says so when it ends.
        handle = os.open(os.devnull, os.O_RDONLY if name == "stdout" else os.O_RDWR)
        if handle != number:
            os.dup2(handle, number)
        mode = "r" if name == "stdin" else "w"
        setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 - for the whole run


def _flushed(code: Code) -> int:
    """The code of a command that has failed already, once nothing is left to be written when Python ends."""
    try:
        sys.stdout.flush()
    except OSError:
        _give_up_stdout()
    return int(code)


def _give_up_stdout() -> None:
    """What is still buffered must not raise again when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def check_output(path: Path, *sources: Path | None, hint: str = "'--output' / '-o'", what: str = "") -> None:
    """Refuse a path that cannot be written to, or that is one of the `sources`, before any long work."""
    for source in sources:
        if source is not None and path.exists() and source.exists() and path.samefile(source):
            raise typer.BadParameter(f"`{path}` is also the input{what}.", param_hint=hint)
    if path.is_dir():
        raise InputError(f"cannot write `{path}`: it is a directory; give the name of a file", path=str(path))
    if path.exists() and not path.is_file():  # such as /dev/stdout
        return
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        raise InputError(f"cannot write `{path}`: there is no directory `{folder}`", path=str(path))
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"cannot write `{path}`: the directory `{folder}` is not writable", path=str(path))


def check_ending(path: Path, *endings: str) -> str:
    """The ending of the file to be written, in small letters; refused if it is none of these."""
    suffix = path.suffix.lower()
    if suffix not in endings:
        *others, last = endings
        known = f"{', '.join(others)} or {last}" if others else last
        raise typer.BadParameter(f"`{path}` must end in {known}.", param_hint="'--output' / '-o'")
    return suffix


@dataclass(frozen=True, slots=True)
class Said:
    """What a command prints: text for people, or with ``--json`` one object on one line; and its exit code."""

    text: str
    data: dict[str, Any]
    code: int = Code.DONE
    aside: bool = False
    """Whether the text goes to stderr."""

    def show(self, as_json: bool) -> None:
        """Print it, and end the command if it has not just succeeded."""
        if as_json:
            print(json.dumps(self.data, allow_nan=False))
        elif self.text:
            print(self.text.removesuffix("\n"), file=sys.stderr if self.aside else sys.stdout)
        if self.code != Code.DONE:
            raise typer.Exit(self.code)


def table_of(*words: str, numbers: Sequence[str], **options: Any) -> Table:
    """An empty table with columns of words, then of numbers."""
    from rich.box import SIMPLE
    from rich.table import Table

    table = Table(*words, box=SIMPLE, **options)
    for name in numbers:
        table.add_column(name, justify="right")
    return table


def table_text(table: Table, *notes: str) -> str:
    """A table, if it has rows, and the lines below it, as they are to be printed."""
    from rich.console import Console

    console = Console(file=sys.stdout, highlight=False)
    for column in table.columns:
        column.no_wrap = column.no_wrap or column.justify == "right"
        if column.no_wrap:
            column.min_width = max(len(str(cell)) for cell in (column.header, *column.cells))
    with console.capture() as text:
        # A table that needs more than the terminal is wide is printed in full: no number is cut off.
        least = console.measure(table, options=console.options.update_width(10_000)).minimum
        console.width = max(console.width, least)
        if table.rows:
            console.print(table, crop=False, overflow="ignore")
        for note in notes:
            console.print(note, markup=False, soft_wrap=True)
    return text.get()


def plain_integer(number: int) -> int | str:
    """An integer for JSON: beyond 2^53, where other programs would round it, a string.

    >>> plain_integer(12), plain_integer(10**20)
    (12, '100000000000000000000')
    """
    if abs(number) <= 2**53:
        return number
    return str(number) if number.bit_length() < 14_000 else readable_integer(number)


def readable_integer(number: int) -> str:
    """A positive integer for people: in full, or its size.

    >>> readable_integer(1234567), readable_integer(3 * 10**5000)
    ('1,234,567', 'about 3.0 * 10^5000')
    """
    if number < 10**21:
        return f"{number:,}"
    # Python refuses to write integers of more than 4300 digits, and nobody reads them.
    shift = number.bit_length() - 64
    logarithm = math.log10(number >> shift) + shift * math.log10(2)
    power = math.floor(logarithm)
    return f"about {10 ** (logarithm - power):.1f} * 10^{power}"


def _options_of(command: Any, argv: Sequence[str]) -> dict[str, str]:
    """The options of the command that is run, by the names that they have in Python."""
    found = getattr(command, "commands", {}).get(argv[0] if argv else "")
    names = {each.name: each.opts[0] for each in getattr(found, "params", ()) if each.opts[0].startswith("--")}
    return {"weights": "--dtype", **names} if "dtype" in names else names  # the type of the weights in a file


def spelled(message: str, options: dict[str, str]) -> str:
    """The message with options as the command line spells them.

    >>> names = {"max_regions": "--max-regions", "box": "--box", "weights": "--dtype"}
    >>> spelled("a larger `max_regions`, or `box=0`; or `f(x)`", names)
    'a larger `--max-regions`, or `--box 0`; or `f(x)`'
    >>> spelled('`weights="int8"`; `box=(-1, 1)`', names)
    '`--dtype int8`; `--box -1 1`'
    """

    def spell(found: re.Match[str]) -> str:
        option, value = options.get(found[1]), re.sub(r"[\"(),]", "", found[2]).strip()
        if option is None or value == "False":
            return found[0]
        return f"`{option}`" if value in ("", "True") else f"`{option} {value}`"

    return re.sub(r"`(\w+)=?([^`=]*)`", spell, message)


def _report(error: BaseException, heard: Heard, options: dict[str, str]) -> Code:
    if heard.number is not None or isinstance(error, (KeyboardInterrupt, typer.Abort)):
        return say(heard.message, Code(heard.code))
    if isinstance(error, _UsageError):
        context = getattr(error, "ctx", None)
        hint = f"\nTry `{context.command_path} --help`." if context is not None else ""
        said = error.format_message().replace(": Value error, ", ": ")  # type: ignore[attr-defined] # as Pydantic says it
        return say(f"error: {said}{hint}", Code.USAGE)
    if isinstance(error, BrokenPipeError):
        _give_up_stdout()
        return Code.CLOSED
    for kind, code in _CODES:
        if isinstance(error, kind):
            return say(f"error: {spelled(str(error), options)}", code)
    if isinstance(error, OSError):
        if error.filename is None and error.errno in (errno.ENOSPC, errno.EBADF, errno.EIO, errno.EFBIG, errno.EDQUOT):
            _give_up_stdout()
            return say(f"error: standard output cannot be written: {error.strerror}", Code.BAD_INPUT)
        name = f"`{error.filename}`: " if error.filename else ""
        return say(f"error: {name}{error.strerror or error}", Code.BAD_INPUT)
    if isinstance(error, MemoryError):
        return say("error: out of memory", Code.UNDECIDED)
    what = f"{type(error).__name__}: {error}"
    return say(f"error: this is a bug in cpwl: {what}\nSet CPWL_DEBUG=1 to see the traceback.", Code.BUG)


def say(message: str, code: Code) -> Code:
    """Print a message on stderr, and return the code with which the command ends."""
    # Where stderr is full or closed the exit code says it alone.
    with contextlib.suppress(OSError, ValueError):
        print(printable(message), file=sys.stderr, flush=True)
    return code


def _show_warning(options: dict[str, str], message: Warning | str, *_: Any, **__: Any) -> None:
    with contextlib.suppress(OSError, ValueError):
        print(f"warning: {printable(spelled(str(message), options))}", file=sys.stderr)


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
        message = f"{counted(len(pairs), 'pair')} LO,HI for {counted(dim, 'input')}; give one for each."
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

    if layout is None and recognized(path) is None and not path.is_file():
        return load(path)  # a pipe, which cannot be looked at, or nothing
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
        raise InputError(f"{path} holds a function, not a network; `cpwl compile` makes one of it", path=str(path))
    return network


def load_function(path: Path, otherwise: str, layout: str | None = None) -> CPWL:
    """The function in a file; for a network, an error that ends with `otherwise`."""
    from cpwl.function import CPWL

    p = load_any(path, layout)
    if not isinstance(p, CPWL):
        raise InputError(f"{path} holds a network; {otherwise}", path=str(path))
    return p
