"""Importing the package loads nothing heavy, and every public name is there when asked for."""

import importlib
import pkgutil
import subprocess
import sys
from typing import Literal, get_args, get_origin

import pytest

import cpwl

_HEAVY = ("torch", "matplotlib", "onnxruntime", "pandas", "onnx", "scipy", "highspy", "numpy", "flint", "rich", "typer")


def _loaded_after(program: str) -> set[str]:
    """The top-level modules that a fresh interpreter has loaded after a program."""
    show = "; import sys; print(*{name.split('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", program + show], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_import_is_light():
    """`import cpwl` loads no library for numbers, plots, files or the command line."""
    assert _loaded_after("import cpwl").isdisjoint(_HEAVY)


def test_compiling_needs_no_optional_library():
    """Neither compiling nor evaluating loads a library from an extra."""
    program = "import cpwl; p = cpwl.CPWL.from_breakpoints([0, 1], [0, 1]); cpwl.compile(p).network([[1.0]])"
    assert _loaded_after(program).isdisjoint({"torch", "matplotlib", "onnxruntime", "pandas", "onnx", "rich"})


@pytest.mark.parametrize("name", cpwl.__all__)
def test_every_public_name_is_there(name):
    """What `__all__` lists can be had: functions, classes and modules by their names, and the values of options."""
    found = getattr(cpwl, name)
    if get_origin(found) is Literal:
        assert all(isinstance(value, str) for value in get_args(found))
    else:
        assert found.__name__.split(".")[-1] == name
    assert name in dir(cpwl)


_MODULES = sorted(m.name for m in pkgutil.walk_packages(cpwl.__path__, "cpwl.") if not m.name.endswith("__main__"))


def test_every_module_can_be_imported_by_its_name():
    """``import cpwl.a.b as x`` binds the module: no function of a package hides a module of it."""
    for name in _MODULES:
        module = importlib.import_module(name)
        folder, _, last = name.rpartition(".")
        assert getattr(sys.modules[folder], last) is module, name


def test_no_module_is_hidden_by_a_public_name():
    """No folder or file of the package is called like a verb that users call; `bounds` is a module itself."""
    assert {name.split(".")[1] for name in _MODULES} & set(cpwl.__all__) == {"bounds"}


def test_version_is_that_of_the_distribution():
    """`cpwl.__version__` is what the installed package says."""
    from importlib.metadata import version

    assert cpwl.__version__ == version("cpwl")


def test_unknown_name_is_refused():
    """A name that is not there raises the usual error."""
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = cpwl.nothing
