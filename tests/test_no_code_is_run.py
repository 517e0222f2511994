"""Nothing that is read is executed: no pickle, no evaluation of text, no shell: by the syntax of every module."""

from __future__ import annotations

import ast
from pathlib import Path

import cpwl

FORBIDDEN_MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "shelve", "marshal", "joblib", "imp", "code", "codeop"}
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__", "execfile"}
# What the processes of one run send each other, in memory and under its hash; never what was in a file.
BETWEEN_PROCESSES = {"executors.py"}
ROOT = Path(cpwl.__file__).parent


def offences(text: str) -> list[str]:
    """What a module must not do."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found += [name.name for name in node.names if name.name.partition(".")[0] in FORBIDDEN_MODULES]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in FORBIDDEN_MODULES:
            found.append(str(node.module))
        elif isinstance(node, ast.Call):
            found += _calls(node)
    return found


def _calls(node: ast.Call) -> list[str]:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    method = f"{owner.id}.{node.func.attr}" if isinstance(owner, ast.Name) else ""  # type: ignore[union-attr]
    options = {word.arg: word.value for word in node.keywords}
    found = [name] if name in FORBIDDEN_CALLS and name != "compile" else []
    found += [method] if method in ("os.system", "os.popen", "torch.load", "builtins.eval", "builtins.exec") else []
    shell, pickled = options.get("shell"), options.get("allow_pickle")
    found += ["shell=True"] if isinstance(shell, ast.Constant) and shell.value else []
    found += ["allow_pickle=True"] if isinstance(pickled, ast.Constant) and pickled.value else []
    if method in ("np.load", "numpy.load") and "allow_pickle" not in options:
        found.append("np.load without allow_pickle=False")
    return found


def test_the_look_sees_what_it_looks_for() -> None:
    for text in ("import pickle", "eval('1')", "os.system('x')", "np.load(f)", "f(shell=True)", "torch.load(f)"):
        assert offences(text), text
    assert offences("np.load(f, allow_pickle=False); re.compile('a'); compile(p)") == []


def test_no_module_runs_what_it_reads() -> None:
    texts = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in ROOT.rglob("*.py")}
    wrong = {name: found for name, text in texts.items() if (found := offences(text))}
    assert {name: found for name, found in wrong.items() if name not in BETWEEN_PROCESSES} == {}
    assert all(set(wrong.get(name, [])) <= {"pickle"} for name in BETWEEN_PROCESSES)
