"""The commands of a CI job: python3 -m attnprobe.ci, the scripts, and the action's own steps."""

import json
import os
import pathlib
import re
import stat
import subprocess
import sys
import tempfile
import textwrap
import unittest
import xml.etree.ElementTree

import support
from attnprobe import ci

GOOD, BAD = {"name": "a", "heads": 2, "seqlen": 64, "head_dim": 64}, {"name": "a", "heads": 2, "seqlen": 64, "head_dim": 100}
SCRIPT = support.ROOT / "scripts/ci"


class Job(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.write("good.json", json.dumps(GOOD))
        self.write("bad.json", json.dumps(BAD))

    def write(self, name, text):
        (self.folder / name).write_text(text)

    def read(self, name):
        return (self.folder / name).read_text()

    def run_(self, *words, **variables):
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("GITHUB_", "CI_", "RUNNER_"))}
        environment.update(PYTHONPATH=str(support.MODULE), PYTHON=sys.executable, XDG_CACHE_HOME=str(self.folder / "cache"), **variables)
        return subprocess.run(words, cwd=self.folder, capture_output=True, text=True, env=environment)


class Matrix(Job):
    def matrix(self, *words, **variables):
        return self.run_(SCRIPT, "matrix", *words, **variables)

    def test_report_and_baseline(self):
        first = self.matrix("--configs", "good.json", "--targets", "RTX 4090, h200", "--out", "first", "--baseline", "none/report.json")
        self.assertEqual(first.returncode, 0, first.stderr)
        self.assertIn("no baseline yet", first.stdout)
        second = self.matrix("--configs", "bad.json", "--targets", "RTX 4090, h200", "--out", "second", "--baseline", "first/report.json",
                             "--summary", "summary.md", "--outputs", "outputs", GITHUB_SERVER_URL="https://github.com",
                             GITHUB_REPOSITORY="me/mine", GITHUB_RUN_ID="7")
        self.assertEqual(second.returncode, 1, second.stderr)
        outputs = dict(line.split("=", 1) for line in self.read("outputs").splitlines())
        self.assertEqual(outputs, {"code": "1", "report": "second", "page": "second/index.html", "junit": "second/report.xml",
                                   "comment": "second/comment.md", "worse": "true", "headline": outputs["headline"]})
        self.assertIn("2 no", outputs["headline"])
        self.assertNotIn("expected", outputs["headline"])  # nothing was asked
        comment = self.read("second/comment.md")
        self.assertTrue(comment.startswith(ci.MARKER))
        for words in ("### Does not work (2)", "2 now no", "https://github.com/me/mine/actions/runs/7"):
            self.assertIn(words, comment)
        summary = self.read("summary.md")
        self.assertIn("2 now no", summary)
        self.assertIn("| config |", summary)
        suites = xml.etree.ElementTree.parse(self.folder / "second" / "report.xml")
        self.assertEqual(len(list(suites.iter("testcase"))), 2)
        allowed = self.matrix("--configs", "bad.json", "--targets", "h200", "--out", "third", "--baseline", "first", "--fail-on", "none",
                              "--options", "--plans none --title 'of mine'")
        self.assertEqual(allowed.returncode, 1)  # the answer is no
        self.assertIn("of mine", self.read("third/index.html"))

    def test_no_report(self):
        for words, code, message in (
                (["--configs", "none.json"], 2, "none.json"), (["--configs", " "], 2, "--configs: no file is named"),
                (["--configs", "good.json", "--targets", "h2000"], 2, "h2000"), (["--configs", "good.json", "--options", "'"], 2, "--options"),
                (["--configs", "good.json", "--options", "--nonsense"], 2, "--nonsense"),
                (["--configs", "good.json", "--out", "x", "--baseline", "x"], 2, "is --out")):
            run = self.matrix(*words)
            self.assertEqual(run.returncode, code, run.stderr)
            self.assertIn(message, run.stderr)

    def test_versions_are_fetched(self):
        # A program that records its arguments.
        program = self.folder / "program"
        program.write_text('#!/bin/sh\necho "$@" >>calls\n[ "$1" = cudnn ] && mkdir -p "$XDG_CACHE_HOME/attnprobe/cudnn/9.9.0.52" '
                           '"$XDG_CACHE_HOME/attnprobe/cudnn/9.28.1.4"\n[ "$1" = matrix ] && exit 3\nexit 0\n')
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        run = self.matrix("--configs", "good.json", "--cudnn", "9.9, latest", ATTNPROBE_PROGRAM=str(program))
        self.assertEqual(run.returncode, 3)
        self.assertEqual(self.read("calls").splitlines(), [
            "cudnn fetch 9.9 latest", "matrix good.json --out attnprobe-report --overwrite --cudnn 9.9,9.28.1.4"])

    def test_long_texts_are_cut(self):
        text = ci._cut("ä" * 50 + "\n" + "b" * 100, 130)
        self.assertLessEqual(len(text.encode()), 130)
        self.assertIn("the rest is in the report", text)


