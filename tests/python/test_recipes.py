"""The recipes of docs/ci for a user's repository."""

import http.server
import json
import os
import re
import shutil
import textwrap
import threading
import unittest
import xml.etree.ElementTree
import zipfile

import support
import test_ci


class Recipes(test_ci.Job):
    """docs/ci/baseline-*, as written, in a repository with ten configs. pip installs a wheel with this tree's program."""

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
                entry.external_attr = 0o100755 << 16  # an executable regular file
                wheel.writestr(entry, text)

    def recipe(self, *words, **variables):
        return self.run_(*words, PIP_NO_INDEX="1", PIP_FIND_LINKS=str(self.folder), PIP_DISABLE_PIP_VERSION_CHECK="1",
                         GITHUB_STEP_SUMMARY=str(self.folder / "summary.md"), **variables)

    def new(self, steps):
        """The job's steps that have not run yet: installation is slow, so it happens once."""
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


# The test replaces the package index and the downloads of cuDNN; the rest is this tree's program.
PROGRAM_WITH_INDEX = """#!/bin/sh
if [ "$1" = cudnn ]; then
  shift; echo "$*" >>cudnn-calls.txt
  if [ "$1" = list ]; then cat index-of-test.txt; fi
else
  exec "$PROGRAM" "$@"
fi
"""


class Site(Recipes):
    """docs/ci/site-github.yml, as written: it builds the site only if the index has a cuDNN that the site lacks."""

    test_each = None

    def setUp(self):
        super().setUp()
        program = self.folder / ".attnprobe-venv" / "bin" / "attnprobe"
        program.parent.mkdir(parents=True)
        program.write_text(PROGRAM_WITH_INDEX.replace("$PROGRAM", os.environ["ATTNPROBE_PROGRAM"]))
        program.chmod(0o755)
        folder = str(self.folder)

        class Handler(http.server.SimpleHTTPRequestHandler):
            def __init__(self, *arguments):
                super().__init__(*arguments, directory=f"{folder}/published")

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)

    def steps(self, event):
        """Runs the shell steps; the third runs only if the second one's output says so, as in its "if"."""
        text = (support.ROOT / "docs" / "ci" / "site-github.yml").read_text()
        given = dict(re.findall(r"^  (\w+): (.*)$", re.search(r"^env:\n((?:  .*\n)+)", text, re.M).group(1), re.M))
        given["SITE"] = f"http://127.0.0.1:{self.server.server_port}"
        given["TARGETS"] = "h100,l40s"
        steps = [textwrap.dedent(step) for step in re.findall(r"run: \|\n((?: {10}.*\n)+)", text)]
        self.assertEqual(len(steps), 3)
        (self.folder / "outputs").write_text("")
        for step in steps[1:]:  # the first step installs from the package index, which Recipes tests
            run = self.recipe("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step, GITHUB_OUTPUT="outputs",
                              GITHUB_EVENT_NAME=event, no_proxy="*", **given)
            self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
            told = dict(line.split("=", 1) for line in self.read("outputs").splitlines())
            if told["build"] == "no":
                break
            given["VERSIONS"] = told["versions"]
        return told

    def test_site(self):
        self.write("index-of-test.txt", "cuDNN      CUDA  size    where\n8.9.7.29   12    704 MB  to be fetched\n9.7.1.26   12    707 MB  to be fetched\n"
                   f"{support.CUDNN}.56  13    572 MB  to be fetched\n")
        if not support.has_known_cudnn():
            self.skipTest(f"SKIPPED: the cuDNN here is not {support.CUDNN}")
        self.assertEqual(self.steps("schedule"), {"versions": f"{support.CUDNN}.56", "build": "yes"})
        front = json.loads(self.read("attention-site/index.json"))
        self.assertEqual(([one["version"] for one in front["cudnns"]], len(front["configs"])), ([support.CUDNN], 10))
        self.assertEqual(self.read("cudnn-calls.txt").splitlines(), ["list --all", f"fetch {support.CUDNN}.56", f"remove {support.CUDNN}.56"])
        (self.folder / "attention-site").rename(self.folder / "published")
        self.assertEqual(self.steps("schedule")["build"], "no")
        self.assertFalse((self.folder / "attention-site").exists())
        # A push builds it from saved results: nothing is downloaded or asked.
        self.assertEqual(self.steps("push")["build"], "yes")
        self.assertTrue((self.folder / "attention-site" / "model-3" / "index.html").exists())
        self.assertEqual(self.read("cudnn-calls.txt").splitlines()[3:], ["list --all"] * 2)
        # A new patch version differs from an old one of the same minor version.
        self.write("index-of-test.txt", f"{support.CUDNN}.56  13    572 MB  to be fetched\n9.99.0.1  13    572 MB  to be fetched\n")
        (self.folder / "attention-matrices" / "9.99.0.1").mkdir()
        shutil.copytree(self.folder / "attention-matrices" / f"{support.CUDNN}.56", self.folder / "attention-matrices" / "9.99.0.1", dirs_exist_ok=True)
        told = self.steps("schedule")
        self.assertEqual(told, {"versions": f"{support.CUDNN}.56 9.99.0.1", "build": "yes"})


if __name__ == "__main__":
    unittest.main()
