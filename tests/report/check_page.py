#!/usr/bin/env python3
"""Checks the page of a matrix in a headless Chromium. Its address restores the view, counts follow filters, rows and columns may be any
fields. Saved files equal the view, and every refused cell shows fixes.

  tests/report/check_page.py PAGE.html

scripts/check page checks the use of the page. Prints one line per check. Exit code 0: all passed, 1: some failed, 77: Chromium is missing.
"""

import csv
import io
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts" / "modules"))
from devtools import PageTester, check_page_of  # noqa: E402

# The cells, read without the page's own code.
CELLS = """(() => {
  const data = JSON.parse(document.getElementById("data").textContent), cells = [];
  data.cells.forEach((index, at) => {
    const answer = data.answers[index];
    if (!answer) return;
    const target = at % data.targets.length, row = Math.floor(at / data.targets.length);
    const config = data.configs[row % data.configs.length];
    cells.push({
      config: config.name, pass: config.pass, dtype: config.dtype, fields: config.fields, gpu: data.targets[target].id,
      gpuName: data.targets[target].name, cudnn: data.cudnns[Math.floor(row / data.configs.length)].version, answer: answer.v,
      engines: answer.engines.map((one) => data.engines[one].ok), advice: answer.advice.map((one) => data.texts[one]),
      but: answer.but.map(([, text]) => data.texts[text]), notes: answer.notes.map(([, text]) => data.texts[text]) });
  });
  return { versions: data.cudnns.map(({ version }) => version), cells };
})()"""

# The visible part: rows, columns, and the words of cells that are not faded.
VIEW = """(() => {
  const visible = (node) => !node.hidden;
  const rows = [...document.querySelectorAll("#grid tbody tr")].filter(visible);
  return {
    columns: [...document.querySelectorAll(".gpu")].filter(visible).map((head) => head.querySelector("b").textContent),
    rows: rows.map((row) => ({
      name: row.cells[0].firstChild.textContent,
      cells: [...row.cells].slice(2).filter(visible).map((cell) => (cell.classList.contains("faded") ? "" : cell.textContent)) })),
    count: document.getElementById("count").textContent, summary: document.getElementById("summary").innerText,
    theme: document.documentElement.dataset.theme ?? "", dialog: document.getElementById("cell").open,
    title: document.getElementById("cell-title")?.textContent ?? "" };
})()"""


