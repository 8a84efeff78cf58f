"""The recipes of docs/ci for somebody else's repository."""

import json
import os
import re
import shutil
import textwrap
import unittest
import xml.etree.ElementTree
import zipfile

import support
import test_ci


class Recipes(test_ci.Job):
    """docs/ci/baseline-*, as written, in a repository with ten configs. What pip installs is a wheel with this tree's program."""

    def setUp(self):
        super().setUp()
        self.installed = False
        attention = self.folder / "attention"
        attention.mkdir()
        for number in range(10):
            self.write(f"attention/model-{number}.json", json.dumps({**test_ci.GOOD, "name": f"model-{number}", "seqlen": 64 * (number + 1)}))
        with zipfile.ZipFile(self.folder / "attnprobe-0.1.0-py3-none-any.whl", "w") as wheel:
            info = "attnprobe-0.1.0.dist-info"
            files = {"attnprobe-0.1.0.data/scripts/attnprobe": f'#!/bin/sh\nexec "{os.environ["ATTNPROBE_PROGRAM"]}" "$@"\n',
                     f"{info}/METADATA": "Metadata-Version: 2.1\nName: attnprobe\nVersion: 0.1.0\nProvides-Extra: cu13\n",
                     f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
            files[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in (*files, f"{info}/RECORD"))
            for name, text in files.items():
                entry = zipfile.ZipInfo(name)
                entry.external_attr = 0o100755 << 16  # a regular file that may be run
                wheel.writestr(entry, text)

    def recipe(self, *words, **variables):
        return self.run_(*words, PIP_NO_INDEX="1", PIP_FIND_LINKS=str(self.folder), PIP_DISABLE_PIP_VERSION_CHECK="1",
                         GITHUB_STEP_SUMMARY=str(self.folder / "summary.md"), **variables)

    def new(self, steps):
        """Those that a job has not done yet: installing takes long, and is written but once."""
        return steps[-1:] if self.installed else steps

    def shell(self, *options):
        return self.recipe(support.ROOT / "docs" / "ci" / "baseline.sh", *options)

    def github(self):
        text = (support.ROOT / "docs" / "ci" / "baseline-github.yml").read_text()
        for step in self.new(re.findall(r"      - run: \|\n((?: {10}.*\n)+)", text)):
            run = self.recipe("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", textwrap.dedent(step))
            if run.returncode:
                break
        return run

    def gitlab(self):
        text = (support.ROOT / "docs" / "ci" / "baseline-gitlab.yml").read_text()
        script = re.search(r"  script:\n((?: {4}.*\n)+)", text).group(1)
        steps = re.findall(r"    - (?:\|\n((?: {6}.*\n)+)|(.*\n))", script)
        return self.recipe("sh", "-ec", "".join(self.new([textwrap.dedent(block) or line for block, line in steps])))

    def test_each(self):
        update = self.shell("--update")
        self.assertEqual(update.returncode, 0, update.stdout + update.stderr)
        self.assertIn("attention/attention.lock: 40 cells written", update.stdout)
        lock = self.read("attention/attention.lock")
        self.assertEqual(len(lock.splitlines()), 41)
        for recipe in (self.shell, self.github, self.gitlab):
            run = recipe()
            self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
            self.assertIn("40 cells compared: nothing got worse\n", run.stdout)
            shutil.rmtree(self.folder / "attnprobe-report", ignore_errors=True)
        self.assertIn("nothing got worse", self.read("summary.md"))
        self.installed = True
        self.write("attention/model-3.json", json.dumps({**test_ci.BAD, "name": "model-3"}))
        for recipe in (self.shell, self.github, self.gitlab):
            run = recipe()
            self.assertEqual(run.returncode, 1, run.stdout + run.stderr)
            self.assertIn("40 cells compared: 4 worse\n", run.stdout)
            if recipe != self.shell:
                suites = xml.etree.ElementTree.parse(self.folder / "attnprobe-report" / "report.xml").getroot()
                self.assertEqual((suites.get("tests"), suites.get("failures")), ("40", "4"))
            shutil.rmtree(self.folder / "attnprobe-report", ignore_errors=True)
        self.assertIn("### Got worse (4)", self.read("summary.md"))
        self.assertEqual(self.read("attention/attention.lock"), lock)


if __name__ == "__main__":
    unittest.main()
