"""The command line: exit codes, one clear message for each mistake, whole files or none."""

import json
import os
import signal
import subprocess
import sys
import warnings

import numpy as np
import pytest

from cpwl import CPWL, certify, compile, extract
from cpwl import bounds as published
from cpwl.cli import main
from cpwl.cli.shared import readable_integer
from cpwl.errors import ConstructionError, CpwlWarning, InputError, InternalError, LimitError, ProofError
from cpwl.io.json import load
from cpwl.io.onnx.read import from_onnx
from cpwl.network import Network
from cpwl.progress import progress_bar
from support.json_examples import NETWORK, PIECES, TABLE, write

ABSOLUTE = {
    "format": "cpwl",
    "version": 1,
    "dim": 1,
    "outputs": 1,
    "pieces": [
        {"A": [[1]], "b": [0], "gradient": [["-1/3"]], "offset": [0]},
        {"A": [[-1]], "b": [0], "gradient": [["1/3"]], "offset": [0]},
    ],
}
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
COMMAND = [sys.executable, "-m", "cpwl"]


@pytest.fixture
def law(tmp_path):
    """The file of a function: a third of the absolute value."""
    return write(tmp_path / "law.json", ABSOLUTE)


@pytest.fixture
def run(capsys, monkeypatch):
    """Run a command line: its exit code, and what it wrote to stdout and to stderr."""
    monkeypatch.delenv("CPWL_DEBUG", raising=False)

    def call(*argv):
        code = main([str(word) for word in argv])
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return code, out, err

    return call


def fails(result, code, message):
    """Whether a run failed with that code, nothing on stdout, and the message as an error on stderr."""
    assert result[0] == code
    assert result[1] == ""
    assert result[2].startswith("error: ")
    assert message in result[2]


def breaks(monkeypatch, error):
    """Make the compiler raise that error."""

    def compile(*_, **__):
        raise error

    monkeypatch.setattr("cpwl.compiler.compile", compile)


def test_help_lists_the_commands(run):
    """Without a command there is help, and it says what the exit codes mean."""
    code, out, err = run()
    assert (code, err) == (0, "")
    assert all(word in out for word in ("compile", "bounds", "report", "65 invalid input"))
    assert run("--help") == (code, out, err)


@pytest.mark.parametrize("command", ["compile", "bounds", "report"])
def test_every_command_has_help(run, command):
    """Help is no error."""
    code, out, _ = run(command, "--help")
    assert code == 0
    assert out.startswith(f"Usage: cpwl {command}")


def test_version(run):
    """The version is the one that is installed."""
    from importlib.metadata import version

    assert run("--version") == (0, f"cpwl {version('cpwl')}\n", "")


def test_module_is_the_command():
    """``python -m cpwl`` runs the command line and exits with its code."""
    done = subprocess.run([*COMMAND, "bounds"], capture_output=True, text=True, env=ENVIRONMENT)
    assert done.returncode == 64
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["nonsense"], "No such command 'nonsense'"),
        (["--nonsense"], "--nonsense"),
        (["compile"], "Missing"),
        (["compile", "a.json"], "Missing option"),
        (["compile", "a.json", "b.json", "-o", "c.onnx"], "b.json"),
        (["compile", "a.json", "-o", "c.onnx", "--construction", "magic"], "'magic' is not one of auto, hinge"),
        (["compile", "a.json", "-o", "c.onnx", "--dtype", "float8"], "--dtype"),
        (["compile", "a.json", "-o", "c.h", "--c-form", "tre"], "'--c-form': 'tre' is not one of 'auto', 'network'"),
        (["batch", "folder", "-o", "out", "--construction", "magic"], "'magic' is not one of auto, hinge"),
        (["compile", "a.json", "-o", "c.json", "--dtype", "float32"], "a .json file is exact"),
        (["compile", "a.json", "-o", "c.onnx", "--outside", "error"], "`c.onnx` cannot refuse a point"),
        (["compile", "a.json", "-o", "c.txt"], "`c.txt` must end in .onnx, .json or .h"),
        (["bounds"], "give at least one"),
        (["bounds", "--pieces", "0"], "--pieces"),
        (["bounds", "--pieces", "two"], "--pieces"),
        (["bounds", "--pieces", "2", "--components", "3"], "need at least as many pieces"),
    ],
    ids=" ".join,
)
def test_wrong_usage_exits_64(run, argv, message):
    """A mistake in the command line is 64, with one message and where to find help."""
    result = run(*argv)
    fails(result, 64, message)
    assert "--help`." in result[2]


