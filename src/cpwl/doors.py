"""Is that the right kind of thing? Asked of every argument where it comes in, so that a mistake is one sentence.

What is often given instead has a sentence of its own: a result in place of the network in it, a network in place of a
function, arguments the other way round, the name of a file in place of what it holds.
"""

from __future__ import annotations

import numbers
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from importlib import import_module
from inspect import Parameter, Signature, signature
from types import FunctionType
from typing import Any, Literal, ParamSpec, TypeVar

from cpwl.errors import InputError, LimitError

_LARGEST = sys.float_info.max
_P = ParamSpec("_P")
_R = TypeVar("_R")
_Kind = TypeVar("_Kind")
_Algorithm = TypeVar("_Algorithm", bound=Callable[..., Any])


def check_argument(value: Any, kinds: type | tuple[type, ...], verb: str) -> None:
    """Refuse what is of another kind, in one sentence that says what to write.

    >>> class Network: ...
    >>> check_argument("model.onnx", Network, "extract")
    Traceback (most recent call last):
    cpwl.errors.InputError: `extract` takes a Network, not a str: `cpwl.read` reads one from a file
    """
    if isinstance(value, kinds):
        return
    wanted = [kind.__name__ for kind in (kinds if isinstance(kinds, tuple) else (kinds,))]
    said = " or ".join(map(_article, wanted))
    raise InputError(
        f"`{verb}` takes {said}, not {_given(value)}: {_ADVICE[wanted[0]](value, verb)}", type=type(value).__name__
    )


def check_limit(most: Any, name: str = "max_regions") -> None:
    """Refuse a limit that is no positive whole number; None is no limit."""
    if most is not None and (isinstance(most, bool) or not isinstance(most, numbers.Integral) or int(most) < 1):
        said = _given(most, True)
        raise InputError(f"`{name}` must be a whole number of at least 1, or None for no limit; not {said}")


def _for_network(value: Any, verb: str) -> str:
    """What to write where a network belongs."""
    if _is_network(getattr(value, "network", None)):
        return f"write `{verb}(x.network)`, where x is what you passed"
    if hasattr(value, "polyhedra") and hasattr(value, "laws"):
        return f"`cpwl.compile(p).network` is a network for a function p; write `{verb}(cpwl.compile(p).network)`"
    if isinstance(value, (str, os.PathLike)):
        return "`cpwl.read` reads one from a file"
    if isinstance(value, (list, tuple)):
        return "`cpwl.Network([(W1, b1), ...])` makes one of weights and biases"
    return "`cpwl.io.from_torch`, `cpwl.io.from_onnx` and `cpwl.io.from_sklearn` make one of a model"


def _for_function(value: Any, verb: str) -> str:
    """What to write where a function belongs."""
    if _is_network(value):
        return f"`cpwl.extract(network)` is the function of a network; write `{verb}(cpwl.extract(network))`"
    if hasattr(value, "function"):
        return f"write `{verb}(x.function)`, where x is what you passed"
    if isinstance(value, (str, os.PathLike)):
        return "`cpwl.read` reads one from a file"
    return "`cpwl.CPWL.from_pieces`, `from_simplices`, `from_breakpoints` and others make one of data"


def _is_network(value: Any) -> bool:
    return hasattr(value, "layers") and hasattr(value, "evaluated_in") and not isinstance(value, type)


_ADVICE: dict[str, Callable[[Any, str], str]] = {"CPWL": _for_function, "Network": _for_network}


def check_number(value: Any, name: str, *, least: float | None = None, above: float | None = None) -> None:
    """Refuse what is no finite real number, or one that is too small.

    >>> check_number(float("nan"), "tol")
    Traceback (most recent call last):
    cpwl.errors.InputError: `tol` must be a finite number, not nan
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise InputError(f"`{name}` must be a number, not {_given(value)}", name=name)
    number: Any = value
    if not -_LARGEST <= number <= _LARGEST:
        raise InputError(f"`{name}` must be a finite number, not {_given(value, True)}", name=name)
    if (least is not None and number < least) or (above is not None and number <= above):
        bound = f"at least {least:g}" if least is not None else f"more than {above:g}"
        raise InputError(f"`{name}` must be {bound}, not {_given(value, True)}", name=name)


def check_count(value: Any, name: str, *, least: int = 1, most: int | None = None) -> None:
    """Refuse what is no whole number, or one out of range.

    >>> check_count(7, "output", least=0, most=2)
    Traceback (most recent call last):
    cpwl.errors.InputError: `output` must be between 0 and 2, not 7
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise InputError(f"`{name}` must be a whole number, not {_given(value)}", name=name)
    if int(value) < least or (most is not None and int(value) > most):
        bound = f"at least {least}" if most is None else f"between {least} and {most}"
        raise InputError(f"`{name}` must be {bound}, not {_given(value, True)}", name=name)


