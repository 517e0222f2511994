"""Every public function with wrong arguments: one sentence, whatever is given."""

import inspect
import re
import warnings
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

import cpwl
from cpwl import CPWL, Network, bounds
from cpwl.io.json import load, save

ABSOLUTE = CPWL.from_pieces([[[1], [-1]], [[-1], [1]]], [[0, 1], [0, 1]], [[-1], [1]], [0, 0])
NETWORK = Network([([["1"], ["-1"]], [0, 0]), ([["1", "1"]], [0])])
COMPILED = cpwl.compile(ABSOLUTE)
PIECES = {"A": [[[1]], [[-1]]], "b": [[0], [0]], "gradient": [[-1], [1]], "offset": [0, 0]}
TABLE = {"points": [[0], [1]], "simplices": [[0, 1]], "values": [0, 1]}
BOX = ([0], [1])


class Fitted:
    """What `from_sklearn` reads."""

    activation, out_activation_ = "relu", "identity"
    coefs_, intercepts_ = [[[1.0]], [[1.0]]], [[0.0], [0.0]]


def calls(folder):
    """Every public function, with arguments that are right."""
    law, onnx = str(folder / "law.json"), str(folder / "net.onnx")
    cpwl.write(ABSOLUTE, law)
    cpwl.io.to_onnx(NETWORK, onnx)
    oracle = {"f": lambda x: abs(x[:, 0]), "A": PIECES["A"], "b": PIECES["b"], "centers": [[-2], [2]], "radii": [1, 1]}
    certificate = cpwl.certify(ABSOLUTE, NETWORK)
    return {
        "compile": (cpwl.compile, {"p": ABSOLUTE, "construction": "auto", "minimize": "neurons", "max_error": 1e-3}),
        "compile, options": (
            cpwl.compile,
            {"p": ABSOLUTE, "precision": "float64", "weights": "exact", "progress": None},
        ),
        "certify": (cpwl.certify, {"p": ABSOLUTE, "network": NETWORK, "max_error": 0.5, "rounded_from": NETWORK}),
        "certify, progress": (cpwl.certify, {"p": ABSOLUTE, "network": NETWORK, "progress": None}),
        "compress": (cpwl.compress, {"network": NETWORK, "domain": ([[1]], [1]), "max_regions": 5, "progress": None}),
        "count_regions": (cpwl.count_regions, {"network": NETWORK, "domain": ([[1]], [1]), "max_regions": 5}),
        "count_regions, box": (cpwl.count_regions, {"network": NETWORK, "box": BOX, "progress": None, "only": "cells"}),
        "equal": (cpwl.equal, {"a": NETWORK, "b": ABSOLUTE, "domain": BOX_ROWS, "max_regions": 5, "progress": None}),
        "extract": (cpwl.extract, {"network": NETWORK, "domain": ([[1]], [1]), "merge": True, "max_regions": 9}),
        "extract, options": (cpwl.extract, {"network": NETWORK, "box": BOX, "exact": True, "resume": None}),
        "simplify, box": (cpwl.simplify, {"network": NETWORK, "box": BOX}),
        "equal, box": (cpwl.equal, {"a": NETWORK, "b": ABSOLUTE, "box": BOX}),
        "compress, box": (cpwl.compress, {"network": NETWORK, "box": BOX}),
        "simplify": (cpwl.simplify, {"network": NETWORK, "domain": ([[1]], [1])}),
        "from_onnx": (cpwl.io.from_onnx, {"path": onnx}),
        "from_sklearn": (cpwl.io.from_sklearn, {"model": Fitted()}),
        "load": (load, {"path": law}),
        "save": (save, {"p_or_network": ABSOLUTE, "path": law, "note": "a note"}),
        "to_onnx": (cpwl.io.to_onnx, {"network": NETWORK, "path": onnx, "dtype": "float32", "batch": "N"}),
        "Certificate.save": (certificate.save, {"path": law}),
        "CPWL.from_pieces": (CPWL.from_pieces, {**PIECES, "domain": ([[1]], [5]), "tol": 1e-9}),
        "CPWL.from_simplices": (CPWL.from_simplices, TABLE),
        "CPWL.from_breakpoints": (CPWL.from_breakpoints, {"x": [0, 1], "y": [0, 1], "left_slope": 1, "right_slope": 2}),
        "CPWL.from_grid": (CPWL.from_grid, {"axes": [[0, 1]], "values": [0, 1], "triangulation": "kuhn"}),
        "CPWL.from_maxmin": (CPWL.from_maxmin, {"components": [[1, 0], [-1, 0]], "rows": [[0], [1]]}),
        "CPWL.from_oracle": (CPWL.from_oracle, oracle),
        "CPWL.snap": (ABSOLUTE.snap, {"tol": 1e-9}),
        "CPWL.components": (ABSOLUTE.components, {"output": 0}),
        "CPWL.representatives": (ABSOLUTE.representatives, {"output": 0}),
        "CPWL()": (ABSOLUTE, {"x": [[0.5]]}),
        **questions(),
        "Network": (Network, {"layers": [([[1]], [0])]}),
        "Network()": (NETWORK, {"x": [[0.5]]}),
        "bounds.theorem1": (bounds.theorem1, {"q": 3}),
        "bounds.theorem2": (bounds.theorem2, {"k": 3, "q": 3}),
        "bounds.theorem3": (bounds.theorem3, {"n": 3, "k": 3}),
        "bounds.he2020": (bounds.he2020, {"n": 2, "k": 3, "q": 3}),
        "bounds.hertrich2021": (bounds.hertrich2021, {"n": 2, "k": 3}),
        "bounds.arora2018_hidden_layers": (bounds.arora2018_hidden_layers, {"n": 2}),
        "bounds.algorithm1": (bounds.algorithm1, {"sizes": [2, 2]}),
    }