def test_compile_writes_onnx(run, law, tmp_path):
    """The network in the ONNX file is the function, and the table has its sizes beside the bounds."""
    code, out, err = run("compile", law, "-o", tmp_path / "law.onnx")
    assert (code, err) == (0, "")
    network = from_onnx(tmp_path / "law.onnx")
    np.testing.assert_allclose(network([[-3.0], [6.0]]), [[1.0], [2.0]], rtol=1e-15)
    assert all(word in out for word in ("neurons", "Theorem 1", "Theorem 2", "2 pieces", "2 components", "law.onnx"))


def test_compile_writes_float32(run, law, tmp_path):
    """With ``--dtype float32`` the weights are single precision."""
    import onnx

    assert run("compile", law, "-o", tmp_path / "law.onnx", "--dtype", "float32")[0] == 0
    model = onnx.load(tmp_path / "law.onnx")
    assert {tensor.data_type for tensor in model.graph.initializer} == {onnx.TensorProto.FLOAT}


def test_compile_writes_exact_json(run, law, tmp_path):
    """The network in a JSON file is exact."""
    assert run("compile", law, "-o", tmp_path / "network.json")[0] == 0
    network = load(tmp_path / "network.json")
    assert isinstance(network, Network)
    assert str(network(np.array([["-1/7"]], dtype=object))[0, 0]) == "1/21"


@pytest.mark.parametrize("document", [{**PIECES, "domain": None}, TABLE], ids=["pieces", "table"])
def test_compile_prints_json(run, tmp_path, document):
    """With ``--json`` stdout is one JSON object whose sizes are those of the network."""
    law, target = write(tmp_path / "law.json", document), tmp_path / "network.json"
    code, out, err = run("compile", law, "-o", target, "--json")
    assert (code, err) == (0, "")
    result = json.loads(out)
    sizes = load(target).sizes
    assert result["sizes"] == {name: getattr(sizes, name) for name in ("neurons", "depth", "width", "nonzeros")}
    assert result["bounds"]["theorem2"]["neurons"] >= sizes.neurons
    assert (result["input"], result["output"]) == (str(law), str(target))
    assert result["seconds"] > 0


def test_compile_takes_a_construction(run, law, tmp_path):
    """The construction that was asked for is the one that is reported."""
    out = run("compile", law, "-o", tmp_path / "a.onnx", "--construction", "paper", "--json")[1]
    assert json.loads(out)["construction"] == "paper"


def test_check_finds_a_jump(run, tmp_path):
    """A function that jumps is bad input; ``--no-check`` takes it as it is."""
    document = json.loads(json.dumps(ABSOLUTE))
    document["pieces"][1]["offset"] = [1]
    law, target = write(tmp_path / "law.json", document), tmp_path / "law.onnx"
    result = run("compile", law, "-o", target)
    assert (result[0], result[1]) == (65, "")
    assert not target.exists()
    assert run("compile", law, "-o", target, "--no-check", "--construction", "paper")[0] == 0


@pytest.mark.parametrize(
    ("name", "message"),
    [("nowhere.json", "No such file"), (".", "Is a directory"), ("broken.json", "is not JSON")],
)
def test_bad_input_exits_65(run, tmp_path, name, message):
    """A file that cannot be read is 65, and no output appears."""
    write(tmp_path / "broken.json", "{")
    fails(run("compile", tmp_path / name, "-o", tmp_path / "law.onnx"), 65, message)
    assert not (tmp_path / "law.onnx").exists()


def test_a_file_is_named_once(run, tmp_path):
    """A text file that is not there is reported like any other."""
    code, _, err = run("compile", tmp_path / "nowhere.csv", "-o", tmp_path / "law.onnx")
    assert (code, err.count("nowhere.csv")) == (65, 1)


def test_function_is_no_network(run, law, tmp_path):
    """The message says which command makes a network of it."""
    fails(run("extract", law, "-o", tmp_path / "pieces.json"), 65, "`cpwl compile` makes one of it")


def test_explain_has_a_row_for_what_was_taken(run, tmp_path):
    """Also if it is the network of the formula, which is no construction of the table."""
    code, out, _ = run(
        "compile", "--formula", "max(x, y, z) + abs(x - 2*z + 1)", "-o", tmp_path / "f.json", "--explain"
    )
    assert code == 0
    assert "formula: taken: " in out
    assert len([line for line in out.splitlines() if line.split()[:1] == ["formula"]]) == 1


def test_network_cannot_be_compiled(run, tmp_path):
    """A file that holds a network is bad input."""
    law = write(tmp_path / "network.json", NETWORK)
    fails(run("compile", law, "-o", tmp_path / "law.onnx"), 65, "holds a network")