class Tester(PageTester):
    def __init__(self, page, url):
        super().__init__(page)
        self.url = url
        self.open("")
        facts = page.evaluate(CELLS)
        self.versions, self.cells = facts["versions"], facts["cells"]
        self.newest = [cell for cell in self.cells if cell["cudnn"] == self.versions[-1]]

    def equal(self, what, found, wanted):
        self.expect(what, found == wanted, f"{found!r} instead of {wanted!r}")

    def open(self, fragment):
        self.page.open(self.url + fragment)

    def view(self):
        return self.see(VIEW)

    def address(self):
        return self.see("location.hash")

    def click(self, selector):
        self.see(f"document.querySelector({json.dumps(selector)}).click()")
        self.page.frame()

    def choose(self, identifier, value):
        self.see(f"(() => {{ const node = document.getElementById('{identifier}'); node.value = '{value}'; node.dispatchEvent(new Event('change')); }})()")
        self.page.frame()

    def back(self):
        self.see("new Promise((done) => { addEventListener('hashchange', () => setTimeout(done), { once: true }); history.back(); })")
        self.page.frame()

    def cell_fragment(self, cell, more=""):
        names = json.dumps([cell["config"], cell["gpu"], cell["cudnn"]])
        return self.see(f"'#{more}cell=' + {names}.map(encodeURIComponent).join(',')")

    # ---- the checks

    def first_words(self):
        view = self.view()
        wanted = {"invalid_graph": "invalid", "crashed": "crash", "timeout": "hang", "wrong_result": "wrong", "environment": "env", "": ""}
        words = {word for row in view["rows"] for word in row["cells"]}
        known = {wanted.get(cell["answer"], cell["answer"]) for cell in self.newest} | {""}
        self.expect("cells say answers in words", words and words <= known, words - known)

    def address_round_trip(self):
        self.choose("rows", "pass")
        self.choose("columns", "dtype" if len({cell["dtype"] for cell in self.cells}) > 1 else "gpu")
        self.click("[data-verdict=no]")
        self.click("#theme")
        before, address = self.view(), self.address()
        for part in ("rows=pass", "verdict=no", "theme="):
            self.expect(f"{part} is in the address", part in address, address)
        self.see("localStorage.clear()")
        self.open("")
        self.expect("another address shows something else", self.view() != before)
        self.open(address)
        self.equal("the address shows the same again", self.view(), before)
        self.back_button()

    def back_button(self):
        self.open("")
        usual = self.view()
        self.click("[data-verdict=no]")
        filtered = self.view()
        self.click("#grid tbody td:not(.since):not(.faded)")
        opened = self.view()
        self.expect("a click opens a cell", opened["dialog"])
        self.expect("which is in the address", "cell=" in self.address(), self.address())
        self.back()
        self.equal("the browser's button closes it", self.view()["dialog"], False)
        self.equal("and the filter stays", self.view()["rows"], filtered["rows"])
        self.back()
        self.equal("a second time removes the filter", self.view()["rows"], usual["rows"])
        self.click("#grid tbody td:not(.since)")
        self.page.key("Escape")
        self.see("new Promise((done) => { const wait = (left) => (location.hash && left ? setTimeout(wait, 50, left - 1) : done()); wait(100); })")
        self.page.frame()
        self.equal("closing a cell leaves no step in the history", (self.address(), self.view()["dialog"]), ("", False))

    def counts_follow(self):
        self.open("")
        word = self.cells[-1]["pass"]
        self.open(f"#pass={word}")
        cells = [cell for cell in self.newest if cell["pass"] == word]
        configs = {cell["config"] for cell in cells}
        view = self.view()
        self.expect("the count follows the filter", view["count"].replace(",", "").startswith(f"{len(configs)} of "), view["count"])
        for answer in {cell["answer"] for cell in cells} & {"yes", "but", "no"}:
            count = sum(cell["answer"] == answer for cell in cells)
            self.expect(f"so does the number of {answer}", f"{count:,} {answer}" in view["summary"].replace("\n", " "), view["summary"])
        shares = self.see("[...document.querySelectorAll('[role=tab]')].map((tab) => tab.ariaLabel)")
        for version, share in zip(self.versions, shares):
            count = sum(cell["pass"] == word and cell["cudnn"] == version for cell in self.cells)
            self.expect(f"so does the tab of {version}", f"of {count:,} cell" in share, share)
        self.click("[popovertarget=menu-gpu]")
        gpu = self.newest[0]["gpu"]
        count = sum(cell["gpu"] == gpu for cell in cells)
        shown = self.see(f"document.querySelector('#menu-gpu input[value=\"{gpu}\"]')?.parentNode.querySelector('.choice-count').textContent ?? ''")
        if shown:
            self.equal("a menu shows how many cells each choice has", shown, f"{count:,}")

    def pivots(self):
        field = next((name for name in ("head_dim_qk", "seqlen_q") if len({str(cell["fields"].get(name)) for cell in self.cells}) > 1), None)
        if field is None:
            return
        self.open(f"#rows={field}&columns=gpu")
        view = self.view()
        wanted = {str(cell["fields"].get(field, "–")) for cell in self.newest}
        rows = {row["name"]: row["cells"] for row in view["rows"]}
        self.equal(f"rows are the values of {field}", set(rows), wanted)
        value = next(iter(rows))
        first = [cell for cell in self.newest if str(cell["fields"].get(field, "–")) == value]
        gpus = list(dict.fromkeys(cell["gpu"] for cell in self.newest))
        yes = sum(cell["answer"] == "yes" for cell in first)
        since = self.see("[...document.querySelectorAll('#grid tbody tr')][0].cells[1].textContent")
        self.expect(f"{field} {value} has {yes} of {len(first)} cells yes", f"{yes:,}/{len(first):,}" in since, since)
        self.equal("a column a GPU", len(view["columns"]), len(gpus))
        several = len(first) // len(gpus)
        if several > 1 and len(first) % len(gpus) == 0:
            self.click("#grid tbody td:not(.since)")
            self.equal("a cell of several opens as a list", self.see("document.querySelectorAll('#cell tbody tr').length"), several)
        if len(self.versions) > 1:
            self.open("#rows=config&columns=cudnn")
            self.equal("columns may be versions", self.view()["columns"], self.versions)

    def since_by_gpu(self):
        if len(self.versions) < 2:
            return
        self.open("#shows=since")
        cell = self.newest[0]
        same = [one for one in self.cells if (one["config"], one["gpu"]) == (cell["config"], cell["gpu"])]
        first = next((one["cudnn"] for one in same if one["answer"] == "yes"), None)
        wanted = "never" if first is None else ("≤ " if first == self.versions[0] else "") + first.removesuffix(".0")
        label = json.dumps(f"{cell['config']} on {cell['gpuName']}: ")
        shown = self.see(f"[...document.querySelectorAll('#grid tbody td')].find((node) => node.ariaLabel?.startsWith({label})).textContent")
        self.equal("cells may show the first cuDNN that says yes", shown, wanted)

    def saves(self):
        self.open("#verdict=no")
        cells = [cell for cell in self.newest if cell["answer"] == "no"]

        def key(record):
            return record["config"].removeprefix("'"), record["gpu"]

        rows = list(csv.DictReader(io.StringIO(self.see("attnprobe.shownText('csv')"), newline="")))
        self.equal("CSV has the cells that are shown", sorted(map(key, rows)), sorted(map(key, cells)))
        self.equal("with their answers", {row["answer"] for row in rows}, {"no"})
        told = json.loads(self.see("attnprobe.shownText('json')"))
        self.equal("JSON has the same", sorted(map(key, told["cells"])), sorted(map(key, cells)))
        self.expect("and the view", told["view"] == "verdict=no", told["view"])
        saved = self.see("""(async () => {
          let blob = null;
          URL.createObjectURL = (given) => { blob = given; return "#"; };
          HTMLAnchorElement.prototype.click = function () { globalThis.savedName = this.download; };
          document.getElementById("save-csv").click();
          return [globalThis.savedName, blob.type, await blob.text()];
        })()""")
        self.expect("the button saves a file", saved[0].endswith(".csv") and saved[1] == "text/csv", saved[:2])
        self.equal("with that text", saved[2], self.see("attnprobe.shownText('csv')"))
        formula = self.see("(() => { const { data } = attnprobe; data.configs[0].name = '=1+2'; return attnprobe.shownText('csv'); })()")
        self.expect("and without formulas", ",=1+2" not in formula and "\r\n=1+2" not in formula)

    def says_what_helps(self):
        lacking = []
        refused = [cell for cell in self.newest if cell["answer"] not in ("yes", "environment")]
        for cell in refused[:: max(1, len(refused) // 12)]:
            self.open(self.cell_fragment(cell))
            text = self.see("[...document.querySelectorAll('#cell section')].find((one) => one.querySelector('h3').textContent === 'Workarounds')?.innerText ?? ''")
            whole = all(advice.split("\n")[0] in text for advice in cell["advice"])
            if not text.strip().removeprefix("Workarounds").strip() or not whole:
                lacking.append((cell["config"], cell["gpu"], text))
        self.expect(f"refused cells say what helps ({min(len(refused), 12)} or more opened)", not lacking, lacking)

    def folds_refused(self):
        cell = next((cell for cell in self.newest if cell["answer"] == "yes" and False in cell["engines"] and True in cell["engines"]), None)
        if cell is None:
            return
        self.open(self.cell_fragment(cell))
        refused = cell["engines"].count(False)
        words = self.see("document.querySelector('#cell .refused-engines > summary')?.textContent ?? ''")
        self.expect("refused engines of a yes are folded", words.startswith(f"{refused} refused"), words)
        self.equal("and the working ones shown", self.see("document.querySelectorAll('#cell .viable').length"), cell["engines"].count(True))

    def warnings_are_seen(self):
        noted = [cell for cell in self.newest if cell["but"] or cell["notes"]]
        if not noted:
            return
        self.open("")
        text = (noted[0]["but"] or noted[0]["notes"])[0]
        listed = self.see("document.getElementById('notes-list').textContent")
        self.expect("obstacles and notes are listed above the matrix", text in listed, listed)
        self.see(f"[...document.querySelectorAll('#notes-list li')].find((one) => one.textContent.includes({json.dumps(text)})).querySelector('button').click()")
        self.page.frame()
        with_it = sum(text in cell["but"] + cell["notes"] for cell in self.newest)
        self.expect("and shows its cells", f" {with_it:,} of " in self.view()["count"], (self.view()["count"], with_it))

    def run(self):
        for check in (self.first_words, self.address_round_trip, self.counts_follow, self.pivots, self.since_by_gpu,
                      self.says_what_helps, self.folds_refused, self.warnings_are_seen, self.saves):
            check()
        complaints = self.page.complaints()
        self.expect("no errors on the console, no requests", not complaints, complaints)


if __name__ == "__main__":
    sys.exit(check_page_of(Tester))
