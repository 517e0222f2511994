"""All commands under one name, and what is asked of `cpwl` itself."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from cpwl.cli.ask import ask
from cpwl.cli.batch import batch
from cpwl.cli.compile import check, compile, mpc
from cpwl.cli.files import bench_run, bounds, convert, demo, doctor, info, plot, report, tradeoff
from cpwl.cli.limits import command, own_process
from cpwl.cli.networks import compress, count_regions, equal, extract, milp, vnnlib
from cpwl.cli.shared import Said, run, whole_boxes

_EPILOG = (
    "Exit status: 0 done or proved; 1 refuted; 2 undecided, or a limit was reached; 3 (check) proved in exact "
    "arithmetic, but not for evaluation in floats; 64 usage error; 65 invalid input; 70 internal error; "
    "130 interrupted; 141 output pipe closed; 143 terminated. Set CPWL_DEBUG=1 to see the traceback of an error."
)

_app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode=None)
_ABOUT_FUNCTIONS = (compile, tradeoff, convert, info, check, doctor, equal, ask, mpc)
_ABOUT_NETWORKS = (compress, extract, count_regions, milp, vnnlib)
_COMMANDS: tuple[Callable[..., Said | None], ...] = (*_ABOUT_FUNCTIONS, *_ABOUT_NETWORKS, bounds, report, plot, demo)
for _each in _COMMANDS:
    _app.command()(command(_each))
_app.command("count", hidden=True)(command(count_regions))  # its name up to 0.2
_app.command()(batch)
_bench = typer.Typer(help="Benchmarks on this machine.", rich_markup_mode=None)
_bench.command("run")(command(bench_run))
_bench.callback()(lambda: None)
_app.add_typer(_bench, name="bench")


def run_command(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv`; without one, that of this process, which then is there for nothing else."""
    if argv is not None:
        return run(_app, whole_boxes(argv))
    with own_process():
        code = run(_app, whole_boxes(sys.argv[1:]))
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # all is done: no traceback while Python ends
    return code


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"cpwl {version('cpwl')}")
        raise typer.Exit


@_app.callback(invoke_without_command=True, epilog=_EPILOG)
def _root(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001 - its callback does the work
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """An exact compiler between continuous piecewise-linear functions and ReLU networks."""
    if context.invoked_subcommand is None:
        print(context.get_help())
