#!/usr/bin/env python3
"""Checks the page of a map against its data in a headless Chromium: selectable colours, the text of a point, its address, saved files.

  tests/report/check_map.py MAP.html

Prints one line per check. Exit code 0: all passed, 1: some failed, 77: Chromium is missing.
"""

import csv
import io
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts" / "modules"))
from devtools import FAINT, PageTester, check_page_of  # noqa: E402

DATA = 'JSON.parse(document.getElementById("data").textContent)'
COLOUR = """(([map, x, y]) => {
  const canvas = document.querySelectorAll("canvas")[map];
  return [...canvas.getContext("2d").getImageData(x, canvas.height - 1 - y, 1, 1).data].join();
})"""


class Tester(PageTester):
    def __init__(self, page, url):
        super().__init__(page)
        self.url = url
        page.open(url)
        self.data = page.evaluate(DATA)
        # Every point and its position, read without the page's own code.
        self.points = []
        for number, one in enumerate(self.data["maps"]):
            for y, runs in enumerate(one["rows"]):
                x = 0
                for point, asked, count in runs:
                    self.points += [((number, x + i, y), self.data["points"][point], asked) for i in range(count)]
                    x += count
                self.expect_quietly(f"row {y} is whole", x == len(self.data["across"]["values"]), x)

    def expect_quietly(self, what, good, found=""):
        if not good:
            self.expect(what, good, found)

    def colour(self, place):
        return self.see(f"{COLOUR}({json.dumps(place)})")

    def address_of(self, place, by="answer"):
        number, x, y = place
        return f"#by={by}&at={number},{self.data['up']['values'][y]},{self.data['across']['values'][x]}"

    def colours(self):
        for by in self.data["by"]:
            self.page.open(f"{self.url}#by={by}")
            seen = {}
            for place, point, _ in self.points[:: max(1, len(self.points) // 200)]:
                told_apart = {"answer": None, "engine": point.get("engine"), "category": point.get("category"), "time": point.get("ms")}
                label = (point["answer"], told_apart[by])
                seen.setdefault(label, set()).add(self.colour(place))
            colours = [colour for each in seen.values() for colour in each]
            self.expect(f"by {by} each of {len(seen)} labels has its own colour", len(colours) == len(set(colours)) == len(seen), seen)
            counts = self.see("document.getElementById('legend').innerText")
            answers = {point["answer"] for _, point, _ in self.points if by != "time" or "ms" not in point} - {"invalid"}
            if by == "time":
                answers.add(f"{self.data['times']['longest_ms']:.3g} ms")
            self.expect("which the legend explains", all(answer in counts for answer in answers), counts)

    def says(self):
        for wanted in (True, False):
            found = next(((place, point) for place, point, asked in self.points if asked == wanted and point["answer"] != "invalid"), None)
            if found is None:
                continue
            place, point = found
            self.page.open(self.url + self.address_of(place))
            text = self.see("document.getElementById('point').innerText")
            told = point.get("reason", "") if wanted else "Not asked"
            self.expect(f"a point that was {'' if wanted else 'not '}asked shows its answer and reason", point["answer"] in text and told in text, (point, text))
            self.see(f"document.querySelectorAll('canvas')[{place[0]}].focus()")
            step = "ArrowRight" if place[1] + 1 < len(self.data["across"]["values"]) else "ArrowLeft"
            self.page.key(step)
            next_x = place[1] + (1 if step == "ArrowRight" else -1)
            self.expect("an arrow key goes to the next", self.see("location.hash") == self.address_of((place[0], next_x, place[2])).replace("by=answer&", ""),
                        self.see("location.hash"))
        self.page.click("document.querySelector('canvas')")
        self.expect("a click reads a point", "at=0," in self.see("location.hash"), self.see("location.hash"))

    def says_of_neighbours(self):
        """A refused point between two asked ones with the same answer has their reason."""
        rows = {}
        for (number, x, y), point, asked in self.points:
            rows.setdefault((number, y), []).append((x, point, asked))
        for (number, y), row in rows.items():
            reasons = {point["reason"] for _, point, asked in row if asked and point.get("reason")}
            unasked = [x for x, point, asked in row if not asked and point["answer"] == "no"]
            if len({point["answer"] for _, point, _ in row}) == 1 and reasons and unasked:
                self.page.open(self.url + self.address_of((number, unasked[0], y)))
                text = self.see("document.getElementById('point').innerText")
                self.expect("a point that was not asked shows why a neighbour is refused", any(reason in text for reason in reasons), text)
                return

    def remembers(self):
        self.page.open(self.url)
        self.page.click("document.getElementById('theme')")
        by = self.data["by"][-1]
        self.see(f"document.querySelector('input[value={by}]').click()")
        address = self.see("location.hash")
        self.expect("colour and theme are in the address", f"by={by}" in address and "theme=dark" in address, address)
        self.see("localStorage.clear()")
        self.page.open(self.url + address)
        shown = self.see("[document.querySelector('input:checked').value, document.documentElement.dataset.theme]")
        self.expect("which shows the same again", shown == [by, "dark"], shown)
        for theme in ("light", "dark"):
            self.page.open(f"{self.url}#theme={theme}")
            faint = self.see(f'{FAINT}("body")')
            self.expect(f"contrast is AA, {theme}", not faint["found"], faint["found"])

    def saves(self):
        rows = list(csv.DictReader(io.StringIO(self.see("attnprobe.pointsText('csv')"), newline="")))
        told = json.loads(self.see("attnprobe.pointsText('json')"))["points"]
        self.expect("CSV and JSON have every point", len(rows) == len(told) == len(self.points), (len(rows), len(told)))
        self.expect("with its answer", [row["answer"] for row in rows] == [point["answer"] for _, point, _ in self.points])

    def fits(self):
        self.page.size(390, 844)
        self.page.open(self.url)
        self.expect("a phone shows it without scrolling sideways", self.see("document.documentElement.scrollWidth") <= 390)
        self.page.size(1440, 900)

    def run(self):
        for check in (self.colours, self.says, self.says_of_neighbours, self.remembers, self.saves, self.fits):
            check()
        # Only this test reads the canvas.
        complaints = [one for one in self.page.complaints() if "willReadFrequently" not in one]
        self.expect("no errors on the console, no requests", not complaints, complaints)


if __name__ == "__main__":
    sys.exit(check_page_of(Tester))
