#!/usr/bin/env python3
"""Opens the page of a matrix in a headless Chromium and uses it as a reader would.

Tests filters, keyboard, cells, links, versions, themes, phone layout and loading time.

  scripts/check page PAGE.html [--screenshots DIR]

Prints one line per check. Exit code 0: all passed, 1: some failed, 77: Chromium is missing.
"""

import argparse
import json
import pathlib
import statistics
import sys

from devtools import CONTROL, FAINT, Browser, Page, find_chromium

# Generous limits: even on two busy cores the page takes far less.
MOST_OPEN_MS = 4000
MOST_FILTER_MS = 400
DESKTOP, PHONE = (1440, 900), (390, 844)

# Runs before the page's own script. Records when the whole matrix was drawn.
WATCH = """
new MutationObserver((_, watcher) => {
  if (!document.querySelector("#count")?.textContent) return;
  watcher.disconnect();
  requestAnimationFrame(() => setTimeout(() => { window.drawnAt = performance.now(); }));
}).observe(document, { childList: true, subtree: true });
"""

# The page's data, read by this test, not by the page's own code.
FACTS = """(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const version = data.cudnns.length - 1, targets = data.targets.length, cells = [];
  for (let at = 0; at < data.configs.length * targets; at++) {
    const answer = data.answers[data.cells[version * data.configs.length * targets + at]];
    if (!answer) continue;
    cells.push({
      config: data.configs[Math.floor(at / targets)].name,
      target: data.targets[at % targets].name, id: data.targets[at % targets].id,
      verdict: answer.v, viable: answer.n, met: answer.met, reason: data.texts[answer.reason] ?? "",
      measured: answer.engines.some((row) => data.engines[row].ms !== null) });
  }
  return {
    title: data.title, versions: data.cudnns.map((cudnn) => cudnn.version), targets, cells,
    configs: data.configs.map(({ name, summary, dtype }) => ({ name, summary, dtype })) };
})()"""

# Config names that do not fit: cut names may look the same.
CUT = """[...document.querySelectorAll('#grid tbody .config b')].filter(
  (name) => name.scrollWidth > name.clientWidth + 1 || name.scrollHeight > name.clientHeight + 1).map((name) => name.innerText)"""

# Milliseconds for a keystroke in the search field: for the script and its layout, and until the result is visible.
KEYSTROKE = """(async (text) => {
  const search = document.getElementById("search"), start = performance.now();
  search.value = text;
  search.dispatchEvent(new Event("input", { bubbles: true }));
  document.getElementById("grid").offsetHeight;
  const work = performance.now() - start;
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return [work, performance.now() - start];
})"""

CHANGE_VERSION = """(() => {
  const start = performance.now();
  document.querySelector("[role=tab]").click();
  document.getElementById("grid").offsetHeight;
  return performance.now() - start;
})()"""

ROWS = "[...document.querySelectorAll('#grid tbody tr')].filter((row) => !row.hidden)"
CELLS = "[...document.querySelectorAll('#grid tbody td:not(.since)')]"
COLUMNS = "[...document.querySelectorAll('.gpu')].filter((head) => !head.hidden)"
GPU_BOXES = "[...document.querySelectorAll('#menu-gpu label:not(.menu-title) input')]"
CURRENT = "document.querySelectorAll('#grid td[tabindex=\"0\"]')"
IN_SIGHT = """((node) => {
  const { x, y, width, height } = node.getBoundingClientRect();
  return document.elementFromPoint(x + width / 2, y + height / 2) === node;
})(document.activeElement)"""


def place(label):
    """ The place in a cell's label: "gpt2 on NVIDIA H200" in "gpt2 on NVIDIA H200: yes, 4 engine configs"."""
    return label.partition(": ")[0]


def place_of(cell):
    return f"{cell['config']} on {cell['target']}"


WORDS = {"invalid_graph": "invalid graph", "timeout": "timed out", "wrong_result": "wrong result"}
SHORT = {"invalid_graph": "invalid", "crashed": "crash", "timeout": "hang", "wrong_result": "wrong", "environment": "env"}


def is_right(cell, label, text):
    """Whether a cell has its answer as a word and in its label, in addition to its colour."""
    verdict = cell["verdict"]
    return text == SHORT.get(verdict, verdict) and f": {WORDS.get(verdict, verdict)}" in label


