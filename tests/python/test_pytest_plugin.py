"""The plugin in a pytest run."""

import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap
import unittest

import support

TESTS = """
    import pytest

    GOOD = {"name": "good", "heads": 12, "seqlen": 512, "head_dim": 64}

    @pytest.mark.attention(GOOD, targets="h100,l40s", expect="yes")
    def test_good(): pass

    @pytest.mark.attention(config="configs.json", targets="h100")
    def test_file(): pass

    @pytest.mark.attention(GOOD, head_dim=100, targets="h100", expect={"default": "yes", "h100": "no"})
    def test_by_target(): pass

    @pytest.mark.attention(GOOD, head_dim=100, targets="h100", expect="yes")
    def test_refused(): raise SystemExit("never")

    @pytest.mark.attention(GOOD, targets="h100", expect="jes")
    def test_word(): pass

    @pytest.mark.attention(GOOD, targets="h100", cudnn="/nowhere")
    def test_machine(): pass

    def test_fixture(attention):
        report = attention(GOOD, head_dim=100, target="h100", quick=True)
        assert report.only.usable == "no"
        assert attention(GOOD, head_dim=100, target="h100", quick=True) is report
"""


@unittest.skipUnless(importlib.util.find_spec("pytest"), "pytest is not installed")
class Plugin(unittest.TestCase):
    def test_run(self):
        with tempfile.TemporaryDirectory() as folder:
            place = pathlib.Path(folder) / "beside"
            place.mkdir()
            (place / "test_it.py").write_text(textwrap.dedent(TESTS))
            # It expects the actual answer.
            (place / "configs.json").write_text('{"heads": 2, "seqlen": 64, "head_dim": 100, "expect": "no"}  // refused')
            run = subprocess.run(
                [sys.executable, "-m", "pytest", "-p", "attnprobe.pytest_plugin", "-p", "no:cacheprovider", "--strict-markers", "-rA", "-q"],
                cwd=folder, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(support.MODULE)})
        results = {name: word for word, name in re.findall(r"^(PASSED|FAILED) beside/test_it.py::(\w+)", run.stdout, re.M)}
        self.assertEqual(results, {"test_good": "PASSED", "test_file": "PASSED", "test_by_target": "PASSED", "test_refused": "FAILED",
                                   "test_word": "FAILED", "test_machine": "FAILED", "test_fixture": "PASSED"}, run.stdout)
        for words in ("attention: expected yes; good on h100", "no, head_dim: Embedding dim per head", "workaround (probed)",
                      'expect: "jes" is not an answer', "no answer because of an environment problem"):
            self.assertIn(words, run.stdout)
        self.assertNotIn("never", run.stdout.replace('SystemExit("never")', ""))


if __name__ == "__main__":
    unittest.main()
