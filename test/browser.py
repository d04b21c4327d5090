"""A page in a real Chromium without a window, told what to do by the DevTools protocol.

Tests that want one are skipped where there is none.
"""
import asyncio
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

import pytest

PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_browser = pytest.mark.skipif(not PROGRAM, reason="no Chromium is installed")


class Browser:
    """with Browser(path, width=1400) as page: page.value("document.title")."""

    def __init__(self, path, width=1400, height=900, dark=False, scripts=True, fragment=""):
        self.address = str(path) if str(path).startswith("http:") else pathlib.Path(path).resolve().as_uri() + fragment
        self.width, self.height, self.dark, self.scripts = width, height, dark, scripts
        self.number, self.said, self.requests = 0, [], []

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        words = [PROGRAM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                 "--remote-debugging-port=0", f"--user-data-dir={self.folder.name}", f"--window-size={self.width},{self.height}",
                 "about:blank"]
        self.process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.loop = asyncio.new_event_loop()
        try:
            self.loop.run_until_complete(self.connect())
            self.open()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *unused):
        self.process.kill()
        self.process.wait()
        self.loop.close()
        self.folder.cleanup()

    async def connect(self):
        from tornado.websocket import websocket_connect
        port_file = pathlib.Path(self.folder.name, "DevToolsActivePort")
        wait_for(lambda: port_file.exists() and port_file.read_text().count("\n"))
        port, path = port_file.read_text().split()
        self.socket = await websocket_connect(f"ws://127.0.0.1:{port}{path}", max_message_size=1 << 28)
        self.session = None
        target = await self.send("Target.createTarget", url="about:blank")
        self.session = (await self.send("Target.attachToTarget", targetId=target["targetId"], flatten=True))["sessionId"]

    async def send(self, method, **parameters):
        self.number += 1
        number, message = self.number, {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        await self.socket.write_message(json.dumps(message))
        return await asyncio.wait_for(self.answer(number), 120)

    async def answer(self, number):
        while True:
            answer = json.loads(await self.socket.read_message())
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]
            self.note(answer)

    def note(self, event):
        about = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            self.said.append(about["exceptionDetails"].get("exception", {}).get("description") or about["exceptionDetails"]["text"])
        elif event.get("method") in ("Log.entryAdded", "Runtime.consoleAPICalled"):
            self.said.append(str(about))
        elif event.get("method") == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])

    def call(self, method, **parameters):
        return self.loop.run_until_complete(self.send(method, **parameters))

    def open(self):
        for name in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{name}.enable")
        if not self.scripts:
            self.call("Emulation.setScriptExecutionDisabled", value=True)
        self.call("Emulation.setDeviceMetricsOverride", width=self.width, height=self.height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if self.dark else "light"}])
        self.cpu_before = self.cpu_seconds()
        self.call("Page.navigate", url=self.address)
        wait_for(lambda: self.value("document.readyState") == "complete")

    def cpu_seconds(self):
        """Of all of its processes."""
        parents, seconds = {}, {}
        for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                fields = path.read_text().rsplit(")", 1)[1].split()
                parents[int(path.parent.name)] = int(fields[1])
                seconds[int(path.parent.name)] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        def is_its(pid):
            return pid == self.process.pid or (pid in parents and is_its(parents[pid]))
        return sum(value for pid, value in seconds.items() if is_its(pid))

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def wait(self, expression):
        wait_for(lambda: self.value(expression))

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def drag(self, begin, end, **more):
        self.mouse("mousePressed", *begin, button="left", clickCount=1, **more)
        self.mouse("mouseMoved", (begin[0] + end[0]) / 2, end[1], button="left", **more)
        self.mouse("mouseMoved", *end, button="left", **more)
        self.mouse("mouseReleased", *end, button="left", clickCount=1, **more)

    def key(self, name):
        text = {"text": name} if len(name) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=name, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=name)


def wait_for(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, "nothing came"
        time.sleep(0.05)
    return found
