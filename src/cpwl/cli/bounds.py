"""``cpwl bounds``: the published bounds for so many pieces, linear components and inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, Any

import typer

from cpwl.cli.options import AsJson
from cpwl.cli.output import plain_integer, print_json, readable_integer, table_text

__all__ = ["bounds"]

_Sizes = dict[str, int | None]
_TITLES = {
    "theorem1": "Theorem 1",
    "theorem2": "Theorem 2",
    "theorem3": "Theorem 3",
    "he2020": "He et al. 2020",
    "hertrich2021": "Hertrich et al. 2021",
    "arora2018": "Arora et al. 2018",
}


def bounds(
    pieces: Annotated[int | None, typer.Option(min=1, metavar="Q", help="Number of convex pieces.")] = None,
    components: Annotated[
        int | None, typer.Option(min=1, metavar="K", help="Number of distinct linear components.")
    ] = None,
    dim: Annotated[int | None, typer.Option(min=1, metavar="N", help="Number of inputs.")] = None,
    as_json: AsJson = False,
) -> None:
    """Print published upper bounds on network size, given the number of pieces, components and inputs.

    A bound is printed if all numbers that it needs are given.
    """
    from cpwl.errors import InputError

    if pieces is None and components is None and dim is None:
        raise typer.BadParameter("give at least one of them.", param_hint="'--pieces', '--components', '--dim'")
    try:
        rows = dict(_rows(dim, components, pieces))
    except InputError as error:  # what is wrong here is wrong on the command line
        raise typer.BadParameter(str(error)) from error
    given = {"pieces": pieces, "components": components, "dim": dim}
    if as_json:
        _print_json({name: value for name, value in given.items() if value is not None}, rows)
    else:
        _print_table(rows)


def _rows(n: int | None, k: int | None, q: int | None) -> Iterator[tuple[str, _Sizes]]:
    from cpwl import bounds as published

    if q is not None:
        yield "theorem1", _all(lambda: published.theorem1(q))
    if k is not None and q is not None:
        yield "theorem2", _all(lambda: published.theorem2(k, q))
    if n is not None and k is not None:
        yield "theorem3", _all(lambda: published.theorem3(n, k))
    if n is not None and k is not None and q is not None:
        yield "he2020", {"neurons": _within(lambda: published.he2020(n, k, q))}
    if n is not None and k is not None:
        yield "hertrich2021", {"neurons": _within(lambda: published.hertrich2021(n, k))}
    if n is not None:
        yield "arora2018", {"layers": published.arora2018_hidden_layers(n) + 1}


def _within(bound: Callable[[], Any]) -> Any:
    """The bound, or None if it is too large to compute."""
    from cpwl.errors import LimitError

    try:
        return bound()
    except LimitError:
        return None


def _all(bound: Callable[[], Any]) -> _Sizes:
    sizes = _within(bound)
    return {name: None if sizes is None else getattr(sizes, name) for name in ("layers", "width", "neurons")}


def _print_json(given: dict[str, int], rows: dict[str, _Sizes]) -> None:
    found = {
        name: {key: None if size is None else plain_integer(size) for key, size in sizes.items()}
        for name, sizes in rows.items()
    }
    print_json({**{name: plain_integer(value) for name, value in given.items()}, "bounds": found})


def _print_table(rows: dict[str, _Sizes]) -> None:
    from rich.box import SIMPLE
    from rich.table import Table

    table = Table("bound", box=SIMPLE)
    for name in ("layers", "width", "neurons"):
        table.add_column(name, justify="right")
    for name, sizes in rows.items():
        cells = (_cell(sizes, key) for key in ("layers", "width", "neurons"))
        table.add_row(_TITLES[name], *cells)
    print(table_text(table), end="")


def _cell(sizes: _Sizes, key: str) -> str:
    if key not in sizes:
        return "-"
    size = sizes[key]
    return "too large to compute" if size is None else readable_integer(size)
