"""Chromium without a window, for scripts that look at pages as a person does.

Over the pipe of its debugging protocol, so that no port is open and no library is needed. Pages are served from directories on
127.0.0.1, for a page from a file may load nothing.
"""

import base64
import functools
import http.server
import json
import os
import subprocess
import tempfile
import threading
import time


class Served(http.server.ThreadingHTTPServer):
    """Directories under names: /NAME/file; NAME may be empty for the root."""

    daemon_threads = True

    def __init__(self, directories):
        handler = functools.partial(Handler, directories=directories)
        super().__init__(("127.0.0.1", 0), handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def at(self, path):
        return f"http://127.0.0.1:{self.server_port}/{path}"


class Handler(http.server.SimpleHTTPRequestHandler):
    def __init__(self, *args, directories, **more):
        self.directories = directories
        super().__init__(*args, **more)

    def translate_path(self, path):
        name, _, rest = path.split("?")[0].split("#")[0].lstrip("/").partition("/")
        if name in self.directories:
            self.directory = self.directories[name]
            return super().translate_path("/" + rest)
        self.directory = self.directories[""]
        return super().translate_path(path)

    def log_message(self, *_):
        pass


class Browser:
    """One page of one browser; a context, at whose end the browser has ended."""

    def __init__(self, width, height, scale=1):
        self.profile = tempfile.TemporaryDirectory(prefix="schedlab-browser-")
        to_browser, self.write = os.pipe()
        self.read, from_browser = os.pipe()

        def descriptors():
            # The protocol's: 3 is read, 4 is written by the browser. Either may be the number of the other's end now.
            high = [os.dup2(fd, number) for fd, number in ((to_browser, 103), (from_browser, 104))]
            for fd, number in zip(high, (3, 4)):
                os.dup2(fd, number)

        self.process = subprocess.Popen(
            ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
             f"--user-data-dir={self.profile.name}", "--remote-debugging-pipe", f"--window-size={width},{height}",
             f"--force-device-scale-factor={scale}", "--no-first-run", "--disable-background-networking", "about:blank"],
            preexec_fn=descriptors, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.rest, self.number, self.session = b"", 0, None
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        self.call("Page.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.session = None
            self.call("Browser.close")
            self.process.wait(20)
        except Exception:
            self.process.kill()
        self.process.wait()
        os.close(self.write)
        os.close(self.read)
        self.profile.cleanup()

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self.rest:
                piece = os.read(self.read, 1 << 20)
                if not piece:
                    raise RuntimeError("chromium: it has ended")
                self.rest += piece
            text, _, self.rest = self.rest.partition(b"\0")
            answer = json.loads(text)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"chromium: {method}: {answer['error']['message']}")
                return answer["result"]

    def evaluate(self, script):
        """The value of an expression; a promise is waited for."""
        result = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise RuntimeError(f"page: {details.get('exception', {}).get('description') or details['text']}")
        return result["result"].get("value")

    def open(self, address, until, patience_s=90):
        """Opens a page and waits until an expression holds in it."""
        self.call("Page.navigate", url=address)
        end = time.monotonic() + patience_s
        while time.monotonic() < end:
            time.sleep(0.3)
            try:
                if self.evaluate(f"Boolean({until})"):
                    return
            except RuntimeError:
                pass  # The page is between two documents.
        raise RuntimeError(f"page: {address}: not ready in {patience_s} s (waited for {until})")

    def picture(self, clip=None):
        """A PNG of what is visible, or of a rectangle (x, y, width, height) of the page."""
        more = {}
        if clip:
            x, y, width, height = clip
            more = {"clip": {"x": x, "y": y, "width": width, "height": height, "scale": 1}, "captureBeyondViewport": True}
        return base64.b64decode(self.call("Page.captureScreenshot", format="png", **more)["data"])
