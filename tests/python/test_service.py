"""The module over the real library, in this process."""

import os
import re
import signal
import threading
import time
import typing
import unittest
from concurrent.futures import ThreadPoolExecutor

import support
import attnprobe
from attnprobe import _service

BERT = {"name": "bert", "heads": 12, "seqlen": 512, "head_dim": 64}


class Probe(unittest.TestCase):
    def test_answers(self):
        report = attnprobe.probe(BERT, head_dim=[64, 100], target="l40s,h200")
        self.assertEqual([(one.target.id, str(one.usable)) for one in report],
                         [("l40s", "yes"), ("h200", "yes"), ("l40s", "no"), ("h200", "no")])
        self.assertEqual(report[2].root_cause.category, "head_dim")
        self.assertGreaterEqual(report[0].engine_config.engine, 0)
        self.assertEqual(report.schema, "attnprobe/report/1")
        self.assertIn("multiple of 8", str(report))

    def test_targets_as_lists_and_documents(self):
        self.assertEqual([one.target.id for one in attnprobe.probe(BERT, target=["RTX 4090", "h100"])], ["rtx4090", "h100"])

    def test_gates(self):
        report = attnprobe.probe(BERT, dropout=0.1, target="h100", framework="torch==2.15", quick=True)
        self.assertEqual(report.only.frameworks[0].takes, "refused")
        self.assertIn("framework", [obstacle.kind for obstacle in report.only.but])

    def test_a_call_in_source_form(self):
        call = "F.scaled_dot_product_attention(q[4, 32, 2048, 96], k[4, 32, 2048, 96], v[4, 32, 2048, 96], is_causal=True)"
        report = attnprobe.probe(torch=call, target="h100", quick=True)
        self.assertEqual(report.only.config["dtype"], "bf16")
        self.assertIn("warning: call: query, key, value without a dtype: bf16 is assumed", str(report))
        typed = attnprobe.probe(torch=call, dtype="f16", target="h100", quick=True)
        self.assertEqual((typed.only.config["dtype"], typed.warnings), ("f16", ()))
        with self.assertRaisesRegex(attnprobe.UsageError, "torch: heads is also given"):
            attnprobe.probe(torch=call, heads=3)

    def test_usage_errors(self):
        for words, message in (({"hedas": 1}, 'did you mean "heads"'), ({"target": "h2000"}, "h2000"), ({"plans": "never"}, "plans"),
                               ({"seqlen": object()}, "object is not a valid value"), ({"scale": float("nan")}, "not JSON")):
            with self.assertRaisesRegex(attnprobe.UsageError, message):
                attnprobe.probe(BERT, **words)
        with self.assertRaises(ValueError):
            attnprobe.probe({})

    def test_environment(self):
        with self.assertRaisesRegex(attnprobe.EnvironmentProblem, "/nowhere"):
            attnprobe.probe(BERT, target="h100", cudnn="/nowhere")

    def test_matrix(self):
        version = attnprobe.probe(BERT, target="h200", quick=True).only.cudnn.version
        report = attnprobe.matrix([BERT], targets="h200,l40s", cudnns=[version])
        self.assertEqual(len(report), 2)
        with self.assertRaisesRegex(attnprobe.UsageError, '"all"'):
            attnprobe.matrix([BERT], cudnns="all")

    def test_threads(self):
        with ThreadPoolExecutor(4) as pool:
            reports = list(pool.map(lambda d: attnprobe.probe(BERT, head_dim=d, target="h200", quick=True), [64, 100, 128, 72]))
        self.assertEqual([str(report.only.usable) for report in reports], ["yes", "no", "yes", "yes"])

    def test_a_child_has_a_session_of_its_own(self):
        attnprobe.version()
        child = os.fork()
        if child == 0:
            try:
                os._exit(0 if attnprobe.probe(BERT, target="h200", quick=True).only.usable == "yes" else 1)
            except BaseException:
                os._exit(2)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_ctrl_c(self):
        many = {"heads": 8, "seqlen": list(range(256, 356)), "head_dim": list(range(8, 136, 8))}
        timer = threading.Timer(0.5, os.kill, [os.getpid(), signal.SIGINT])
        timer.start()
        begin = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            attnprobe.probe(many, target="all")
        self.assertLess(time.monotonic() - begin, 20)
        self.assertEqual(attnprobe.probe(BERT, target="h200", quick=True).only.usable, "yes")


