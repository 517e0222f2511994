"""Importing the package loads nothing heavy, and every public name is there when asked for."""

import subprocess
import sys

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
    """What `__all__` lists can be had, also after the folder of the same name was imported."""
    assert getattr(cpwl, name).__name__.split(".")[-1] == name
    assert name in dir(cpwl)


def test_function_is_not_hidden_by_its_folder():
    """`cpwl.certify` is the function even if its folder is imported first."""
    program = "import cpwl.certify.checker, cpwl; assert callable(cpwl.certify), cpwl.certify"
    assert "cpwl" in _loaded_after(program)


def test_version_is_that_of_the_distribution():
    """`cpwl.__version__` is what the installed package says."""
    from importlib.metadata import version

    assert cpwl.__version__ == version("cpwl")


def test_unknown_name_is_refused():
    """A name that is not there raises the usual error."""
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = cpwl.nothing