def questions():
    """What a function and a network are asked, and how one calculates with them."""
    where = {"domain": BOX_ROWS}
    box = {"box": (-1, 1)}
    line = {"A": [[1]], "B": [[1]], "controller": ABSOLUTE}
    asked = cpwl.ask(NETWORK, box=(-1, 1))
    return {
        "p + q": (lambda other: ABSOLUTE + other, {"other": ABSOLUTE}),
        "p - q": (lambda other: ABSOLUTE - other, {"other": ABSOLUTE}),
        "p * c": (lambda factor: ABSOLUTE * factor, {"factor": 2}),
        "p @ q": (lambda inner: ABSOLUTE @ inner, {"inner": ([[1]], [0])}),
        "M @ p": (lambda matrix: ABSOLUTE.__rmatmul__(matrix), {"matrix": [[1]]}),
        "p[j]": (lambda j: ABSOLUTE[j], {"j": 0}),
        "a + b": (lambda other: NETWORK + other, {"other": NETWORK}),
        "a * c": (lambda factor: NETWORK * factor, {"factor": 2}),
        "a @ b": (lambda inner: NETWORK @ inner, {"inner": ([[1]], [0])}),
        "a[j]": (lambda j: NETWORK[j], {"j": 0}),
        "maximum": (lambda one, two: cpwl.maximum(one, two), {"one": ABSOLUTE, "two": 1}),
        "minimum": (lambda one, two: cpwl.minimum(one, two), {"one": NETWORK, "two": 1}),
        "stack": (cpwl.stack, {"functions": [ABSOLUTE, ABSOLUTE]}),
        "compose": (ABSOLUTE.compose, {"q": ABSOLUTE, "outside": "error"}),
        "restrict": (ABSOLUTE.restrict, where),
        "restrict to a box": (ABSOLUTE.restrict, box),
        "clip": (ABSOLUTE.clip, {"low": 0, "high": 1}),
        "range": (ABSOLUTE.range, {**where, "output": 0}),
        "argmax": (ABSOLUTE.argmax, {**where, "output": 0}),
        "lipschitz": (ABSOLUTE.lipschitz, {"norm": 2, "outputs": 0, **where}),
        "is_convex": (ABSOLUTE.is_convex, {"output": 0, **box}),
        "is_monotone": (ABSOLUTE.is_monotone, {"i": 0, "output": 0, **where}),
        "depends_on": (ABSOLUTE.depends_on, {"i": 0, "output": 0, **where}),
        "solve": (ABSOLUTE.solve, {"value": 1, **where}),
        "level_set": (ABSOLUTE.level_set, {"value": 1, "output": 0, **where}),
        "integral": (ABSOLUTE.integral, {**where, "output": 0}),
        "distance": (ABSOLUTE.distance, {"q": ABSOLUTE, **where}),
        "image": (cpwl.image, {"p": ABSOLUTE, **where}),
        "ask": (cpwl.ask, {"subject": NETWORK, "max_regions": 5, "at_once": 5, "progress": None, **where}),
        "ask lipschitz": (asked.lipschitz, {"norm": 1, "outputs": 0}),
        "ask argmax": (asked.argmax, {"output": 0}),
        "ask solve": (asked.solve, {"value": 1}),
        "ask inside": (asked.inside, where),
        "closed_loop": (cpwl.dynamics.closed_loop, {**line, **where, "offset": [0]}),
        "iterate": (cpwl.dynamics.iterate, {"f": ABSOLUTE, "k": 2, "outside": "drop"}),
        "equilibria": (cpwl.dynamics.equilibria, {"f": ABSOLUTE, **where}),
        "decrease": (cpwl.dynamics.decrease, {"f": ABSOLUTE, "candidate": [[1]], "rate": 1, **where}),
        "is_invariant": (cpwl.dynamics.is_invariant, {"f": ABSOLUTE, **where}),
    }