def test_output_must_not_be_the_input(run, law):
    """The input is never overwritten."""
    fails(run("compile", law, "-o", law), 64, "is also the input")
    assert load(law).num_pieces == 2


@pytest.mark.parametrize(
    ("name", "message"), [("folder.onnx", "it is a directory"), ("no/law.onnx", "there is no directory")]
)
def test_impossible_output_is_refused_before_the_work(run, law, tmp_path, monkeypatch, name, message):
    """An output path that cannot be written is 65 before the function is even compiled."""
    breaks(monkeypatch, AssertionError("compiled first"))
    (tmp_path / "folder.onnx").mkdir()
    fails(run("compile", law, "-o", tmp_path / name), 65, message)


def test_unwritable_directory_is_refused(run, law, tmp_path, monkeypatch):
    """A directory without permission to write is 65 before the work."""
    breaks(monkeypatch, AssertionError("compiled first"))
    monkeypatch.setattr(os, "access", lambda *_: False)
    fails(run("compile", law, "-o", tmp_path / "law.onnx"), 65, "is not writable")


def test_failed_write_leaves_the_old_file(run, law, tmp_path, monkeypatch):
    """When writing fails, what was there is still there, whole, and nothing beside it."""
    target = tmp_path / "law.onnx"
    target.write_bytes(b"old")

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    fails(run("compile", law, "-o", target), 65, "No space left on device")
    assert target.read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["law.json", "law.onnx"]


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (LimitError("too large for us"), 2, "error: too large for us"),
        (ConstructionError("does not apply"), 2, "error: does not apply"),
        (MemoryError(), 2, "out of memory"),
        (ProofError("not equal at x = 1"), 1, "error: not equal at x = 1"),
        (InternalError("cannot be"), 70, "error: cannot be"),
        (PermissionError(13, "Permission denied", "x"), 65, "error: `x`: Permission denied"),
        (ZeroDivisionError("oops"), 70, "a bug in cpwl: ZeroDivisionError: oops"),
        (KeyboardInterrupt(), 130, "interrupted\n"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
def test_each_error_has_its_code(run, law, tmp_path, monkeypatch, error, code, message):
    """Each class of errors has its exit code, one message on stderr, and leaves no file."""
    breaks(monkeypatch, error)
    result = run("compile", law, "-o", tmp_path / "law.onnx")
    assert result[:2] == (code, "")
    assert message in result[2]
    assert not (tmp_path / "law.onnx").exists()


def test_debugging_shows_where(law, tmp_path, monkeypatch):
    """With ``CPWL_DEBUG`` set the error itself comes out."""
    monkeypatch.setenv("CPWL_DEBUG", "1")
    breaks(monkeypatch, LimitError("too large for us"))
    with pytest.raises(LimitError):
        main(["compile", str(law), "-o", str(tmp_path / "law.onnx")])


def test_warnings_are_one_line_each(run, law, tmp_path, monkeypatch):
    """A warning is a line on stderr, and the result is still there."""
    from cpwl import compiler

    original = compiler.compile

    def compile(*args, **options):
        warnings.warn("pieces without interior were dropped: 3", CpwlWarning, stacklevel=2)
        return original(*args, **options)

    monkeypatch.setattr(compiler, "compile", compile)
    code, out, err = run("compile", law, "-o", tmp_path / "law.onnx")
    assert (code, err) == (0, "warning: pieces without interior were dropped: 3\n")
    assert "neurons" in out


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_interrupt_exits_130_at_once(tmp_path):
    """Ctrl-C in the middle of reading: exit code 130, one line, no output file."""
    pipe = tmp_path / "law.json"
    os.mkfifo(pipe)
    words = [*COMMAND, "compile", str(pipe), "-o", str(tmp_path / "law.onnx")]
    # A job in the background is started with this signal ignored; here it must not be.
    hear = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT, **hear) as process:
        with pipe.open("w"):  # opens when the other side does
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=600) == 130
        assert process.stderr.read() == "interrupted\n"
    assert [path.name for path in tmp_path.iterdir()] == ["law.json"]