def chosen_numbers(value: Any, count: int, name: str) -> list[int]:
    """The numbers below `count` that a number, a slice or a list of numbers stands for; at least one.

    >>> chosen_numbers(-1, 3, "output"), chosen_numbers(slice(1, None), 3, "output")
    ([2], [1, 2])
    """
    every = list(range(count))
    if isinstance(value, slice):
        for end in (value.start, value.stop, value.step):
            if end is not None:
                check_count(end, name, least=-sys.maxsize)
        chosen = every[value]
    else:
        asked = list(value) if isinstance(value, (list, tuple)) or getattr(value, "ndim", 0) == 1 else [value]
        for k in asked:
            check_count(k, name, least=-count, most=count - 1)
        chosen = [every[int(k)] for k in asked]
    if not chosen:
        raise InputError(f"`{name}` chooses none; it takes numbers from 0 to {count - 1}", name=name)
    return chosen


def check_choice(value: Any, choices: tuple[str, ...], name: str) -> None:
    """Refuse what is none of the choices."""
    if not (isinstance(value, str) and value in choices):
        known = ", ".join(f'"{choice}"' for choice in choices)
        raise InputError(f"`{name}` must be one of {known}, not {_given(value, True)}", name=name)


def check_outside(value: Any) -> str:
    """What to do with points outside a domain, "error" or "drop"; "refuse" is what "error" was called up to 0.1."""
    if isinstance(value, str) and value == "refuse":
        message = '`outside="refuse"` is deprecated and will be removed in the next release: write `outside="error"`'
        warnings.warn(message, DeprecationWarning, stacklevel=4)
        return "error"
    check_choice(value, ("error", "drop"), "outside")
    return str(value)


def formerly(*, place: str = "", **names: str) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """A decorator: calls as release 0.1 allowed them work for one release more, with a warning that says what to write.

    `place` is a keyword that could be given without its name, as the last argument; `names` are old names of keywords.

    >>> @formerly(place="domain", certificate="certify")
    ... def prove(p, *, domain=None, certify=False):
    ...     return p, domain, certify
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     prove(1, 2, certify=True)
    (1, 2, True)
    """

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        known = signature(function).parameters.values()
        most = sum(each.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD) for each in known)

        @wraps(function)
        def call(*values: Any, **options: Any) -> Any:
            if place and len(values) == most + 1 and place not in options:
                *values, options[place] = values  # type: ignore[assignment]
                _goes(f"`{place}` without its name", f"{place}=..")
            for old in names.keys() & options.keys():
                options[names[old]] = options.pop(old)
                _goes(f"`{old}=`", f"{names[old]}=..")
            try:
                return function(*values, **options)
            except TypeError:
                check_arguments(function, values, options)
                raise

        call.formerly = names  # type: ignore[attr-defined]
        return call

    return decorate