BOX_ROWS = ([[1], [-1]], [1, 1])
WRONG = {
    "None": None,
    "a string": "text",
    "a number": 3,
    "a fraction": Fraction(1, 3),
    "nan": float("nan"),
    "negative": -7,
    "huge": 10**400,
    "a truth": True,
    "an empty list": [],
    "a ragged list": [[1], [1, 2]],
    "strings": ["a", "b"],
    "a set": {1, 2},
    "an object": object(),
    "a class": Network,
    "a network": NETWORK,
    "a function": ABSOLUTE,
    "a result": COMPILED,
    "complex": np.array([1j]),
    "a cube": np.zeros((2, 2, 2)),
    "a pair of nothing": (None, None),
    "bytes": b"bytes",
}


def attempt(call, arguments):
    """What a call says: None if it is content, its error if that is one of ours; any other is raised."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            call(**arguments)
        except cpwl.CpwlError as error:
            return error
    return None


def tries(folder):
    """Each argument of each function with each wrong value in its place."""
    for name, (call, right) in calls(folder).items():
        for argument in right:
            for what, value in WRONG.items():
                if argument == "path" and what in ("a string", "bytes"):
                    continue  # the name of a file
                yield f"{name}: {argument} is {what}", call, {**right, argument: value}


def test_right_arguments_are_right(tmp_path):
    """The table starts from calls that work."""
    for name, (call, right) in calls(tmp_path).items():
        assert attempt(call, right) is None, name


def test_wrong_arguments_are_one_sentence(tmp_path):
    """No call ends in anything but an error of ours, of a line or two."""
    raw = []
    count = 0
    for what, call, arguments in tries(tmp_path):
        count += 1
        try:
            error = attempt(call, arguments)
        except Exception as other:
            raw.append(f"{what}: {type(other).__name__}: {str(other)[:100]}")
            continue
        if error is not None and not (isinstance(error, (cpwl.InputError, cpwl.LimitError)) and len(str(error)) < 600):
            raw.append(f"{what}: {type(error).__name__}: {error}")
    assert count > 1500
    assert not raw, f"{len(raw)} of {count}:\n" + "\n".join(raw)


def test_other_operands_are_refused(tmp_path):
    """What is no network is never taken for one, nor what is no function for a function."""
    kinds = {"p": CPWL, "network": Network, "a": (CPWL, Network), "b": (CPWL, Network), "p_or_network": (CPWL, Network)}
    for name, (call, right) in calls(tmp_path).items():
        if name.startswith(("CPWL", "bounds")):
            continue
        for argument in right.keys() & kinds.keys():
            either = (name, argument) == ("certify, progress", "p")  # two networks are compared
            for what, value in WRONG.items():
                takes = isinstance(value, (CPWL, Network) if either else kinds[argument])
                if takes or (value is COMPILED and name.startswith("to_")):
                    continue  # writers take what `compile` returns
                error = attempt(call, {**right, argument: value})
                assert isinstance(error, cpwl.InputError), f"{name}: {argument} is {what}"


SENTENCES = {
    "a result for a network": (
        lambda _: cpwl.extract(COMPILED),
        r"`extract` takes a Network, not a Compiled: write `extract\(x\.network\)`",
    ),
    "a function for a network": (
        lambda f: cpwl.io.to_onnx(ABSOLUTE, f),
        r"`cpwl\.compile\(p\)\.network` is a network for a function",
    ),
    "a network for a function": (
        lambda _: cpwl.compile(NETWORK),
        r"`compile` takes a CPWL, not a Network: .* write `compile\(cpwl\.extract\(network\)\)`",
    ),
    "swapped": (lambda _: cpwl.certify(NETWORK, ABSOLUTE), r"certify"),
    "a result to be proved": (lambda _: cpwl.certify(ABSOLUTE, COMPILED), r"not a Compiled"),
    "swapped names": (lambda f: cpwl.io.to_onnx(f, NETWORK), r"`to_onnx` takes a Network, not a PosixPath"),
    "a file name": (lambda f: cpwl.compile(str(f)), r"`cpwl\.read` reads one from a file"),
    "no output 1": (lambda _: ABSOLUTE.components(1), r"`output` must be between 0 and 0, not 1"),
}


@pytest.mark.parametrize("case", SENTENCES)
def test_sentences_say_what_to_write(tmp_path, case):
    """The usual mistakes have their own advice."""
    call, message = SENTENCES[case]
    with pytest.raises(cpwl.InputError, match=message):
        call(tmp_path / "net.onnx")


def test_a_box_is_a_domain():
    """`box=(low, high)` says what rows say."""
    rows = ([[1], [-1]], [1, 0])
    identity = Network([([["1"]], [0])])
    assert cpwl.equal(NETWORK, identity, box=(0, 1)).equal
    assert not cpwl.equal(NETWORK, identity, box=(-1, 1)).equal
    assert cpwl.simplify(NETWORK, box=(0, 1)).sizes == cpwl.simplify(NETWORK, domain=rows).sizes
    assert cpwl.compress(NETWORK, box=(0, 1)).after == cpwl.compress(NETWORK, domain=rows).after


# --- one spelling for each thing --------------------------------------------------------------------------------------


def public():
    """Every public function and method, by its name."""
    for module in (cpwl, cpwl.io, cpwl.dynamics):
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            if inspect.isclass(value):
                yield from ((f"{name}.{k}", f) for k, f in vars(value).items() if inspect.isfunction(f) and k[0] != "_")
            elif callable(value):
                yield name, value


def test_arguments_are_spelled_alike():
    """`domain` and `box` are given by name; `output` is one, `outputs` are some, never how many; one `dtype`."""
    seen = Counter()
    for name, function in public():
        for argument in inspect.signature(function).parameters.values():
            seen[argument.name] += 1
            if argument.name in ("domain", "box"):
                assert argument.kind is argument.KEYWORD_ONLY, name
            if argument.name == "output" and name != "CPWL.representatives":  # no question: it takes a number of ours
                by_name = name.startswith("CPWL.") and "domain" in inspect.signature(function).parameters
                allowed = ("int | str | None",) if by_name else ("int", "int | None")
                assert argument.annotation in allowed, name
            if argument.name == "outputs":
                assert argument.annotation == "Any", name
            if argument.name == "dtype":
                only = argument.annotation.replace(" | Literal['float16']" if name == "to_onnx" else "?", "")
                assert only in ("Dtype", "Dtype | None"), name  # ONNX files hold float16, too
    assert min(seen[name] for name in ("domain", "box", "output", "outputs", "dtype")) >= 3
    assert seen["certificate"] == 0


OLD = {
    "certify=": (lambda: cpwl.compile(ABSOLUTE, certificate=True).certificate.proved, True),
    "certify= of report": (lambda: cpwl.report(ABSOLUTE, title="t", prove=False).title, "t"),
    "domain=": (lambda: ABSOLUTE.restrict(([[1]], [0])).num_pieces, 1),
    "domain= of a function": (lambda: cpwl.simplify(NETWORK, ([[1]], [0])).sizes.neurons, 0),
    "domain= and another": (lambda: ABSOLUTE.range(([[1]], ["1/2"]), output=0).high, 1),
    "num_outputs=": (lambda: cpwl.read("table.csv", outputs=2).outputs, 2),
}


@pytest.mark.parametrize("name", OLD)
def test_old_spellings_work_for_one_release(name, tmp_path, monkeypatch):
    """With a warning at the line that uses them, which says what to write."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.csv").write_text("0,1,2\n1,2,3\n")
    call, expected = OLD[name]
    with pytest.warns(DeprecationWarning, match=f"write `{name.split()[0]}") as noted:
        assert call() == expected
    assert [each.filename for each in noted] == [__file__]


