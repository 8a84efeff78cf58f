"""Controls a headless Chromium with the DevTools protocol over a pair of pipes. Needs only Python's standard library."""

import base64
import fcntl
import json
import os
import pathlib
import select
import shutil
import sys
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-extensions",
    "--disable-background-networking",
    "--force-color-profile=srgb",
    "--remote-debugging-pipe",
]
KEYS = {
    "Tab": 9,
    "Enter": 13,
    "Escape": 27,
    " ": 32,
    "PageUp": 33,
    "PageDown": 34,
    "End": 35,
    "Home": 36,
    "ArrowLeft": 37,
    "ArrowUp": 38,
    "ArrowRight": 39,
    "ArrowDown": 40,
}
CONTROL = 2

# Text with too little contrast for WCAG AA on its real background.
FAINT = """((root) => {
  const canvas = Object.assign(document.createElement("canvas"), { width: 1, height: 1 });
  const context = canvas.getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    context.clearRect(0, 0, 1, 1);
    context.fillStyle = colour;
    context.fillRect(0, 0, 1, 1);
    return [...context.getImageData(0, 0, 1, 1).data];
  };
  const linear = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  const luminance = (colour) => {
    const [red, green, blue] = rgba(colour).map((value) => linear(value / 255));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const background = (node) => {
    for (; node; node = node.parentElement) {
      const colour = getComputedStyle(node).backgroundColor;
      if (rgba(colour)[3] === 255) return colour;
    }
    return "white";
  };
  const seen = new Set(), found = [];
  for (const node of document.querySelectorAll(`${root} *`)) {
    const hasText = [...node.childNodes].some((child) => child.nodeType === Node.TEXT_NODE && child.data.trim());
    if (!hasText || !node.checkVisibility() || node.disabled) continue;
    const colours = [getComputedStyle(node).color, background(node)];
    if (seen.has(colours.join())) continue;
    seen.add(colours.join());
    const [dark, light] = colours.map(luminance).sort((a, b) => a - b);
    const contrast = (light + 0.05) / (dark + 0.05);
    const name = `${node.localName}.${node.className} "${node.textContent.slice(0, 30)}"`;
    if (contrast < 4.5) found.push(`${name} ${contrast.toFixed(2)}`);
  }
  return { found, pairs: seen.size };
})"""

MIDDLE = """(element) => {
  element.scrollIntoView({ block: "center", inline: "center" });
  const { x, y, width, height } = element.getBoundingClientRect();
  return [x + width / 2, y + height / 2];
}"""


def find_chromium():
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """A Chromium process. Messages are JSON texts that end with a zero byte; Chromium reads them from file descriptor 3 and writes to
    4."""

    def __init__(self, program):
        self.profile = tempfile.TemporaryDirectory(prefix="attnprobe-chromium-", ignore_cleanup_errors=True)
        its_input, self.output = map(self._high, os.pipe())
        self.input, its_output = map(self._high, os.pipe())
        log = os.path.join(self.profile.name, "log")
        self.process = os.posix_spawn(
            program,
            [program, *FLAGS, f"--user-data-dir={self.profile.name}"],
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, its_input, 3),
                (os.POSIX_SPAWN_DUP2, its_output, 4),
                (os.POSIX_SPAWN_OPEN, 2, log, os.O_WRONLY | os.O_CREAT, 0o600),
            ],
        )
        os.close(its_input)
        os.close(its_output)
        self.calls, self.pending, self.events = 0, b"", []

    @staticmethod
    def _high(file):
        """A duplicate of the file descriptor above 4, so that it cannot collide with the two that Chromium uses."""
        high = fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, 10)
        os.close(file)
        return high

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self._send("Browser.close", {}, None)
        except BrokenPipeError:  # it ended by itself
            pass
        os.waitpid(self.process, 0)
        self.profile.cleanup()

    def _send(self, method, params, session):
        self.calls += 1
        message = {"id": self.calls, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        os.write(self.output, json.dumps(message).encode() + b"\0")
        return self.calls

    def _receive(self, deadline):
        while b"\0" not in self.pending:
            if not select.select([self.input], [], [], max(0, deadline - time.monotonic()))[0]:
                raise TimeoutError("Chromium does not answer")
            piece = os.read(self.input, 1 << 20)
            if not piece:
                raise RuntimeError("Chromium ended")
            self.pending += piece
        message, self.pending = self.pending.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, session=None, seconds=60, **params):
        number = self._send(method, params, session)
        deadline = time.monotonic() + seconds
        while True:
            message = self._receive(deadline)
            if message.get("id") != number:
                self.events.append(message)
            elif "error" in message:
                raise RuntimeError(f"{method}: {message['error']['message']}")
            else:
                return message["result"]


