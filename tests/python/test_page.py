"""Runs every example of docs/api.md and compares the output with the page. With another cuDNN it only runs them.

A block may state its requirements: ```pycon torch=2.15 cudnn=9.8,9.19. A line "…", and text after it, match anything.
"""

import doctest
import importlib.util
import os
import re
import unittest

import support

PAGE = support.ROOT / "docs" / "api.md"


def blocks():
    """(first line, requirements, text) of each block."""
    text = PAGE.read_text()
    for found in re.finditer(r"^```pycon([^\n]*)\n(.*?)^```", text, re.S | re.M):
        yield text.count("\n", 0, found.start()) + 1, dict(word.split("=") for word in found.group(1).split()), found.group(2)


def lacks(needs):
    """Why a block cannot be run here; "" if it can be."""
    import attnprobe

    if "torch" in needs:
        if importlib.util.find_spec("torch") is None:
            return "PyTorch is not installed"
        import torch

        if not torch.__version__.startswith(needs["torch"]):
            return f"PyTorch is {torch.__version__}"
    for version in needs.get("cudnn", "").split(","):
        try:
            if version:
                attnprobe.probe(heads=1, seqlen=64, head_dim=64, target="h200", cudnn=version, quick=True)
        except attnprobe.EnvironmentProblem:
            return f"cuDNN {version} is not on this machine"
    return ""


class Checker(doctest.OutputChecker):
    def __init__(self, compares):
        self.compares = compares

    def check_output(self, want, got, optionflags):
        if not self.compares and "Traceback" not in want:
            return True
        return super().check_output(want.replace("…", "..."), got, optionflags | doctest.ELLIPSIS)


class Page(unittest.TestCase):
    def test_examples(self):
        import attnprobe

        compares = support.has_known_cudnn()
        names = {"attnprobe": attnprobe}
        before = os.getcwd()
        os.chdir(support.ROOT)
        self.addCleanup(os.chdir, before)
        count = 0
        for line, needs, text in blocks():
            with self.subTest(line=line):
                reason = lacks(needs)
                if reason:
                    self.skipTest(reason)
                test = doctest.DocTestParser().get_doctest(text, names, f"docs/api.md, line {line}", str(PAGE), line)
                said = []
                result = doctest.DocTestRunner(Checker(compares), verbose=False).run(test, out=said.append, clear_globs=False)
                names.update(test.globs)
                self.assertEqual(result.failed, 0, "".join(said))
                count += result.attempted
        self.assertGreater(count, 15)


if __name__ == "__main__":
    unittest.main()
