"""Importing the package loads nothing heavy, and every public name is there when asked for."""

import importlib
import pkgutil
import subprocess
import sys

import pytest

import cpwl

_HEAVY = ("torch", "matplotlib", "onnxruntime", "pandas", "onnx", "scipy", "highspy", "numpy", "flint", "rich", "typer")


def _loaded_after(program: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after a program."""
    show = "; import sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program + show], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_import_is_light():
    """`import cpwl` loads no library for numbers, plots, files or the command line."""
    assert _loaded_after("import cpwl").isdisjoint(_HEAVY)


def test_compiling_needs_no_optional_library():
    """Neither compiling nor evaluating loads a library from an extra, or a part of SciPy that is slow to load."""
    program = "import cpwl; p = cpwl.CPWL.from_breakpoints([0, 1], [0, 1]); cpwl.compile(p).network([[1.0]])"
    loaded = _loaded_after(program)
    assert loaded.isdisjoint({"torch", "matplotlib", "onnxruntime", "pandas", "onnx", "rich"})
    assert loaded & {"scipy.spatial", "scipy.linalg", "scipy.sparse.csgraph", "scipy.optimize"} == set()


def test_a_function_alone_has_all_its_methods():
    """Where nothing but `CPWL` was asked for, every method that it declares has its algorithm: points have values."""
    program = (
        "import cpwl; p = cpwl.CPWL.from_breakpoints([0, 1], [0, 1]); assert p([[0.5]]).tolist() == [[0.5]]; "
        "import types; found = [m for m in vars(cpwl.CPWL).values() if isinstance(m, types.FunctionType)]; "
        "empty = [m.__name__ for m in found if m.__code__.co_consts == (m.__doc__, None)]; assert not empty, empty"
    )
    _loaded_after(program)


@pytest.mark.parametrize("module", [cpwl, cpwl.io], ids=["cpwl", "io"])
def test_every_public_name_is_there(module):
    """What `__all__` lists can be had: functions, classes and modules by their names; at the top there are few."""
    for name in module.__all__:
        assert getattr(module, name).__name__.split(".")[-1] == name
        assert name in dir(module)
    assert len(cpwl.__all__) < 35


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("from_onnx", "cpwl.io.from_onnx"),
        ("to_c", "cpwl.io.to_c"),
        ("Milp", "cpwl.io.Milp"),
        ("load", "cpwl.read"),
        ("save", "cpwl.write"),
        ("io.load", "cpwl.read"),
        ("io.save", "cpwl.write"),
        ("iterate", "cpwl.dynamics.iterate"),
        ("Sizes", "cpwl.network.Sizes"),
    ],
)
def test_names_that_have_moved_work_for_one_release(name, instead):
    """With a warning at the line that uses them, which says what to write."""
    module = cpwl.io if name.startswith("io.") else cpwl
    name = name.removeprefix("io.")
    with pytest.warns(DeprecationWarning, match=f"write `{instead}`") as noted:
        found = getattr(module, name)
    assert found.__name__ == name
    assert noted[0].filename == __file__


def test_other_names_are_not_there():
    """Modules and private names of `cpwl.io` are no names of `cpwl`."""
    for name in ("from_nowhere", "_HOME_", "csv"):
        assert not hasattr(cpwl, name)


_MODULES = sorted(m.name for m in pkgutil.walk_packages(cpwl.__path__, "cpwl.") if not m.name.endswith("__main__"))


def test_every_module_can_be_imported_by_its_name():
    """``import cpwl.a.b as x`` binds the module: no function of a package hides a module of it."""
    for name in _MODULES:
        module = importlib.import_module(name)
        folder, _, last = name.rpartition(".")
        assert getattr(sys.modules[folder], last) is module, name


def test_no_module_is_hidden_by_a_public_name():
    """No folder or file of the package is called like a verb; `bounds`, `dynamics` and `io` are modules themselves."""
    assert {name.split(".")[1] for name in _MODULES} & set(cpwl.__all__) == {"bounds", "dynamics", "io"}


def test_version_is_that_of_the_distribution():
    """`cpwl.__version__` is what the installed package says."""
    from importlib.metadata import version

    assert cpwl.__version__ == version("cpwl")


def test_unknown_name_is_refused():
    """A name that is not there raises the usual error."""
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = cpwl.nothing