class Check(Job):
    def test_answers(self):
        run = self.run_(SCRIPT, "check", "good.json")
        self.assertEqual((run.returncode, run.stdout), (0, ""), run.stderr)
        self.write("typo.json", '{"heads": 2, "seqlen": 64, "head_dimm": 64}')
        self.write("matrix.json", json.dumps({"configs": [{**BAD, "expect": "no"}], "targets": ["l40s"], "cudnn": "all"}))
        run = self.run_(SCRIPT, "check", "good.json", "bad.json", "typo.json", "matrix.json")
        self.assertEqual(run.returncode, 1)
        self.assertIn("bad.json: a on h100", run.stdout)
        self.assertIn('typo.json: config/head_dimm: unknown key "head_dimm"', run.stdout)
        self.assertNotIn("good.json", run.stdout)
        self.assertNotIn("matrix.json", run.stdout)

    def test_without_cudnn(self):
        for words, code in ((["good.json"], 0), (["--need-cudnn", "good.json"], 3), (["bad.json"], 0)):
            run = self.run_(SCRIPT, "check", "--cudnn", "/nowhere", *words)
            self.assertEqual(run.returncode, code, run.stderr)
            self.assertIn("read, and not asked about", run.stdout)
        self.write("typo.json", '{"heads": 2, "seqlen": 64, "head_dimm": 64}')
        self.assertEqual(self.run_(SCRIPT, "check", "--cudnn", "/nowhere", "typo.json").returncode, 1)


class Action(Job):
    """The text of the action's step, with the variables that GitHub would give it."""

    def step(self):
        action = (support.ROOT / "action.yml").read_text()
        step = action[action.index("- id: matrix"):]
        return textwrap.dedent(re.search(r"run: \|\n((?: {8}.*\n)+)", step).group(1))

    def test_runs_as_on_the_ci_service(self):
        self.check_run("")

    def test_a_single_option(self):
        # As in action.yml and docs/matrix.md: one word that begins like an option.
        self.check_run("--suggest")

    def check_run(self, options):
        names = re.findall(r"^  ([\w-]+):$", (support.ROOT / "action.yml").read_text().partition("outputs:")[0], re.M)
        values = {name.upper().replace("-", "_"): "" for name in names}
        values.update(CONFIGS="good.json", TARGETS="h200", BASELINE="cache", FAIL_ON="regression", ARTIFACT="attnprobe", OPTIONS=options,
                      GITHUB_ACTION_PATH=str(support.ROOT), GITHUB_OUTPUT=str(self.folder / "outputs"),
                      GITHUB_STEP_SUMMARY=str(self.folder / "summary.md"))
        # pip would install this tree, which needs no installation.
        package = "ATTNPROBE_PACKAGE=${PACKAGE:-attnprobe} "
        self.assertIn(package, self.step())
        step = self.step().replace(package, "")
        run = self.run_("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step, **values)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("report=attnprobe-report/attnprobe", self.read("outputs"))
        self.assertIn("1 yes", self.read("summary.md"))


class GitLab(Job):
    def test_runs_as_on_the_ci_service(self):
        template = (support.ROOT / "docs" / "ci" / "gitlab-matrix.yml").read_text()
        script = textwrap.dedent(re.search(r"    - \|\n((?: {6}.*\n)+)", template).group(1))
        variables = dict(re.findall(r"^    (ATTNPROBE_\w+): (\S*)$", template, re.M))
        variables = {name: value.strip('"') for name, value in variables.items()}
        variables.update(ATTNPROBE_CONFIGS="good.json", ATTNPROBE_TARGETS="h200", CI_COMMIT_BRANCH="main", CI_DEFAULT_BRANCH="main")
        python = self.folder / ".attnprobe-venv" / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')  # with a link, Python would use the link's environment
        python.chmod(0o755)
        run = self.run_("sh", "-ec", script, **variables)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertTrue((self.folder / "attnprobe-baseline" / "report.json").exists())
        self.write("bad.json", json.dumps(BAD))
        variables.update(ATTNPROBE_CONFIGS="bad.json", CI_COMMIT_BRANCH="mine")
        before = self.read("attnprobe-baseline/report.json")
        run = self.run_("sh", "-ec", script, **variables)
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertIn("1 now no", run.stdout)
        self.assertEqual(self.read("attnprobe-baseline/report.json"), before)


class Lock(Job):
    """A lock file as the action's baseline."""

    def test_got_worse(self):
        matrix = [SCRIPT, "matrix", "--targets", "h200,l40s", "--baseline", "attention.lock", "--outputs", "outputs", "--summary", "summary.md"]
        missing = self.run_(*matrix, "--configs", "good.json")
        self.assertEqual(missing.returncode, 2)
        self.assertIn("--update writes it", missing.stderr)
        first = self.run_(*matrix, "--configs", "good.json", "--options=--update")
        self.assertEqual(first.returncode, 0, first.stderr)
        self.assertEqual(len(self.read("attention.lock").splitlines()), 3)
        same = self.run_(*matrix, "--configs", "good.json")
        self.assertEqual(same.returncode, 0, same.stderr)
        self.assertIn("worse=false\n", self.read("outputs"))
        (self.folder / "outputs").unlink()
        worse = self.run_(*matrix, "--configs", "bad.json")
        self.assertEqual(worse.returncode, 1, worse.stderr)
        self.assertIn("worse=true\n", self.read("outputs"))
        self.assertIn("2 cells compared: 2 worse\n", self.read("summary.md"))
        comment = self.read("attnprobe-report/comment.md")
        self.assertIn("### Got worse (2)", comment)
        self.assertEqual(comment.count("| a | "), 2)


if __name__ == "__main__":
    unittest.main()
