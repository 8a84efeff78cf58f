"""Emitted Python programs: they are valid Python, and if cudnn-frontend is installed, it gives attnprobe's answer."""

import ast
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import support

SHAPE = ["--heads", "8", "--seqlen", "128", "--head-dim", "64"]
PROGRAM = os.environ["ATTNPROBE_PROGRAM"]
DRIVER = pathlib.Path(PROGRAM).resolve().parent / "libattnprobe_null_driver.so"


def attnprobe(*words):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, cwd=support.ROOT)


class Frontend(unittest.TestCase):
    CASES = {
        "inference": [], "training": ["--pass", "fprop_train", "--mask", "causal"],
        "backward": ["--pass", "bprop", "--mask", "padding_causal", "--target", "b200"],
        "ragged": ["--batch", "4", "--mask", "padding", "--layout", "thd", "--pass", "fprop_train"],
        "ragged backward": ["--batch", "4", "--mask", "padding", "--layout", "thd", "--pass", "bprop"],
        "paged": ["--batch", "4", "--seqlen-q", "1", "--seqlen-kv", "512", "--mask", "padding", "--paged", '{"block_size": 64}'],
        "bias gradient": ["--pass", "bprop", "--bias", '{"shape": "1hss", "grad": true}'],
        "window, dropout": ["--mask", '{"window_left": 32, "window_right": 0}', "--dropout", "0.1", "--pass", "fprop_train"],
        "ALiBi": ["--alibi", "--mask", "causal"], "sink": ["--sink", "--target", "b200"]}

    def program(self, *words):
        target = [] if "--target" in words else ["--target", "h100"]
        run = attnprobe(*SHAPE, *words, *target, "--emit", "python-frontend")
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stdout

    def test_is_python(self):
        for name, words in self.CASES.items():
            with self.subTest(name):
                ast.parse(self.program(*words))
        text = self.program("--mask", '{"window_left": 32, "alignment": "bottom_right"}')
        self.assertIn("diagonal_alignment=cudnn.diagonal_alignment.BOTTOM_RIGHT,\n    diagonal_band_left_bound=33", text)
        self.assertIn('"sm_version": 90, "sm_count": 132', text)

    @unittest.skipUnless(importlib.util.find_spec("cudnn"), "cudnn-frontend is not installed")
    def test_says_the_same(self):
        doctor = json.loads(attnprobe(*SHAPE, "--target", "h100", "--quick", "--format", "json").stdout)
        folder = pathlib.Path(doctor["results"][0]["cudnn"]["path"]).parent
        for name, words in self.CASES.items():
            with self.subTest(name), tempfile.TemporaryDirectory() as place:
                file = pathlib.Path(place) / "reproducer.py"
                file.write_text(self.program(*words))
                run = subprocess.run([sys.executable, file], capture_output=True, text=True,
                                     env={**os.environ, "LD_PRELOAD": str(DRIVER), "LD_LIBRARY_PATH": str(folder)})
                target = [] if "--target" in words else ["--target", "h100"]
                report = json.loads(attnprobe(*SHAPE, *words, *target, "--mode", "A", "--quick", "--format", "json").stdout)["results"][0]
                expected = [f"eng{config['engine']}" for config in sorted(report["engine_configs"], key=lambda c: c["rank"].get("A", 99))
                            if config["check"]["supported"]]
                if report["frontend"]["refuses"]:
                    expected = []
                told = re.findall(r"^supported: (eng\d+)", run.stdout, re.M)
                self.assertEqual(told, expected, run.stdout + run.stderr)

    def test_what_it_cannot_express(self):
        for words, message in ((["--softcap", "30"], "cannot express --softcap; allowed: "),
                               (["--dtype", "fp8_e4m3"], 'cannot express dtype "fp8_e4m3"; allowed: "f16", "bf16", or --emit cpp'),
                               (["--pattern", "mha"], 'cannot express pattern "mha"')):
            run = attnprobe(*SHAPE, *words, "--target", "h100", "--emit", "python-frontend")
            self.assertEqual(run.returncode, 2)
            self.assertIn("--emit python-frontend: cudnn-frontend's sdpa in Python " + message, run.stderr)


class Torch(unittest.TestCase):
    def program(self, *words):
        return attnprobe(*SHAPE, *words, "--emit", "torch")

    def test_is_python(self):
        run = self.program("--heads-kv", "2", "--mask", "causal", "--dropout", "0.1", "--scale", "0.5", "--pass", "bprop", "--layout", "bshd")
        self.assertEqual(run.returncode, 0, run.stderr)
        ast.parse(run.stdout)
        for words in ("sdpa_kernel([SDPBackend.CUDNN_ATTENTION])", "dropout_p=0.1, is_causal=True, scale=0.5, enable_gqa=True)",
                      "out.backward(torch.randn_like(out))", 'q = torch.empty_strided((1, 8, 128, 64), (65536, 64, 512, 1), dtype=torch.float16'):
            self.assertIn(words, run.stdout)
        bias = self.program("--bias", '{"shape": "1hss"}').stdout
        ast.parse(bias)
        self.assertIn("bias = torch.randn((1, 8, 128, 128)", bias)

    def test_what_it_cannot_express(self):
        for words, message in ((["--softcap", "30"], "cannot express --softcap; allowed: "),
                               (["--mask", "padding"], 'cannot express mask "padding"; allowed: "none", "causal", or --emit cpp'),
                               (["--layout", "thd", "--mask", "padding"], "cannot express a ragged layout"),
                               (["--dtype", "f32"], 'cannot express dtype "f32" in cuDNN\'s backend')):
            run = self.program(*words)
            self.assertEqual(run.returncode, 2, run.stdout)
            self.assertIn("--emit torch: PyTorch's scaled_dot_product_attention " + message, run.stderr)


if __name__ == "__main__":
    unittest.main()
