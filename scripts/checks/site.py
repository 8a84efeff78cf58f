#!/usr/bin/env python3
"""Opens the documentation site in a headless Chromium, from disk without a server, and uses it as a reader would.

  scripts/check site DIR [--screenshots DIR]       DIR: the folder that scripts/docs site wrote

Every page must fit a phone, load nothing from outside the site, and have enough contrast. Also tests search, themes and menu. Prints
one line per check. Exit code 0: all passed, 1: some failed, 77: Chromium is missing.
"""

import argparse
import pathlib
import sys

from devtools import FAINT, Browser, Page, find_chromium

DESKTOP, PHONE = (1440, 900), (390, 844)
# Texts that users paste, and the page that must be among the first five results.
SEARCHES = (
    ("Embedding dim per head for q and k is not a multiple of 8", "reference/reasons.html"),
    ("null driver", "how-it-works.html"),
    ("VLLM_ATTENTION_BACKEND is set to FLASHINFER, but flashinfer module was not found", "other-programs.html"),
    ("nvte_get_fused_attn_backend", "from-frameworks.html"),
    ("--shard", None),
    ("softcap", None),
)


class Tester:
    def __init__(self, page, folder, pictures):
        self.page, self.folder, self.pictures, self.failed = page, folder, pictures, 0

    def expect(self, what, good, found=""):
        print(f"  {'ok  ' if good else 'FAIL'} {what}" + (f": {str(found)[:500]}" if not good else ""))
        self.failed += not good

    def see(self, expression):
        return self.page.evaluate(expression)

    def open(self, name):
        self.page.open((self.folder / name).as_uri())

    def picture(self, name):
        if self.pictures:
            self.page.screenshot(self.pictures / f"{name}.png")

    def looks(self, name, files):
        wide, faint = [], set()
        for scheme in ("light", "dark"):
            self.page.media(scheme=scheme)
            for file in files:
                self.open(file)
                faint |= {f"{file} {scheme}: {one}" for one in self.see(f"{FAINT}('body')")["found"]}
                if file in ("index.html", "guide.html", "reference/commands.html"):
                    self.picture(f"{file.replace('/', '-').removesuffix('.html')}-{scheme}")
        self.page.media()
        self.page.size(*PHONE)
        for file in files:
            self.open(file)
            if self.see(f"document.documentElement.scrollWidth > {PHONE[0]}"):
                wide.append(file)
            if file in ("index.html", "guide.html"):
                self.picture(f"{file.removesuffix('.html')}-phone")
        self.expect(f"contrast is AA on {name}, light and dark", not faint, sorted(faint)[:5])
        self.expect(f"a phone shows {name} without scrolling sideways", not wide, wide)
        self.page.click("document.getElementById('menu')")
        self.expect("the menu of a phone shows the pages", self.see("document.getElementById('navigation').checkVisibility()"))
        self.picture("menu-phone")
        self.page.size(*DESKTOP)

    def searches(self):
        self.open("matrix.html")
        for text, wanted in SEARCHES:
            self.see("document.getElementById('search').value = ''")
            self.page.click("document.getElementById('search')")
            self.page.type(text)
            self.see("new Promise((done) => setTimeout(done, 150))")
            links = self.see("[...document.querySelectorAll('#results a')].map((row) => row.href)")
            self.expect(f'search "{text}" finds it ({len(links)})', bool(links) and (not wanted or any(f"/{wanted}#" in link for link in links[:5])), links[:3])
            self.picture(f"search-{SEARCHES.index((text, wanted))}")
        self.page.key("ArrowDown")
        place = self.see("document.querySelector('#results [aria-selected=true]').href")
        self.page.key("Enter")
        self.see("new Promise((done) => setTimeout(done, 500))")
        self.expect("Enter opens the result selected with the arrow keys", self.see("location.href") == place, self.see("location.href"))
        anchor = self.see("document.getElementById(location.hash.slice(1)) !== null")
        self.expect("whose heading exists", anchor)

    def themes(self):
        self.open("index.html")
        background = "getComputedStyle(document.body).backgroundColor"
        before = self.see(background)
        self.page.click("document.getElementById('theme')")
        after = self.see(background)
        self.expect("the theme button changes it", after != before)
        self.open("guide.html")
        self.expect("and the next page keeps it", self.see(background) == after)

    def run(self):
        files = sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*.html") if "files" not in path.parts)
        self.page.size(*DESKTOP)
        self.looks(f"all {len(files)} pages", files)
        self.searches()
        self.themes()
        own = self.folder.as_uri()
        complaints = [one for one in self.page.complaints() if not one.startswith(f"it asks for {own[:150]}") and "data:," not in one]
        self.expect("no errors on the console, nothing from outside", not complaints, complaints)


def main():
    parser = argparse.ArgumentParser(prog="scripts/check site", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site", type=pathlib.Path)
    parser.add_argument("--screenshots", type=pathlib.Path, metavar="DIR")
    options = parser.parse_args()
    program = find_chromium()
    if not program:
        print("scripts/check site: no Chromium here (Debian: apt-get install chromium)", file=sys.stderr)
        return 77
    if not (options.site / "search-index.js").exists():
        parser.error(f"{options.site} was not written by scripts/docs site")
    if options.screenshots:
        options.screenshots.mkdir(parents=True, exist_ok=True)
    with Browser(program) as browser:
        tester = Tester(Page(browser), options.site.resolve(), options.screenshots)
        tester.run()
    print(f"{tester.failed} failed" if tester.failed else "all good")
    return 1 if tester.failed else 0


if __name__ == "__main__":
    sys.exit(main())
