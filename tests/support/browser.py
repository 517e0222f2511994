"""Chromium without a screen, driven over its debugging protocol: pages are opened, touched, asked and photographed."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
WITHOUT = "there is no browser to open the page with: install Chromium (Debian: apt-get install chromium)"
WAIT = 60.0


def program() -> str | None:
    """The browser on this machine, if there is one."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class Tab:
    """One tab: what it said on the console, and what can be done in it."""

    def __init__(self, address: str) -> None:
        import websocket

        self.socket = websocket.create_connection(address, timeout=WAIT, suppress_origin=True)
        self.number = 0
        self.said: list[str] = []
        self.asked_for: list[str] = []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> Any:
        """One call of the protocol; what happens meanwhile is noted."""
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.recv())
            if message.get("id") == self.number:
                assert "error" not in message, message
                return message["result"]
            self._note(message.get("method"), message.get("params", {}))

    def _note(self, method: str | None, parameters: dict[str, Any]) -> None:
        if method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.said.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
            self.said.append(str([argument.get("value") for argument in parameters["args"]]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.said.append(parameters["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.asked_for.append(parameters["request"]["url"])

    def ask(self, expression: str) -> Any:
        """The value of an expression of JavaScript."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def open(self, page: Path, *, dark: bool = False, size: tuple[int, int] = (1200, 900)) -> None:
        """Open a file and wait until it says that it is ready."""
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=features)
        width, height = size
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.said.clear()
        self.asked_for.clear()
        self.call("Page.navigate", url=page.resolve().as_uri())
        end = time.monotonic() + WAIT
        while self.ask("document.documentElement?.dataset.ready") != "yes":
            assert time.monotonic() < end, "the page did not get ready"
            assert not self.said, self.said
            time.sleep(0.05)

    def point(self, element: str, right: float, down: float, *, press: bool = False) -> None:
        """Move the mouse to a place of an element, in shares of its size, and click there if asked to."""
        box = self.ask(
            f"(() => {{ const e = document.getElementById('{element}'); e.scrollIntoView({{block: 'center'}});"
            " const b = e.getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; })()"
        )
        at = {"x": box[0] + right * box[2], "y": box[1] + down * box[3]}
        self.call("Input.dispatchMouseEvent", type="mouseMoved", **at)
        for kind in ("mousePressed", "mouseReleased") if press else ():
            self.call("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **at)

    def key(self, name: str) -> None:
        """Press a key where the focus is."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name)

    def text(self, element: str) -> str:
        """What an element says."""
        return str(self.ask(f"document.getElementById('{element}').textContent"))

    def picture(self, canvas: str) -> str:
        """What is on a canvas, to be compared with what was on it before."""
        return str(self.ask(f"document.getElementById('{canvas}').toDataURL()"))

    def photograph(self, path: Path, *, whole: bool = True) -> None:
        """The page as a PNG file."""
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(shot["data"]))


@contextmanager
def browser() -> Iterator[Tab]:
    """A tab of a fresh browser, which is closed at the end."""
    found = program()
    assert found is not None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        options = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run")
        command = [found, *options, f"--user-data-dir={home}", "--remote-debugging-port=0", "about:blank"]
        running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            tab = Tab(_address(Path(home)))
            try:
                yield tab
            finally:
                tab.socket.close()
        finally:
            running.terminate()
            running.wait(20)


def _address(home: Path) -> str:
    """Where the first tab listens: the browser writes its port to a file."""
    end = time.monotonic() + WAIT
    while time.monotonic() < end:
        try:
            port = (home / "DevToolsActivePort").read_text().splitlines()[0]
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json", timeout=WAIT) as answer:
                tabs = [tab for tab in json.load(answer) if tab["type"] == "page"]
            if tabs:
                return str(tabs[0]["webSocketDebuggerUrl"])
        except (OSError, IndexError, ValueError):
            pass
        time.sleep(0.05)
    raise AssertionError("the browser did not start")