def _goes(old: str, new: str) -> None:
    """A warning at the line that calls us: methods of functions have a frame of ours between."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals["__name__"].startswith("cpwl."):
        level, frame = level + 1, frame.f_back
    warnings.warn(
        f"{old} is deprecated and will be removed in the next release: write `{new}`",
        DeprecationWarning,
        stacklevel=level,
    )


def needed(library: str, what: str, otherwise: str = "") -> Any:
    """An optional library, imported; `LimitError` with how to install it, or what else to do, if it is not there."""
    name, library = library, library.partition(".")[0]
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != library:
            raise
        message = f"{what} needs {library}, which is not installed; run `pip install {library}`"
        raise LimitError(f"{message}{otherwise and ', or ' + otherwise}") from error


def check_path(path: Any, verb: str) -> None:
    """Refuse what names no file."""
    if not isinstance(path, (str, os.PathLike)):
        raise InputError(f"`{verb}` takes the name of a file, not {_given(path)}", name="path")


def check_call(value: Any, name: str = "progress") -> None:
    """Refuse what is neither None nor can be called; functions, networks and results are called with a point."""
    is_value = hasattr(value, "outputs") or hasattr(value, "network")
    if value is not None and (not callable(value) or isinstance(value, type) or is_value):
        raise InputError(f"`{name}` must be a function to call, or None, not {_given(value)}", name=name)


def heard(progress: Callable[[int, int, str], None] | Literal["auto"] | None) -> Callable[[int, int, str], None] | None:
    """What is to be called with the progress, checked; `shows_progress` has made a call of "auto" before."""
    check_call(progress)
    assert progress != "auto"
    return progress


def check_list(value: Any, name: str) -> None:
    """Refuse what is no list, tuple or array."""
    if isinstance(value, (str, bytes, dict)) or not (hasattr(value, "__len__") and hasattr(value, "__getitem__")):
        raise InputError(f"`{name}` must be a list or an array, not {_given(value)}", name=name)


@contextmanager
def within_float64() -> Iterator[None]:
    """Refuse numbers that float64 does not reach, or whose quotients it does not; also a decorator."""
    try:
        yield
    except OverflowError:
        raise LimitError("a number, or a quotient of two, is too large for float64, which ends at 1.8e308") from None


# Methods that a class declares, with their signatures and docstrings, and other chapters have the algorithms of.


class CallError(InputError, TypeError):
    """A function or a method was called with other arguments than it takes."""


def method_of(kind: type, *names: str) -> Callable[[_Algorithm], _Algorithm]:
    """A decorator: the algorithm of methods that a class declares with their signatures and docstrings."""

    def attach(algorithm: _Algorithm) -> Any:
        for name in names:
            setattr(kind, name, _called_well(getattr(kind, name), algorithm))
        return getattr(kind, names[0])

    return attach


def _called_well(declared: Callable[..., Any], algorithm: Callable[..., Any]) -> Callable[..., Any]:
    """The algorithm with the name, signature and docstring declared: an error says how it is called."""

    @wraps(declared)
    def method(*args: Any, **options: Any) -> Any:
        try:
            return algorithm(*args, **options)
        except OverflowError:
            with within_float64():
                raise
        except TypeError:
            check_arguments(declared, args, options)
            raise

    return method


def check_arguments(declared: Callable[..., Any], args: Iterable[Any], options: Mapping[str, Any]) -> None:
    """Refuse arguments that a function or a method does not take, in one sentence that says how it is called.

    >>> check_arguments(check_limit, [1, "most", 3], {})
    Traceback (most recent call last):
    cpwl.doors.CallError: too many positional arguments: write `check_limit(most, name)`
    """
    form = signature(declared)
    try:
        form.bind(*args, **options)
    except TypeError as wrong:
        raise CallError(f"{wrong}: write `{_usage(declared, form)}`") from None


def _usage(declared: Callable[..., Any], form: Signature) -> str:
    """How a method is called, ``p.restrict(domain=.., box=..)``, or a function, ``extract(network, domain=..)``."""
    every = list(form.parameters.values())
    kind, _, name = declared.__qualname__.partition(".")
    said = [f"{each.name}=.." if each.kind is each.KEYWORD_ONLY else each.name for each in every[bool(name) :]]
    subject = kind if every[0].name == "cls" or not name else {"CPWL": "p"}.get(kind, kind.lower())
    return f"{subject}{'' if name in ('', '__call__') else '.' + name}({', '.join(said)})"


def says_how_to_call(kind: type[_Kind]) -> type[_Kind]:
    """A class whose public methods say how they are called if they are called otherwise."""
    for name, member in list(vars(kind).items()):
        if name[0] != "_" and isinstance(member, FunctionType):
            setattr(kind, name, _called_well(member, member))
        elif isinstance(member, classmethod):
            setattr(kind, name, classmethod(_called_well(member.__func__, member.__func__)))
    return kind


def check_switch(value: Any, name: str) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(value, bool):
        raise InputError(f"`{name}` must be True or False, not {_given(value, True)}", name=name)


def _article(kind: str) -> str:
    return f"{'an' if kind[:1] in 'aeiouAEIOU' else 'a'} {kind}"


def _given(value: Any, shown: bool = False) -> str:
    """What was given, in words, or as it is written if that is short."""
    if value is None:
        return "None"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if shown and isinstance(value, int) and value.bit_length() > 100:
        return "a long number"
    if shown and isinstance(value, (str, float, int)) and len(text := repr(value)) < 50:
        return text
    return _article(type(value).__name__)
