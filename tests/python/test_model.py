"""Reports as data: reading them needs no library."""

import dataclasses
import json
import re
import subprocess
import sys
import unittest

import support
import attnprobe


def result(name="llama", target="h200", cudnn="9.19.0", usable="yes", **more):
    return {"config": {"name": name}, "target": {"id": target, "name": "a GPU", "sm": 90, "kind": "simulated"},
            "cudnn": {"version": cudnn, "path": "/x"}, "verdict": "unsupported" if usable == "no" else "supported",
            "usable": usable, "met": usable != "no", "expect": "supported", "stages": ["check"], "modes": [], "engines": [],
            "engine_configs": [{"engine": 2, "knobs": {"KERNEL_CFG": 7}, "check": {"supported": True, "status": ""},
                                "reasons": [], "modes": ["A"], "rank": {"A": 0}, "plan": None}], **more}


def report(*results):
    return attnprobe.Report.from_dict({"schema": "attnprobe/report/1", "tool": {"name": "attnprobe"}, "results": list(results)})


REFUSED = {"root_cause": {"category": "head_dim", "status": "X", "reason": "not a multiple of 8 at: d % 8", "engine": 1,
                          "mode": "A", "explanation": "Pad it.", "in_general": "", "advice": ["use 104\nattnprobe --x"]}}


class Names(unittest.TestCase):
    def test_all_are_there(self):
        for name in attnprobe.__all__:
            if name != "__version__":  # of an installed package
                self.assertIsNotNone(getattr(attnprobe, name), name)
        self.assertEqual(dir(attnprobe), sorted(attnprobe.__all__))
        with self.assertRaises(AttributeError):
            attnprobe.nothing

    def test_type_checkers_see_the_same_members(self):
        stub = (support.MODULE / "attnprobe" / "__init__.pyi").read_text()
        self.assertEqual(sorted([*re.findall(r" as (\w+)", stub), "__version__"]), sorted(attnprobe.__all__))

    def test_nothing_is_imported_first(self):
        run = subprocess.run([sys.executable, "-c", "import sys; before = set(sys.modules); import attnprobe; print(set(sys.modules) - before)"],
                             capture_output=True, text=True, check=True, env={"PYTHONPATH": str(support.MODULE)})
        self.assertLessEqual(set(re.findall(r"'(.*?)'", run.stdout)), {"attnprobe", "__future__"})


