"""The shell steps of docs/ci/github-matrix.yml, as written, in the environment that GitHub would give them."""

import json
import os
import re
import shutil
import subprocess
import textwrap
import unittest
import xml.etree.ElementTree

import support
import test_ci

TEXT = (support.ROOT / "docs" / "ci" / "github-matrix.yml").read_text()
PARTS = 2
#: downloads nothing; uses the test's cuDNN
PROGRAM = """#!/bin/sh
if [ "$1" = cudnn ]; then shift; echo "$*" >>"$CALLS"; else exec "$PROGRAM" "$@"; fi
"""


def steps(job):
    """The shell steps of a job."""
    body = re.search(rf"^  {job}:\n((?:    .*\n|\n)+)", TEXT, re.M).group(1)
    return [textwrap.dedent(block) or line for block, line in re.findall(r"\brun: (?:\|\n((?: {10}.*\n)+)|(.*)\n)", body)]


def installed(job):
    """The packages that a job installs."""
    return set(re.search(r"apt-get install -y -qq --no-install-recommends (.*)", "\n".join(steps(job))).group(1).split())


def with_dependencies(packages):
    """Packages and their dependencies, according to this machine's dpkg."""
    seen, left = set(), set(packages)
    while left:
        seen |= left
        shown = subprocess.run(["dpkg-query", "-W", "-f", "${Pre-Depends}, ${Depends}\n", *left], capture_output=True, text=True).stdout
        left = set(re.findall(r"(?:^|[,|]) *([a-z0-9.+-]+)", shown, re.M)) - seen
    return seen


class Packages(unittest.TestCase):
    @unittest.skipUnless(shutil.which("dpkg-query") and shutil.which("readelf"), "SKIPPED: not a Debian with binutils")
    def test_libraries_of_the_program(self):
        listed = subprocess.run(["ldd", os.environ["ATTNPROBE_PROGRAM"]], capture_output=True, text=True, check=True).stdout
        needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", subprocess.run(
            ["readelf", "-d", os.environ["ATTNPROBE_PROGRAM"]], capture_output=True, text=True, check=True).stdout))
        # If / and /usr are merged, dpkg may know either name.
        known = {name: {path, os.path.realpath(path), os.path.realpath(path).removeprefix("/usr")}
                 for name, path in re.findall(r"(\S+) => (/\S+)", listed) if name in needed}
        found = subprocess.run(["dpkg-query", "-S", *set().union(*known.values())], capture_output=True, text=True).stdout
        packages = {path: package for package, path in re.findall(r"^([^:\n]+):.* (/\S+)$", found, re.M)}
        owners = {name: packages[path] for name, paths in known.items() for path in paths if path in packages}
        self.assertIn("libc.so.6", owners)
        for job in ("matrix", "report"):
            # The image has the packages that apt and dpkg need.
            there = with_dependencies(installed(job) | {"apt", "dpkg"})
            self.assertEqual({name: owner for name, owner in owners.items() if owner not in there}, {}, job)


class Jobs(test_ci.Job):
    def job(self, name, folder, expressions, **variables):
        """Runs a job's steps, except those that install, in its own workspace."""
        given = dict(re.findall(r"^  (\w+): (.*?)(?: #.*)?$", re.search(r"^env:\n((?:  .*\n)+)", TEXT, re.M).group(1), re.M))
        del given["XDG_CACHE_HOME"]
        given.update(PARTS=str(PARTS), MATRIX="matrix.json", GITHUB_STEP_SUMMARY="summary.md", CALLS="calls.txt",
                     PROGRAM=os.environ["ATTNPROBE_PROGRAM"], **variables)
        shutil.copy(self.folder / "matrix.json", folder)
        shutil.copy(self.folder / "attnprobe.tar", folder)
        workspace, self.folder = self.folder, folder
        try:
            for step in steps(name):
                if "apt-get" in step:
                    continue
                for expression, value in expressions.items():
                    step = step.replace("${{ " + expression + " }}", value)
                self.assertNotIn("${{", step)
                run = self.run_("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step, **given)
                self.assertEqual(run.returncode, 0, step + run.stdout + run.stderr)
        finally:
            self.folder = workspace

    def report(self, at, configs):
        """All three jobs, with the files that GitHub passes between them."""
        workspace = self.folder / at
        self.write("matrix.json", json.dumps({"configs": configs, "targets": ["h100", "l40s"]}))
        for part in range(1, PARTS + 1):
            folder = workspace / "part"
            folder.mkdir(parents=True)
            self.job("matrix", folder, {"matrix.shard": str(part)})
            self.assertEqual((folder / "calls.txt").read_text().split()[0], "fetch")
            (workspace / "parts").mkdir(exist_ok=True)
            shutil.move(folder / "part", workspace / "parts" / f"part-{part}")
            shutil.rmtree(folder)
        if (self.folder / "last").exists():
            shutil.move(self.folder / "last", workspace / "last")
        self.job("report", workspace, {})
        shutil.copytree(workspace / "last", self.folder / "last")
        suites = xml.etree.ElementTree.parse(workspace / "report" / "report.xml").getroot()
        self.assertEqual(suites.get("tests"), str(2 * len(configs)))
        return (workspace / "summary.md").read_text()

    def test_parts_and_report(self):
        build = self.folder / "build-release"
        build.mkdir()
        program = build / "attnprobe"
        program.write_text(PROGRAM)
        program.chmod(0o755)
        (build / "libattnprobe_null_driver.so").write_text("")
        (self.folder / "configs").mkdir()
        (packing,) = (line for line in "\n".join(steps("build")).splitlines() if line.startswith("tar "))
        self.assertEqual(self.run_(*packing.split()).returncode, 0)
        both = [{**test_ci.GOOD, "name": "a"}, {**test_ci.BAD, "name": "b", "expect": "no"}]
        first = self.report("first", both)
        self.assertIn("4 cells", first)
        # Another question with the same name: the changes since the last report are shown.
        second = self.report("second", [both[0], {**both[0], "name": "b"}])
        self.assertIn("now yes", second)


if __name__ == "__main__":
    unittest.main()