class Page:
    """One tab."""

    def __init__(self, browser):
        self.browser = browser
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method, **params):
        return self.browser.call(method, self.session, **params)

    def run_before_pages(self, script):
        self.call("Page.addScriptToEvaluateOnNewDocument", source=script)

    def open(self, url):
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=url)
        self.evaluate("document.readyState === 'complete' || new Promise((done) => addEventListener('load', done))")
        self.frame()

    def evaluate(self, expression):
        """The value of a JavaScript expression; if it is a promise, the result of the promise."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']['exception'].get('description')}")
        return answer["result"].get("value")

    def frame(self):
        self.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")

    def key(self, key, modifiers=0):
        code = KEYS[key]
        text = {"Enter": "\r", " ": " "}.get(key)
        common = {"key": key, "code": "Space" if key == " " else key, "windowsVirtualKeyCode": code, "modifiers": modifiers}
        self.call("Input.dispatchKeyEvent", type="keyDown", **common, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)
        self.frame()

    def type(self, text):
        self.call("Input.insertText", text=text)
        self.frame()

    def click(self, element):
        """Clicks the centre of the element that a JavaScript expression returns."""
        x, y = self.evaluate(f"({MIDDLE})({element})")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        self.frame()

    def size(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.frame()

    def media(self, kind="screen", scheme="light"):
        self.call("Emulation.setEmulatedMedia", media=kind, features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.frame()

    def screenshot(self, path, **more):
        kind = {"format": "webp", "quality": 80} if path.suffix == ".webp" else {"format": "png"}
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", **kind, **more)["data"]))

    def print(self, path):
        path.write_bytes(base64.b64decode(self.call("Page.printToPDF", printBackground=True, preferCSSPageSize=True)["data"]))

    def complaints(self):
        """The problems so far: exceptions, errors and warnings on the console, and requests for files other than the page."""
        found = []
        for message in self.browser.events:
            method, params = message.get("method"), message.get("params", {})
            if method == "Runtime.exceptionThrown":
                details = params["exceptionDetails"]
                found.append(details.get("exception", {}).get("description") or details["text"])
            elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
                found.append(" ".join(str(argument.get("value")) for argument in params["args"]))
            elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                found.append(params["entry"]["text"])
            elif method == "Network.requestWillBeSent" and params.get("type") != "Document":
                found.append(f"it asks for {params['request']['url'][:200]}")
        return found


class PageTester:
    """Checks a page and prints one line per check."""

    def __init__(self, page):
        self.page, self.failed = page, 0

    def expect(self, what, good, found=""):
        print(f"  {'ok  ' if good else 'FAIL'} {what}" + ("" if good or found == "" else f": {str(found)[:600]}"))
        self.failed += not good

    def see(self, expression):
        return self.page.evaluate(expression)


def check_page_of(tester_of):
    """Tests the page in the first argument; `tester_of` creates the tester from (page, url). Returns the exit code: 0 all passed, 1
    some failed, 77 Chromium is missing."""
    program = find_chromium()
    if not program:
        print(f"{pathlib.Path(sys.argv[0]).stem}: no Chromium here (Debian: apt-get install chromium)", file=sys.stderr)
        return 77
    with Browser(program) as browser:
        page = Page(browser)
        page.size(1440, 900)
        tester = tester_of(page, pathlib.Path(sys.argv[1]).resolve().as_uri())
        tester.run()
    print(f"{tester.failed} failed" if tester.failed else "all good")
    return 1 if tester.failed else 0
