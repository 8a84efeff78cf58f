#!/usr/bin/env python3
"""Checks the site of a small matrix in a headless Chromium: from disk, and from a host that serves 404.html for missing pages.

  tests/site/check_in_browser.py build/attnprobe                            makes the matrix and its site
  tests/site/check_in_browser.py --site DIR --screenshots DIR               only views an existing site, on a desktop and a phone
"""
import argparse
import http.server
import json
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True  # no __pycache__ next to the scripts
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts/modules"))
from devtools import FAINT, Browser, Page, PageTester, find_chromium

DESKTOP, PHONE = (1280, 900), (390, 844)
MATRIX = {"targets": ["h200", "t4"], "defaults": {"heads": 8, "seqlen": 256, "head_dim": 64, "expect": "any"},
          "configs": [{"name": "plain"}, {"name": "odd heads, <b>60</b>", "head_dim": 60}, {"name": "plain-long", "seqlen": 2048}]}


def serve(folder):
    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments):
            super().__init__(*arguments, directory=str(folder))

        def log_message(self, *_):
            pass

        def send_error(self, code, *_):
            page = (folder / "404.html").read_bytes()
            self.send_response(code)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            self.wfile.write(page)

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


class Tester(PageTester):
    def __init__(self, page, folder, pictures):
        super().__init__(page)
        self.folder, self.pictures = folder, pictures

    def open(self, name):
        self.page.open((self.folder / name.split("#")[0]).as_uri() + ("#" + name.split("#")[1] if "#" in name else ""))

    def looks(self, pages):
        for name in pages:
            for kind, size in (("desktop", DESKTOP), ("phone", PHONE)):
                self.page.size(*size)
                for scheme in ("light", "dark"):
                    self.page.media(scheme=scheme)
                    self.open(name)
                    faint = self.see(f"{FAINT}('body')")["found"]
                    self.expect(f"{name}, {kind}, {scheme}: contrast is AA", not faint, faint[:4])
                    if self.pictures:
                        self.page.screenshot(self.pictures / f"{name.split('#')[0].replace('/', '-').removesuffix('.html')}-{kind}-{scheme}.png")
                wide = self.see("document.documentElement.scrollWidth > innerWidth")
                self.expect(f"{name}, {kind}: nothing is outside the screen", not wide)
        self.page.media()
        self.page.size(*DESKTOP)

    def works(self, version, server):
        self.open("index.html")
        self.page.click("document.getElementById('search')")
        self.page.type("plain -long")
        rows = self.see("[...document.querySelectorAll('#rows tr:not([hidden]) a')].map((a) => a.textContent).filter(Boolean)")
        self.expect("the search finds words and leaves out others", rows == ["plain"], rows)
        self.expect("the search is in the address", "q=plain" in self.see("location.search"))
        (odd,) = [one["address"] for one in json.loads((self.folder / "index.json").read_text())["configs"] if one["name"].startswith("odd")]
        for place in (f"{odd}/index.html#h200/{version}", f"{odd}/index.html#h200/{version.rsplit('.', 1)[0]}", f"{odd}/index.html#h200"):
            self.open(place)
            cell = self.see("document.getElementById('cell').textContent")
            self.expect(f"{place} shows the answer and its reason", cell.startswith("no on h200") and "not a multiple of 8" in cell, cell)
        self.expect("a name is text", self.see("document.querySelector('h1').textContent") == "odd heads, <b>60</b>")
        self.page.click("document.querySelector('[data-gpu=t4] td a')")
        self.expect("a click selects another", self.see("document.getElementById('cell').textContent").startswith("no on t4"))
        self.open(f"{odd}/index.html#h200/9.0")
        self.expect("a missing answer is reported", "was not asked" in self.see("document.getElementById('cell').textContent"))
        self.page.click("document.getElementById('theme')")
        self.expect("the theme can be chosen", self.see("document.documentElement.dataset.theme") == "light")
        self.expect("no complaints, nothing from elsewhere", not self.complaints(), self.complaints())
        # It redirects to another page, and commands to the first page are lost.
        self.page.call("Page.navigate", url=f"http://127.0.0.1:{server.server_port}/plain/h200/{version}/")
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            time.sleep(0.2)
            try:
                if self.see("document.readyState === 'complete' && location.hash !== ''"):
                    break
            except RuntimeError:
                continue
        self.expect("CONFIG/GPU/VERSION/ leads to the cell", self.see("location.pathname + location.hash") == f"/plain/index.html#h200/{version}",
                    self.see("location.href"))
        self.expect("and shows it", "yes on h200" in self.see("document.getElementById('cell').textContent"))

    def complaints(self):
        """The page requests the site's own style and script from the disk."""
        return [one for one in self.page.complaints() if not one.startswith("it asks for file://") and not one.startswith("it asks for data:")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="?")
    parser.add_argument("--site", type=pathlib.Path)
    parser.add_argument("--page", action="append", default=[], help="of --site, beside the front page")
    parser.add_argument("--screenshots", type=pathlib.Path)
    arguments = parser.parse_args()
    chromium = find_chromium()
    if not chromium:
        print("SKIPPED: no Chromium on this machine (Debian: chromium)")
        return 0
    with tempfile.TemporaryDirectory() as place, Browser(chromium) as browser:
        site = arguments.site.resolve() if arguments.site else pathlib.Path(place) / "site"
        tester = Tester(Page(browser), site, arguments.screenshots)
        if arguments.site:
            tester.looks(["index.html", *arguments.page])
            return 1 if tester.failed else 0
        (pathlib.Path(place) / "matrix.json").write_text(json.dumps(MATRIX))
        for words in (["matrix", "matrix.json", "--out", "out", "--no-cache"], ["site", "out", "-o", "site"]):
            subprocess.run([pathlib.Path(arguments.program).resolve(), *words], cwd=place, check=True, stdout=subprocess.DEVNULL)
        version = json.loads((site / "index.json").read_text())["cudnns"][-1]["version"]
        tester.looks(["index.html", f"plain/index.html#h200/{version}", "gpu/t4/index.html", f"cudnn/{version}/index.html"])
        tester.works(version, serve(site))
        return 1 if tester.failed else 0


if __name__ == "__main__":
    sys.exit(main())
