"""A headless Chromium, controlled over two pipes with its DevTools protocol."""

import base64
import contextlib
import fcntl
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
_KEYS = {"Tab": (9, ""), "Enter": (13, "\r"), "Space": (32, " ")}
_FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--disable-quic"),
    *("--remote-debugging-pipe", "--hide-scrollbars"),
]


class Page:
    """The only page of a browser."""

    def __init__(self, commands: int, answers: int) -> None:
        self._commands, self._answers = commands, os.fdopen(answers, "rb")
        self._number, self._session = 0, ""
        self.errors: list[str] = []
        self.requests: list[str] = []
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        attached = self._call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")

    def reset(self) -> None:
        """Reset the size of the window and allow scripts."""
        self._call("Emulation.setScriptExecutionDisabled", value=False)
        self._call("Emulation.clearDeviceMetricsOverride")

    def open(
        self,
        path: Path,
        width: int,
        height: int,
        *,
        script: bool = True,
        fragment: str = "",
        scheme: str = "light",
    ) -> None:
        """Open a file in a window of the given size in CSS pixels, in a light or dark scheme."""
        preferred = {"name": "prefers-color-scheme", "value": scheme}
        self._call("Emulation.setEmulatedMedia", features=[preferred])
        self._call("Emulation.setScriptExecutionDisabled", value=not script)
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self._call("Emulation.setDeviceMetricsOverride", **size)
        self.errors.clear()
        self.requests.clear()
        self.visit("about:blank")
        self.visit(path.as_uri() + fragment)

    def visit(self, address: str) -> None:
        """Open an address and wait until its page is loaded."""
        self._call("Page.navigate", url=address)
        self._event("Page.loadEventFired")

    def wait(self, expression: str, seconds: float = 60.0) -> None:
        """Wait until a JavaScript expression is true."""
        until = time.monotonic() + seconds
        while not self.ask(expression):
            assert time.monotonic() < until, expression
            time.sleep(0.2)

    def ask(self, expression: str) -> Any:
        """The value of a JavaScript expression."""
        wanted = {"returnByValue": True, "awaitPromise": True}
        answer = self._call("Runtime.evaluate", expression=expression, **wanted)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def press(self, key: str, times: int = 1) -> None:
        """Press and release a key."""
        code, text = _KEYS[key]
        named = {"key": text or key, "code": key, "windowsVirtualKeyCode": code}
        if key == "Enter":
            named["key"] = "Enter"
        for _ in range(times):
            self._call("Input.dispatchKeyEvent", type="keyDown", text=text, **named)
            self._call("Input.dispatchKeyEvent", type="keyUp", **named)

    def write(self, text: str) -> None:
        """Write text into the focused element."""
        self._call("Input.insertText", text=text)

    def picture(self, path: Path) -> None:
        """Save the visible part of the page as PNG."""
        data = self._call("Page.captureScreenshot", format="png")["data"]
        path.write_bytes(base64.b64decode(data))

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]

    def _event(self, name: str) -> None:
        while self._read().get("method") != name:
            pass

    def _read(self) -> dict[str, Any]:
        text = bytearray()
        while not text.endswith(b"\0"):
            byte = self._answers.read(1)
            assert byte, "Chromium is gone"
            text += byte
        message = json.loads(text[:-1])
        match message.get("method"), message.get("params"):
            case "Runtime.exceptionThrown", {"exceptionDetails": details}:
                self.errors.append(str(details))
            case "Log.entryAdded", {"entry": {"level": "error"} as entry}:
                self.errors.append(str(entry))
            case "Network.requestWillBeSent", {"request": {"url": url}}:
                self.requests.append(url)
        return message


@contextlib.contextmanager
def browse(profile: Path) -> Iterator[Page]:
    """A browser that is closed at the end of the block."""
    ours, theirs = [], []
    for ends in (os.pipe(), os.pipe()[::-1]):
        read, write = (fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends)
        for end in ends:
            os.close(end)
        theirs.append(read)
        ours.append(write)
    # Chromium reads commands from descriptor 3 and answers on 4
    command = f'exec "$@" 3<&{theirs[0]} 4>&{theirs[1]}'
    started = subprocess.Popen(
        ["bash", "-c", command, "bash", str(CHROMIUM), *_FLAGS, f"--user-data-dir={profile}"],
        pass_fds=theirs,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    for end in theirs:
        os.close(end)
    try:
        page = Page(*ours)
        yield page
        os.write(ours[0], b'{"id": 0, "method": "Browser.close"}\0')
        page._answers.close()
        os.close(ours[0])
        started.wait(20)
    finally:
        if started.poll() is None:
            started.kill()
            started.wait()


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    if CHROMIUM is None:
        pytest.skip("needs Chromium (apt-get install chromium)")
    with browse(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture
def page(browser: Page) -> Page:
    browser.reset()
    return browser