def test_a_name_and_a_place_are_one_too_many():
    """What no release took is refused as Python does."""
    with pytest.raises(TypeError):
        ABSOLUTE.restrict(([[1]], [0]), domain=([[1]], [0]))
    with pytest.raises(TypeError):
        ABSOLUTE.restrict(([[1]], [0]), BOX)


@pytest.mark.parametrize(
    ("call", "usage"),
    [
        (lambda: cpwl.extract(COMPILED.network, BOX), "extract(network, domain=.., box=.., "),
        (lambda: cpwl.compile(ABSOLUTE, "gates"), "compile(p, construction=.., "),
        (lambda: cpwl.certify(ABSOLUTE, COMPILED.network, bound=1), "certify(p, network, "),
        (lambda: cpwl.image(ABSOLUTE, BOX, BOX, BOX), "image(p, domain=.., box=..)"),
        (lambda: ABSOLUTE.merge(1), "p.merge()"),
        (lambda: ABSOLUTE.restrict([[1]], [2]), "p.restrict(domain=.., box=..)"),
    ],
    ids=["extract", "compile", "certify", "image", "merge", "restrict"],
)
def test_other_arguments_than_there_are_say_how_to_call(call, usage):
    """A box without its name, an option that does not exist, a number too many: one sentence with what to write."""
    with pytest.raises(TypeError, match=re.escape(f"write `{usage}")) as caught:
        call()
    assert isinstance(caught.value, cpwl.InputError)


def test_snapping_allows_what_the_data_does():
    """Without a number it is the tolerance of the data; for data without one, 1e-9."""
    loose = CPWL.from_pieces([[[1.0]], [[-1.0]]], [[0.0], [0.0]], [[0.0], [1.0]], [0.0, 1e-7], tol=1e-6)
    assert loose.snap() is loose.snap(1e-6)
    assert loose.snap().function is not None
    assert ABSOLUTE.snap() is ABSOLUTE.snap(1e-9)


def test_writers_take_what_compile_returns(tmp_path):
    """The file has the network, and in ONNX what is known about it."""
    cpwl.io.to_onnx(COMPILED, tmp_path / "a.onnx")
    cpwl.write(COMPILED, tmp_path / "a.json")
    assert cpwl.equal(cpwl.read(tmp_path / "a.onnx"), COMPILED.network)
    assert cpwl.equal(cpwl.read(tmp_path / "a.json"), COMPILED.network)
    assert b"cpwl.construction" in (tmp_path / "a.onnx").read_bytes()
