"""A headless Chromium, driven over its debugging pipe: no driver, no library, no port.

Knows the few messages of the DevTools protocol that a page's tests and its screenshot need. Must not know the page.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")
PATIENCE = 60.0
"""Seconds to wait for an answer: only a browser that hangs needs them."""

KEYS = {
    "ArrowLeft": 37,
    "ArrowUp": 38,
    "ArrowRight": 39,
    "ArrowDown": 40,
    "Home": 36,
    "End": 35,
    "Tab": 9,
    "Enter": 13,
    "Escape": 27,
}
"""Keys without a character, with their codes."""


def find() -> str | None:
    """A Chromium's path: what the variable CHROMIUM names, else the first of the usual names; None where none is."""
    return os.environ.get("CHROMIUM") or next((path for name in NAMES if (path := shutil.which(name))), None)


class Chromium:
    """One browser with one page. complaints: what the page and its console complained of, in order. Raises RuntimeError
    where the browser ends, hangs, or refuses a message.
    """

    def __init__(self, path: str, profile: Path) -> None:
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        self.complaints: list[str] = []
        self._number, self._left, self._session = 0, b"", ""
        arguments = [
            path, "--headless=new", "--remote-debugging-pipe", f"--user-data-dir={profile}", "--no-first-run",
            "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-extensions", "--hide-scrollbars",
            "--force-color-profile=srgb", "--disable-background-networking", "about:blank",
        ]  # fmt: skip
        # The browser reads the pipe at 3 and writes the one at 4; a shell puts them there.
        script = f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}'
        self._process = subprocess.Popen(
            ["bash", "-c", script, "bash", *arguments],
            pass_fds=(theirs_in, theirs_out),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def __enter__(self) -> Chromium:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        os.close(self._out)  # at the end of its pipe the browser leaves
        os.close(self._in)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    # -- the protocol ----------------------------------------------------------------------------------------

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Ask, and give the answer."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result
            self._note(answer)

    def _receive(self) -> dict[str, Any]:
        until = time.monotonic() + PATIENCE
        while b"\0" not in self._left:
            ready, _, _ = select.select([self._in], [], [], max(0.0, until - time.monotonic()))
            piece = os.read(self._in, 1 << 20) if ready else b""
            if not piece:
                raise RuntimeError("the browser has ended" if ready else "the browser does not answer")
            self._left += piece
        line, _, self._left = self._left.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        return message

    def _note(self, event: dict[str, Any]) -> None:
        told = event.get("params", {})
        match event.get("method"):
            case "Runtime.exceptionThrown":
                self.complaints.append(f"exception: {json.dumps(told['exceptionDetails'])}")
            case "Runtime.consoleAPICalled":
                self.complaints.append(f"console: {json.dumps(told['args'])}")
            case "Log.entryAdded":
                self.complaints.append(f"log: {told['entry']['text']}")
            case "Network.requestWillBeSent":
                url: str = told["request"]["url"]
                if not url.startswith(("file:", "data:", "about:")):
                    self.complaints.append(f"request: {url}")

    # -- what a person does ----------------------------------------------------------------------------------

    def size(self, width: int, height: int, scale: float = 1) -> None:
        """Set the window's size, in CSS pixels."""
        self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False
        )

    def prefer(self, **features: str) -> None:
        """Set media features: prefer(prefers_color_scheme="dark")."""
        told = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.send("Emulation.setEmulatedMedia", features=told)

    def open(self, file: Path, hash: str = "") -> None:
        """Open a page from disk and wait until it says that it is ready."""
        self.send("Page.navigate", url="about:blank")
        self.send("Page.navigate", url=file.absolute().as_uri() + hash)
        self.wait("document.documentElement?.dataset.ready === 'true'")

    def wait(self, expression: str) -> None:
        """Wait until the expression is true."""
        until = time.monotonic() + PATIENCE
        while not self.ask(f"Boolean({expression})"):
            if time.monotonic() > until:
                raise RuntimeError(f"never true: {expression}; complaints: {self.complaints}")
            time.sleep(0.02)

    def ask(self, expression: str) -> Any:
        """An expression's value in the page, as data."""
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        """Press a key and let it go: a character, or one of KEYS."""
        code = KEYS.get(key)
        told: dict[str, Any] = {"key": key, "windowsVirtualKeyCode": code} if code else {"key": key, "text": key}
        self.send("Input.dispatchKeyEvent", type="keyDown", **told)
        self.send("Input.dispatchKeyEvent", type="keyUp", key=key)

    def click(self, selector: str) -> None:
        """Click in the middle of the first element of this selector."""
        self.ask(f"document.querySelector({json.dumps(selector)}).scrollIntoView({{block: 'center'}})")
        x, y = self.ask(
            f"(({{left, top, width, height}}) => [left + width / 2, top + height / 2])"
            f"(document.querySelector({json.dumps(selector)}).getBoundingClientRect())"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def picture(self, clip: tuple[float, float, float, float] | None = None) -> bytes:
        """What is seen, as PNG; clip: only this part of the page, as x, y, width, height."""
        told: dict[str, Any] = {}
        if clip is not None:
            told = {"clip": dict(zip(("x", "y", "width", "height"), clip, strict=True)) | {"scale": 1}}
        return base64.b64decode(self.send("Page.captureScreenshot", format="png", **told)["data"])

    def printed(self) -> bytes:
        """The page on paper, as PDF."""
        return base64.b64decode(self.send("Page.printToPDF", printBackground=True)["data"])