def by_id(identifier):
    return f"document.getElementById('{identifier}')"


class Tester:
    def __init__(self, page, url, folder):
        self.page, self.url, self.folder = page, url, folder
        self.failed = 0

    def expect(self, what, good, found=""):
        print(f"  {'ok  ' if good else 'FAIL'} {what}" + (f": {str(found)[:500]}" if found != "" and not good else ""))
        self.failed += not good

    def equal(self, what, found, wanted):
        self.expect(what, found == wanted, f"{str(found)[:240]} instead of {str(wanted)[:240]}")

    # ---- what the page shows ----------------------------------------------------------------------------------------

    def see(self, expression):
        return self.page.evaluate(expression)

    def text(self, identifier):
        return self.see(f"{by_id(identifier)}.innerText")

    def picture(self, name):
        if self.folder:
            self.page.screenshot(self.folder / f"{name}.png")

    def rows(self):
        return self.see(f"{ROWS}.map((row) => row.cells[0].firstChild.textContent)")

    def count(self):
        """(configs, cells) according to the page's own count: "8 of 60 configs, 120 of 1,440 cells"."""
        words = self.text("count").replace(",", "").split()
        return int(words[0]), int(words[4])

    def cell_view(self):
        """The open cell view; None if it is closed."""
        return self.text("cell") if self.see(f"{by_id('cell')}.open") else None

    def focused(self):
        return self.see("document.activeElement.ariaLabel ?? document.activeElement.id")

    def cell(self, cell):
        return f"{CELLS}.find((node) => node.ariaLabel.startsWith({json.dumps(place_of(cell) + ': ')}))"

    def first_cell(self, test):
        return next(filter(test, self.facts["cells"]), None)

    def refused_cell(self):
        return self.first_cell(lambda cell: cell["reason"]) or self.facts["cells"][0]

    def reset(self):
        self.see(f"{by_id('reset')}.click()")
        self.page.frame()

    def counts_of(self, test):
        cells = [cell for cell in self.facts["cells"] if test(cell)]
        return len({cell["config"] for cell in cells}), len(cells)

    # ---- the checks -------------------------------------------------------------------------------------------------

    def opens(self):
        self.page.open(self.url)
        self.facts = self.see(FACTS)
        self.equal("its title is that of the matrix", self.see("document.title"), self.facts["title"])
        self.equal(
            "every config has a row, its name as plain text", self.rows(), [config["name"] for config in self.facts["configs"]]
        )
        self.equal("no name became an element", self.see("document.querySelectorAll('script, img, iframe, object').length"), 2)
        shown = self.see(f"{CELLS}.map((cell) => [cell.ariaLabel ?? '', cell.textContent])")
        shown = {place(label): (label, text) for label, text in shown}
        wrong = [place_of(cell) for cell in self.facts["cells"] if not is_right(cell, *shown.get(place_of(cell), ("", "")))]
        self.expect("every cell says its verdict", not wrong, wrong[:3])
        self.picture("light")

    def filters_text(self):
        configs = self.facts["configs"]
        word = configs[-1]["name"].split("-")[0].lower()
        wanted = [config["name"] for config in configs if word in f"{config['name']} {config['summary']}".lower()]
        self.page.click(by_id("search"))
        self.page.type(word)
        self.equal(f'the text filter "{word}" shows the {len(wanted)} configs with it', self.rows(), wanted)
        self.equal("and counts them", self.count()[0], len(wanted))
        self.picture("filtered")
        self.page.type(" nothing-has-this-name")
        self.equal("a text that matches nothing leaves no row", self.rows(), [])
        self.expect("and the page says so", "Nothing matches" in self.text("nothing"))
        self.picture("nothing")
        self.page.click("document.querySelector('#nothing > button')")
        self.equal("its button resets the filters", len(self.rows()), len(configs))

    def filters_menu(self):
        dtypes = sorted({config["dtype"] for config in self.facts["configs"]})
        if len(dtypes) < 2:
            return
        self.page.click("document.querySelector('[popovertarget=menu-dtype]')")
        self.picture("menu")
        self.page.click("document.querySelector('#menu-dtype input')")
        wanted = [config["name"] for config in self.facts["configs"] if config["dtype"] == dtypes[0]]
        self.equal(f"the dtype menu shows the configs of {dtypes[0]}", self.rows(), wanted)
        self.page.key("Escape")
        self.expect("Escape closes the menu", not self.see(f"{by_id('menu-dtype')}.matches(':popover-open')"))
        self.see("new Promise((done) => setTimeout(done, 300))")
        address = self.see("location.hash")
        self.expect("the filter is in the address", f"dtype={dtypes[0]}" in address, address)
        self.page.open(self.url + address)
        self.equal("which shows the same again", self.rows(), wanted)
        self.reset()

    def filters_cells(self):
        if self.first_cell(lambda cell: cell["verdict"] == "no"):
            self.page.click("document.querySelector('[data-verdict=no]')")
            wanted = self.counts_of(lambda cell: cell["verdict"] == "no")
            self.equal("the button of a verdict shows its cells", self.count(), wanted)
            self.picture("refused")
            self.reset()
        if self.first_cell(lambda cell: cell["met"] is False):
            self.page.click(by_id("switch-unexpected"))
            self.equal("the switch shows what is not as expected", self.count(), self.counts_of(lambda cell: cell["met"] is False))
            self.reset()

    def filters_gpus(self):
        if self.facts["targets"] < 2:
            return
        self.page.click("document.querySelector('[popovertarget=menu-gpu]')")
        self.page.click("document.querySelector('#menu-gpu .menu-title input')")
        boxes = self.see(f"{GPU_BOXES}.filter((box) => box.checked).length")
        self.expect("the box of a family selects its GPUs", boxes > 0)
        self.equal("and only they are shown", self.see(f"{COLUMNS}.length"), boxes)
        self.page.key("Escape")
        self.picture("family")
        self.reset()
        self.equal("reset shows all GPUs", self.see(f"{COLUMNS}.length"), self.facts["targets"])

    def opens_cell_by_click(self):
        cell = self.refused_cell()
        self.page.click(self.cell(cell))
        text = self.cell_view() or ""
        self.expect("a click opens the cell", cell["config"] in text, text)
        if cell["reason"]:
            self.equal(
                "with cuDNN's own message", self.see("document.querySelector('#cell blockquote').textContent"), cell["reason"]
            )
        self.expect("and the command to ask again", f"--target {cell['id']} " in text, text)
        self.picture("cell-refused")
        self.page.key("Escape")
        self.equal("Escape closes it", self.cell_view(), None)
        self.equal("and returns to the cell", place(self.focused()), place_of(cell))

    def opens_cell_by_keyboard(self):
        names = [config["name"] for config in self.facts["configs"]]
        self.see(f"{CURRENT}[0].focus()")
        self.page.key("Home", CONTROL)
        self.equal("Ctrl+Home goes to the first cell", self.focused(), self.see(f"{CELLS}[0].ariaLabel"))
        if len(names) > 1 and self.facts["targets"] > 1:
            self.page.key("ArrowDown")
            self.page.key("ArrowRight")
            self.equal("the arrow keys move the focus", self.focused(), self.see(f"{CELLS}[{self.facts['targets']} + 1].ariaLabel"))
        self.page.key("End", CONTROL)
        self.equal("Ctrl+End goes to the last cell", self.focused(), self.see(f"{CELLS}.at(-1).ariaLabel"))
        self.expect("which is visible", self.see(IN_SIGHT))
        self.page.key("Home")
        self.equal(
            "Home goes to the start of the row", self.focused(), self.see(f"{CELLS}.at(-{self.facts['targets']}).ariaLabel")
        )
        self.page.key("PageUp")
        self.expect("PageUp moves up", len(names) == 1 or not self.focused().startswith(f"{names[-1]} on "), self.focused())
        self.expect("and is visible", self.see(IN_SIGHT))
        self.equal("Tab reaches exactly one cell", self.see(f"{CURRENT}.length"), 1)
        focused = self.focused()
        self.page.key("Enter")
        self.expect("Enter opens the cell", self.cell_view() is not None)
        self.page.key("Escape")
        self.equal("Escape closes it and returns", (self.cell_view(), self.focused()), (None, focused))

    def is_told_to_screen_readers(self):
        names = {}
        for node in self.page.call("Accessibility.getFullAXTree")["nodes"]:
            names.setdefault(node.get("role", {}).get("value"), []).append(node.get("name", {}).get("value"))
        self.equal("screen readers see a grid", names.get("grid"), [self.facts["title"]])
        told = {place(name) for name in names.get("gridcell", [])}
        missing = [place_of(cell) for cell in self.facts["cells"] if place_of(cell) not in told]
        self.expect("whose cells have their position", not missing, missing[:3])

    def opens_links(self):
        measured = self.first_cell(lambda cell: cell["measured"])
        cell = measured or self.first_cell(lambda cell: cell["verdict"] == "yes") or self.facts["cells"][0]
        version = self.facts["versions"][-1]
        names = json.dumps([cell["config"], cell["id"], version])
        self.page.open(self.url + self.see(f"'#cell=' + {names}.map(encodeURIComponent).join(',')"))
        text = self.cell_view() or ""
        self.expect("a link to a cell opens it", cell["config"] in text and f"cuDNN {version}" in text, text)
        self.expect(
            "with times as bars where measured", self.see("document.querySelectorAll('#cell .bar').length > 0") == bool(measured)
        )
        self.picture("cell-supported")
        self.see(f"{by_id('cell')}.scrollTo(0, 1e6)")
        self.picture("cell-supported-below")
        self.page.click("document.querySelector('#cell .copy')")
        self.expect("the copy button answers", self.see("document.querySelector('#cell .copy').textContent") != "Copy")
        self.no_faint_text("in a cell, light", "#cell")
        self.page.click("document.querySelector('#cell .close')")
        self.equal("its button closes it", self.cell_view(), None)

    def changes_version(self):
        versions = self.facts["versions"]
        if len(versions) < 2:
            return
        if self.see("document.querySelector('[role=tab]') !== null"):
            self.see("document.querySelector('[role=tab][aria-selected=true]').focus()")
            self.page.key("ArrowLeft")
        else:
            self.see(f"{by_id('version')}.focus()")
            self.page.key("ArrowUp")
        self.expect(
            "an arrow key shows the previous version", f"cuDNN {versions[-2]}:" in self.text("summary"), self.text("summary")
        )
        self.page.click(by_id("switch-differs"))
        self.expect("the switch keeps what differs between versions", self.count()[1] < len(self.facts["cells"]), self.count())
        self.picture("differs")
        self.reset()
        cell = self.refused_cell()
        self.page.click(self.cell(cell))
        self.page.click("document.querySelector('#cell .strip td:first-of-type button')")
        self.expect("the strip of a cell opens another version", f"cuDNN {versions[0]}" in self.cell_view(), self.cell_view())
        self.page.click("document.querySelector('#cell details summary')")
        self.picture("cell-versions")
        self.page.click("[...document.querySelectorAll('#cell .strip button')].at(-1)")
        other = self.see("document.querySelector('#cell .strip [aria-current]').ariaLabel")
        self.expect("and to another GPU", f"cuDNN {versions[-1]}: " in other and cell["target"] not in other, other)
        self.page.key("Escape")
        self.equal("whose cell then has the focus", place(self.focused()), f"{cell['config']} on {other.partition(', cuDNN')[0]}")

    def has_themes(self):
        self.no_faint_text("light", "body")
        self.page.media(scheme="dark")
        self.no_faint_text("dark", "body")
        self.picture("dark")
        self.page.click(self.cell(self.refused_cell()))
        self.no_faint_text("in a cell, dark", "#cell")
        self.picture("cell-dark")
        self.page.key("Escape")
        background = "getComputedStyle(document.body).backgroundColor"
        before = self.see(background)
        self.page.click(by_id("theme"))
        after = self.see(background)
        self.expect("the theme button changes it", after != before)
        self.page.open(self.url)
        self.equal("and it is remembered", self.see(background), after)
        self.see("localStorage.clear()")
        self.page.media()
        self.page.open(self.url)

    def no_faint_text(self, where, root):
        faint = self.see(f"{FAINT}({json.dumps(root)})")
        self.expect(f"contrast is AA, {where} ({faint['pairs']} pairs of colours)", not faint["found"], faint["found"])

    def fits_phones(self):
        is_wide = f"document.documentElement.scrollWidth > {PHONE[0]}"
        self.page.size(*PHONE)
        self.page.open(self.url)
        self.expect("a phone shows it without scrolling sideways", not self.see(is_wide))
        order = "[...document.querySelectorAll('#legend, #box')].map((node) => node.getBoundingClientRect().top)"
        legend, box = self.see(order)
        self.expect("the legend first, and the matrix in the first screen", legend < box < PHONE[1], (legend, box))
        last = self.see(f"(() => {{ {by_id('box')}.scrollTo(1e6, 0); return {COLUMNS}.at(-1).getBoundingClientRect().right; }})()")
        self.expect("scrolling only the table reaches its last column", last <= PHONE[0] and not self.see(is_wide), last)
        name = self.see(f"{ROWS}[0].cells[0].getBoundingClientRect().left")
        self.expect("next to which the names stay", 0 <= name < 40, name)
        self.expect("no name is cut", not self.see(CUT), self.see(CUT))
        self.picture("phone")
        self.page.click(self.cell(self.facts["cells"][-1]))
        corners = self.see(f"(() => {{ const {{left, top, right, bottom}} = {by_id('cell')}.getBoundingClientRect(); return [left, top, right, bottom]; }})()")
        inside = min(corners[:2]) >= 0 and corners[2] <= PHONE[0] and corners[3] <= PHONE[1]
        self.expect("and its cells, within the screen", not self.see(is_wide) and inside, corners)
        self.picture("phone-cell")
        self.page.key("Escape")
        self.page.size(*DESKTOP)

    def prints(self):
        if not self.folder:
            return
        self.page.media("print")
        self.page.print(self.folder / "printed.pdf")
        self.page.media()

    def is_fast(self):
        self.page.call("Accessibility.disable")
        self.page.open(self.url)
        drawn = self.see("window.drawnAt")
        words = ["l", "ll", "lla", "llam", "llama", "bf16", "b", "", "fprop", ""]
        times = [self.see(f"{KEYSTROKE}({json.dumps(word)})") for word in words]
        usual = statistics.median(work for work, _ in times)
        worst, seen = (max(time[i] for time in times) for i in (0, 1))
        print(f"       drawn {drawn:.0f} ms after the start")
        print(f"       a keystroke takes {usual:.0f} ms, {worst:.0f} at worst; its result is visible after {seen:.0f} ms at worst")
        self.expect(f"it is drawn within {MOST_OPEN_MS} ms", drawn < MOST_OPEN_MS)
        self.expect(f"a keystroke is seen within {MOST_FILTER_MS} ms", seen < MOST_FILTER_MS)
        if self.see("document.querySelector('[role=tab][aria-selected=false]') !== null"):
            print(f"       another version is shown after {self.see(CHANGE_VERSION):.0f} ms")

    def run(self):
        self.page.size(*DESKTOP)
        self.page.media()
        for check in (
            self.opens,
            self.filters_text,
            self.filters_menu,
            self.filters_cells,
            self.filters_gpus,
            self.opens_cell_by_click,
            self.opens_cell_by_keyboard,
            self.is_told_to_screen_readers,
            self.opens_links,
            self.changes_version,
            self.has_themes,
            self.fits_phones,
            self.prints,
            self.is_fast,
        ):
            check()
        complaints = self.page.complaints()
        self.expect("no errors on the console, no requests", not complaints, complaints)


def main():
    parser = argparse.ArgumentParser(prog="scripts/check page", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("--screenshots", type=pathlib.Path, metavar="DIR")
    options = parser.parse_args()
    program = find_chromium()
    if not program:
        print("scripts/check page: no Chromium here (Debian: apt-get install chromium)", file=sys.stderr)
        return 77
    if options.screenshots:
        options.screenshots.mkdir(parents=True, exist_ok=True)
    print(f"{options.page} ({options.page.stat().st_size / 1e6:.1f} MB)")
    with Browser(program) as browser:
        page = Page(browser)
        page.run_before_pages(WATCH)
        tester = Tester(page, options.page.resolve().as_uri(), options.screenshots)
        tester.run()
    print(f"{tester.failed} failed" if tester.failed else "all good")
    return 1 if tester.failed else 0


if __name__ == "__main__":
    sys.exit(main())