class Limits(unittest.TestCase):
    def test_runs(self):
        limits = attnprobe.limits({"head_dim": range(8, 161, 8)}, heads=4, seqlen=256, target="a100",
                                  vary={"mask": ["none", "causal"], "pass": ["fprop", "bprop"]})
        self.assertEqual(len(limits.rows), 4)
        backward = limits.rows[1]
        self.assertEqual(backward.varied, {"mask": "none", "pass": "bprop"})
        self.assertEqual([str(run) for run in backward.taken], ["8–128 step 8"])
        self.assertEqual((backward.answer(128), backward.answer(136)), ("yes", "no"))
        self.assertIn(64, backward.taken[0])
        self.assertNotIn(65, backward.taken[0])
        with self.assertRaisesRegex(attnprobe.UsageError, "168 is not one of the values"):
            backward.answer(168)
        self.assertTrue(any("128" in reason for reason in limits.reasons()))
        self.assertEqual([line.targets for line in limits.lines], [("a100",), ("a100",)])
        self.assertIn("none, causal  bprop  a100  8–128 step 8", str(limits))
        self.assertIn("<td style=\"text-align:left\">8–128 step 8</td>", limits._repr_html_())
        self.assertEqual(attnprobe.Limits.from_dict(limits.to_dict()), limits)

    def test_words_and_what_is_assumed(self):
        limits = attnprobe.limits({"dtype": ["f16", "f32"]}, pass_="bprop", target="h100")
        self.assertEqual(limits.assumed, ("heads 8", "seqlen 1024", "head_dim 64"))
        self.assertEqual((limits.only.answer("f16"), limits.only.answer("f32")), ("yes", "no"))
        self.assertEqual(str(limits.only), "f16")

    def test_usage(self):
        with self.assertRaisesRegex(attnprobe.UsageError, 'field: "hed_dim" is not a field .*did you mean "head_dim"'):
            attnprobe.limits("hed_dim")
        with self.assertRaisesRegex(attnprobe.UsageError, "h200: timing needs a real GPU"):
            attnprobe.limits({"head_dim": [64, 128], "seqlen": [64, 128]}, by="time", target="h200")


class Words(unittest.TestCase):
    def test_literals_match_the_words_of_the_service(self):
        from attnprobe import _api

        for option, literal in (("plans", _api.Plans), ("engines", _api.Engines), ("mode", _api.Mode)):
            with self.assertRaises(attnprobe.UsageError) as raised:
                attnprobe.probe(BERT, target="h200", **{option: "nothing"})
            self.assertEqual(set(re.findall(r"\w+", str(raised.exception).rpartition("allowed:")[2])), set(typing.get_args(literal)), option)


class Suggest(unittest.TestCase):
    def test_ways_out(self):
        suggestions = attnprobe.suggest(BERT, head_dim=100, target="a100", keep=["cudnn", "target"], most=1)
        one = suggestions.only
        self.assertEqual((one.usable, one.root_cause.category, one.gpus), ("no", "head_dim", ()))
        self.assertEqual([way.kinds for way in one.ways_out], [("head_dim",)])
        self.assertTrue(one.ways_out[0].compiled)
        self.assertTrue(one.helped)
        self.assertEqual(attnprobe.probe(one.ways_out[0].config, target="a100", quick=True).only.usable, "yes")
        self.assertIn("padded with zeros to 104", str(suggestions))
        self.assertIn("<ol><li>head dimensions padded", suggestions._repr_html_())

    def test_usage(self):
        with self.assertRaisesRegex(attnprobe.UsageError, 'keep: "datatype" is not a kind of change'):
            attnprobe.suggest(BERT, keep="datatype")
        with self.assertRaisesRegex(attnprobe.UsageError, "no question"):
            attnprobe.suggest()


