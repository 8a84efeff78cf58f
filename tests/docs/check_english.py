#!/usr/bin/env python3
"""Checks that the English checker finds the faults in test texts, and none in the files that it checks."""

import json
import pathlib
import sys
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "scripts/checks"))

import english
import english_text

RULES = json.loads(english.RULES.read_text())
LONG = "It has " + "very " * 22 + "long words."  # 26 words


def findings(name, text, exceptions=()):
    return english.Checker({**RULES, "exceptions": list(exceptions)}).findings(name, text)


def hits(name, text):
    return [(kind, line, what.split(":")[0]) for kind, line, what in findings(name, text)]


class Words(unittest.TestCase):
    def test_each_rule_matches_its_bad_example_only(self):
        for bad, good in (("This is no config.", "This is not a config. It is no longer one."), ("Put it beside the GPU.", "Put it next to the GPU."),
                          ("Nobody asks.", "You ask."), ("What is unknown is left out.", "What is unknown? Unknown keys are ignored."),
                          ("Whose shape is it.", "It is a shape whose size is 1."), ("See what helps.", "See the fixes."), ("Use it alone.", "Use only it."),
                          ("It stands in the way.", "It stands."), ("It came about.", "It happened."), ("We find out why.", "We find it."), ("It weighs both.", "It has a weight."),
                          ("It brings cuDNN.", "It downloads cuDNN."), ("cuDNN takes it.", "It takes it to zero. It takes 3 s."), ("A room of lib.", "A roomy one."),
                          ("It is used in the place of V.", "It is used in place of V."), ("A GPU that is not there fails.", "A GPU that is not installed fails."),
                          ("It fails in silence.", "It fails silently.")):
            self.assertEqual(len(findings("a.md", bad)), 1, bad)
            self.assertEqual(findings("a.md", good), [], good)

    def test_every_rule_has_an_example_above(self):
        self.assertEqual(len(RULES["words"]), 17)

    def test_code_and_links_are_not_read(self):
        self.assertEqual(findings("a.md", "Use `alone` and [this](https://a.org/beside) here.\n\n```sh\nleft alone\n```\n<!-- alone -->\n"), [])


class Sentences(unittest.TestCase):
    def test_length(self):
        self.assertEqual(hits("a.md", f"First.\n\n{LONG}\n"), [("markdown", 3, "26 words, at most 25")])
        self.assertEqual(findings("a.md", LONG.replace("very ", "", 1)), [])
        self.assertEqual(findings("a.md", "One two.\n" * 20), [])
        self.assertEqual(findings("a.md", "cuDNN has one line. attnprobe has two. cudnn-frontend has three. " * 5), [])

    def test_cells_items_and_headings_are_blocks(self):
        piece = "ten words that are all of a single short piece"
        self.assertEqual(findings("a.md", f"| {piece} | {piece} | {piece} |\n\n- {piece}\n- {piece}\n- {piece}\n\n# {piece}\n{piece}\n"), [])


class Sources(unittest.TestCase):
    def test_strings_and_comments(self):
        text = ('// It is left\n// alone.\nint a;  // fine\nconst char* b = "it is left "\n  "alone here today";\nauto c = R"(so nobody can read this)";\n'
                "const char d = '\"';\nauto e = \"a/b alone\";\n")
        self.assertCountEqual(hits("lib/a.cpp", text), [("strings", 4, '"alone" → only'), ("strings", 6, '"nobody" → you, or name who it is'), ("comments", 1, '"alone" → only')])

    def test_comments_after_code_are_separate(self):
        words = "eleven " * 12
        self.assertEqual(findings("a.hpp", f"struct A {{\n  int a;  // {words}\n  int b;  // {words}\n}};\n"), [])
        self.assertEqual(hits("a.hpp", f"int a;  // {words}\n        // {words} {words}\n// {words}\n"), [("comments", 1, "36 words, at most 25")])

    def test_scripts(self):
        self.assertEqual(hits("scripts/test", "#!/bin/sh\n# Left\n# alone.\n#   code alone\necho alone\n"), [("comments", 2, '"alone" → only')])
        self.assertEqual(hits("a.py", '"""Left alone.\n\n  a.py alone\n"""\n'), [("comments", 1, '"alone" → only')])

    def test_strings_of_python(self):
        text = '"""Read as a comment."""\nprint(f"it is left {a} alone today")\nb = ("it is left "\n     "alone here")\nc = "alone"\n'
        self.assertCountEqual(hits("a.py", text), [("strings", 2, '"alone" → only'), ("strings", 3, '"alone" → only')])

    def test_json(self):
        text = '// Left alone.\n{"means": "left alone", "source": "left alone", "causes": ["nobody knows"]}\n'
        self.assertEqual([one[:2] for one in hits("lib/a.json", text)], [("comments", 1), ("json", 2), ("json", 2)])


class Exceptions(unittest.TestCase):
    def test_exceptions_have_file_text_and_reason(self):
        one = {"files": ["a.md"], "text": "people", "reason": "a quotation of another page"}
        self.assertEqual(findings("a.md", "Some people.", [one]), [])
        self.assertEqual(len(findings("b.md", "Some people.", [one])), 1)
        with self.assertRaises(SystemExit):
            english.Checker({**RULES, "exceptions": [{**one, "reason": ""}]})


class Repository(unittest.TestCase):
    def test_checked_files_have_no_findings(self):
        begun = time.process_time()
        checker, wrong, read = english.Checker(RULES), [], set()
        for name, path in english.files([]):
            kinds = [kind for kind in RULES["checked"] if checker.is_checked(kind, name)]
            if kinds:
                read.add(name)
                wrong += [f"{name}:{line}: {what}" for kind, line, what in checker.findings(name, path.read_text(errors="replace")) if kind in kinds]
        self.assertEqual(wrong, [], "\n".join(wrong))
        self.assertGreater(len(read), 3)
        self.assertLess(time.process_time() - begun, 10)
        for kind, patterns in RULES["checked"].items():
            for pattern in patterns:
                self.assertTrue(any(english.matches(name, [pattern]) for name in read), f"{kind}: no file is {pattern}")


if __name__ == "__main__":
    unittest.main()
