"""Scripts in processes of their own, forked from one that has loaded the libraries: loading takes longer than most.

``python -m support.forks`` reads lines of JSON, runs the script that each names, and answers with its exit code.
"""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
import traceback
import warnings
from pathlib import Path
from types import TracebackType

__all__ = ["Forks"]

LOADED = (
    "cpwl.compiler",
    "cpwl.io.endings",
    "cpwl.compressor",
    "cpwl.io.onnx.write",
    "cpwl.io.json",
    "cpwl.cli",
)


class Forks:
    """Runs scripts as ``python -W error script`` does, in a folder; a context that ends the process behind it."""

    def __enter__(self) -> Forks:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        self._server = subprocess.Popen(
            [sys.executable, "-m", "support.forks"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._server.communicate()

    def run(self, script: Path, folder: Path) -> tuple[int, str, str]:
        """Exit code, stdout and stderr of a script that runs in the folder."""
        streams = [folder.with_name(f"{folder.name}.{name}") for name in ("stdout", "stderr")]
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        print(json.dumps([str(script), str(folder), *map(str, streams)]), file=self._server.stdin, flush=True)
        code = int(self._server.stdout.readline())
        out, err = (stream.read_text(encoding="utf-8") for stream in streams)
        return code, out, err


def _serve() -> None:
    for name in LOADED:
        __import__(name)
    for line in sys.stdin:
        child = os.fork()
        if not child:
            _become(*json.loads(line))
        status = os.waitpid(child, 0)[1]
        print(os.waitstatus_to_exitcode(status), flush=True)


def _become(script: str, folder: str, stdout: str, stderr: str) -> None:
    """This process runs the script, and ends as it does."""
    code = 1
    try:
        for number, name in ((1, stdout), (2, stderr)):
            os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666), number)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.chdir(folder)
        warnings.simplefilter("error")
        sys.argv = [script]
        sys.path.insert(0, str(Path(script).parent))
        runpy.run_path(script, run_name="__main__")
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    _serve()