class Bugs(unittest.TestCase):
    def test_affected_targets_of_bugs(self):
        every, some = attnprobe.bugs(), attnprobe.bugs(framework="torch==2.13", target="h100")
        self.assertLess({bug.id for bug in some}, {bug.id for bug in every})
        self.assertEqual(attnprobe.bugs(some[0].id), some[:1])
        self.assertTrue(any(sighting.gpu == "h200" for bug in every for sighting in bug.sightings))
        self.assertIn(some[0].what, str(some[0]))
        with self.assertRaisesRegex(attnprobe.UsageError, "not the name of a known bug"):
            attnprobe.bugs("softcap")


class Others(unittest.TestCase):
    def test_explain(self):
        told = attnprobe.explain("UserWarning: cuDNN dropout probability resolution is limited to 1/16")
        self.assertEqual(told.refusals[0].layer, "framework")
        self.assertIn("1/16", told.refusals[0].next + told.refusals[0].means)
        with self.assertRaisesRegex(attnprobe.UsageError, "nothing known"):
            attnprobe.explain("the weather is fine")

    def test_explain_what_is_possible(self):
        told = attnprobe.explain(
            "bf16 training on an H100 with cuDNN 9.13.1: attention over 900 queries and 900 keys, the backward pass "
            "crashes with an illegal memory access in a captured CUDA graph"
        )
        self.assertEqual(told.refusals[0].kind, "reading")
        self.assertIn("bprop_kv_128", [bug.id for bug in told.bugs])
        self.assertIn("may be the known bug bprop_kv_128", str(told))

    def test_a_text_with_source_is_answered_for_its_call(self):
        told = attnprobe.explain(
            "torch 2.15.0 on an H100; without dropout it works fine with the same sizes.\n"
            "q = torch.randn(2, 8, 512, 64, dtype=torch.float16)\n"
            "F.scaled_dot_product_attention(q, q, q, dropout_p=0.1)\n"
        )
        self.assertEqual((told.calls[0].line, told.calls[0].target, told.calls[0].is_taken), (3, "h100", False))
        self.assertIn("refuses dropout 0.1", told.calls[0].says)
        self.assertIn("the call in line 3", str(told))

    def test_explain_an_exception(self):
        try:
            try:
                raise RuntimeError("No available kernel. Aborting execution.")
            except RuntimeError as cause:
                raise ValueError("training failed") from cause
        except ValueError as problem:
            told = attnprobe.explain(problem)
        self.assertEqual(told.refusals[0].id, "torch-no-available-kernel")
        # A quoted line of source is not a message.
        self.assertEqual(told.refusals[0].line, "RuntimeError: No available kernel. Aborting execution.")

    def test_targets(self):
        targets = {target.id: target for target in attnprobe.targets()}
        self.assertEqual(targets["h200"].sm, 90)
        self.assertEqual(targets["h200"].kind, "simulated")

    def test_the_rest(self):
        self.assertRegex(attnprobe.version(), r"^\d+\.\d+\.\d+$")
        self.assertTrue(all(library.path for library in attnprobe.libraries()))
        self.assertEqual(attnprobe.schema("report")["title"], "attnprobe report")
        with self.assertRaisesRegex(attnprobe.UsageError, "config"):
            attnprobe.schema("reports")


class Files(unittest.TestCase):
    def test_variables(self):
        for name, find in (("ATTNPROBE_LIBRARY", _service.library_path), ("ATTNPROBE_PROGRAM", _service.program_path)):
            kept = os.environ[name]
            try:
                os.environ[name] = "/nowhere/at/all"
                with self.assertRaisesRegex(attnprobe.EnvironmentProblem, f'{name}: the file "/nowhere/at/all" does not exist'):
                    find()
            finally:
                os.environ[name] = kept

    def test_another_library(self):
        with self.assertRaisesRegex(attnprobe.EnvironmentProblem, "cannot be loaded"):
            _service.Session(library=__file__)

    def test_closed(self):
        session = _service.Session()
        session.close()
        session.close()
        with self.assertRaisesRegex(attnprobe.Error, "closed"):
            session.call("version", {})


if __name__ == "__main__":
    unittest.main()