class Results(unittest.TestCase):
    def test_unknown_keys_are_kept(self):
        data = result(new_key={"a": [1]})
        read = attnprobe.Result.from_dict(data)
        self.assertEqual(read.raw["new_key"], {"a": [1]})
        self.assertEqual(read.to_dict(), data)
        copy = read.to_dict()
        copy["new_key"]["a"].append(2)
        self.assertEqual(read.raw["new_key"]["a"], [1])

    def test_keys_may_be_missing(self):
        read = attnprobe.Result.from_dict({"verdict": "error", "usable": None})
        self.assertIsNone(read.usable)
        self.assertEqual(read.answer, "error")
        self.assertEqual(read.name, "graph")

    def test_unknown_enum_values_are_kept(self):
        self.assertEqual(attnprobe.Result.from_dict(result(usable="perhaps")).answer, "perhaps")

    def test_frozen(self):
        with self.assertRaises(dataclasses.FrozenInstanceError):
            attnprobe.Result.from_dict(result()).verdict = "supported"

    def test_usable_compares_with_its_word(self):
        read = attnprobe.Result.from_dict(result(usable="but", account="a bug", but=[{"kind": "known_bug", "text": "a bug", "source": ""}]))
        self.assertEqual(read.usable, "but")
        self.assertIs(read.usable, attnprobe.Usable.BUT)
        self.assertEqual(f"{read.usable!s}", "but")
        self.assertEqual(json.dumps(read.usable), '"but"')
        self.assertEqual(read.why, "a bug")

    def test_ways_out(self):
        way = {"changes": ["K and V contiguous instead of paged"], "kinds": ["paged"], "text": "contiguous: supported here, by engine 1",
               "engine": 1, "compiled": True, "work": 1.5, "memory": 2, "config": {"heads_q": 8}, "reproduce": "attnprobe --heads 8"}
        read = attnprobe.Result.from_dict(result(usable="but", root_cause=None, ways_out=[way]))
        self.assertEqual(repr(read.ways_out[0]), f"<WayOut: {read.ways_out[0].text}>")
        self.assertEqual((read.ways_out[0].kinds, read.ways_out[0].work), (("paged",), 1.5))
        self.assertIn("  workaround (probed): contiguous: supported here, by engine 1\n    attnprobe --heads 8", str(read))
        self.assertEqual(attnprobe.Result.from_dict(result()).ways_out, ())

    def test_neither_true_nor_false(self):
        with self.assertRaisesRegex(TypeError, "usable"):
            bool(attnprobe.Result.from_dict(result()))

    def test_from_is_called_since(self):
        read = attnprobe.Result.from_dict(result(account="engine 2", **{"from": {"cudnn": "9.0.0", "asked": False, "text": "from cuDNN 9.0.0 by rule"}}))
        self.assertEqual(read.since.cudnn, "9.0.0")
        self.assertEqual(read.why, "engine 2; from cuDNN 9.0.0 by rule")

    def test_text(self):
        read = attnprobe.Result.from_dict(result(usable="no", account="not a multiple of 8", **REFUSED))
        self.assertEqual(str(read).splitlines(), [
            "llama on h200 (sm_90, cuDNN 9.19.0): no, not a multiple of 8", "  in plain words: Pad it.",
            "  workaround (probed): use 104", "    attnprobe --x"])

    def test_a_plan_that_fails_does_not_work(self):
        data = result()
        data["engine_configs"][0]["plan"] = {"status": "CUDNN_STATUS_NOT_SUPPORTED", "loaded": False, "reasons": []}
        self.assertIsNone(attnprobe.Result.from_dict(data).engine_config)


class Reports(unittest.TestCase):
    def test_sequence(self):
        two = report(result(), result(target="l40s", usable="no", **REFUSED))
        self.assertEqual([one.target.id for one in two], ["h200", "l40s"])
        self.assertEqual(len(two), 2)
        self.assertEqual(two[-1].target.id, "l40s")
        self.assertEqual(two.where(usable="no"), two[1:])
        self.assertFalse(two.met)
        with self.assertRaisesRegex(attnprobe.UsageError, "2 results"):
            two.only

    def test_columns_of_versions(self):
        both = report(result(cudnn="9.8.0", usable="no", **REFUSED), result(cudnn="9.19.0"))
        self.assertEqual(both.to_table().splitlines(), ["config  target  9.8.0  9.19.0", "llama   h200    no     yes"])
        self.assertEqual(both.where(cudnn="9.8")[0].answer, "no")
        self.assertEqual(both.where(cudnn="9.1"), ())

    def test_markdown_is_escaped(self):
        self.assertIn("a\\|b &lt;i>", report(result(name="a|b\n<i>")).to_markdown())

    def test_html_is_escaped(self):
        evil = "<script>alert(\"x\")</script>'"
        but = {"but": [{"kind": "frontend", "text": evil, "source": evil}]}
        for document in (report(result(name=evil, target=evil, usable="but", **but)),
                         report(result(name=evil, cudnn="9.8.0", usable="but", **but), result(name=evil, cudnn=evil)),
                         attnprobe.Result.from_dict(result(name=evil, usable="no", root_cause={
                             "category": evil, "reason": evil, "explanation": evil, "advice": [evil]})),
                         attnprobe.Explanation.from_dict({"next": evil, "refusals": [
                             {"headline": evil, "line": evil, "means": evil, "causes": [evil]}]})):
            page = document._repr_html_()
            self.assertNotIn("<script", page)
            self.assertIn("&lt;script&gt;", page)

    def test_json_is_the_report(self):
        one = report(result())
        self.assertEqual(json.loads(one.to_json()), one.to_dict())


if __name__ == "__main__":
    unittest.main()