def test_reader_may_leave():
    """When nobody reads stdout any more the program ends without a word."""
    read, write_end = os.pipe()
    os.close(read)
    words = [*COMMAND, "bounds", "--pieces", "3"]
    done = subprocess.run(words, stdout=write_end, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
    os.close(write_end)
    assert (done.returncode, done.stderr) == (141, "")


def test_bounds_are_those_published(run):
    """The numbers printed for machines are those of `cpwl.bounds`, as strings beyond 2^53."""
    result = json.loads(run("bounds", "--pieces", 20, "--components", 8, "--dim", 3, "--json")[1])
    assert (result["pieces"], result["components"], result["dim"]) == (20, 8, 3)
    found = result["bounds"]
    assert found["theorem1"]["neurons"] == published.theorem1(20).neurons
    assert found["theorem2"]["width"] == published.theorem2(8, 20).width
    assert found["theorem3"]["layers"] == published.theorem3(3, 8).layers
    assert found["he2020"]["neurons"] == str(published.he2020(3, 8, 20))
    assert found["hertrich2021"]["neurons"] == str(published.hertrich2021(3, 8))
    assert found["arora2018"]["layers"] == published.arora2018_hidden_layers(3) + 1


@pytest.mark.parametrize(
    ("options", "rows"),
    [
        ({"pieces": 4}, ["theorem1"]),
        ({"components": 4}, []),
        ({"dim": 4}, ["arora2018"]),
        ({"pieces": 4, "components": 2}, ["theorem1", "theorem2"]),
        ({"components": 4, "dim": 4}, ["theorem3", "hertrich2021", "arora2018"]),
        ({"pieces": 4, "dim": 4}, ["theorem1", "arora2018"]),
    ],
    ids=str,
)
def test_bounds_are_given_where_their_numbers_are(run, options, rows):
    """A bound is printed iff all the numbers that it needs are given."""
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    assert list(json.loads(run("bounds", *words, "--json")[1])["bounds"]) == rows


def test_bounds_table(run):
    """The table has one line a bound, and integers in full or in size."""
    code, out, _ = run("bounds", "--pieces", 20, "--components", 8, "--dim", 3)
    assert code == 0
    assert all(word in out for word in ("Theorem 3", "111,720", "He et al. 2020", "about 2.9 * 10^53", "Arora"))


def test_bounds_of_any_size(run):
    """Integers beyond what Python writes are given by size, and those beyond memory not at all."""
    words = ["bounds", "--pieces", 10**6, "--components", 10**5, "--dim", 100]
    result = json.loads(run(*words, "--json")[1])["bounds"]
    assert result["hertrich2021"]["neurons"].startswith("about ")
    assert result["he2020"]["neurons"] is None
    assert "too large to compute" in run(*words)[1]


@pytest.mark.parametrize("number", [10**21, 123 * 10**40, 2**70, 10**4299, 7**9999], ids=int.bit_length)
def test_readable_integers_have_the_right_size(number):
    """The size that is printed is within a rounding of its two digits."""
    digits, power = readable_integer(number).removeprefix("about ").split(" * 10^")
    assert 5 * abs(10 * number - round(float(digits) * 10) * 10 ** int(power)) <= 3 * 10 ** int(power)


class Terminal:
    """A stream that says it is a terminal, and keeps what is written to it."""

    def __init__(self):
        self.text = ""

    def isatty(self):
        return True

    def write(self, text):
        self.text += text

    def flush(self):
        pass


@pytest.mark.parametrize(("delay", "shown"), [(0.0, True), (60.0, False)])
def test_progress_bar_appears_after_a_while(monkeypatch, delay, shown):
    """On a terminal a bar is drawn, but only for what takes long."""
    terminal = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress_bar(delay=delay) as show:
        show(1, 4, "rows")
        show(3, 4, "columns")
    assert ("columns" in terminal.text) == shown


def test_work_in_python_draws_a_bar_where_there_is_a_terminal(monkeypatch, capsys):
    """``progress="auto"`` draws on a terminal, and nowhere else; anything but a call and that word is refused."""
    p = CPWL.from_breakpoints([0, 1], [0, 1], left_slope=0, right_slope=0)
    assert compile(p, progress="auto").sizes.neurons == 2
    assert capsys.readouterr() == ("", "")
    terminal = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr("cpwl.progress._DELAY", 0.0)
    assert compile(p, progress="auto").sizes.neurons == 2
    assert "planning" in terminal.text
    network = compile(p).network
    assert certify(p, network, progress="auto").proved
    assert "checking the proof" in terminal.text
    assert extract(network, progress="auto").num_pieces == 3
    assert "regions" in terminal.text
    with pytest.raises(InputError, match="`progress` must be"):
        compile(p, progress="always")


def test_no_progress_bar_in_files(capsys):
    """Where stderr is no terminal nothing is drawn."""
    with progress_bar(delay=0.0) as show:
        show(1, 4, "rows")
    assert capsys.readouterr() == ("", "")
