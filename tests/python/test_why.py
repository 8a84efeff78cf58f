"""attnprobe.torch.why and attnprobe.jax.why, on tensors that are not on a GPU."""

import importlib.util
import json
import sys
import unittest
from types import SimpleNamespace
from unittest import mock

import support  # noqa: F401  the module's path
import attnprobe

HAS_TORCH = importlib.util.find_spec("torch") is not None


class Array:
    def __init__(self, *shape, dtype="bfloat16"):
        self.shape, self.dtype = shape, dtype


class Jax(unittest.TestCase):
    def test_not_imported(self):
        attnprobe.jax.describe(Array(1, 8, 4, 64), Array(1, 8, 4, 64), Array(1, 8, 4, 64))
        self.assertNotIn("jax", sys.modules)

    def test_named(self):
        q = Array(2, 1024, 8, 64)
        why = attnprobe.jax.why(q, q, q, is_causal=True, implementation="cudnn", target="h200")
        self.assertEqual((why.backend, why.backend_by, why.reasons), ("cudnn", "rule", ()))
        self.assertTrue(why.cudnn_takes_it)
        self.assertIsNone(why.backward)

    def test_by_itself(self):
        q = Array(2, 1024, 8, 64)
        why = attnprobe.jax.why(q, q, q, target="h200")
        self.assertEqual(why.backend, "xla")
        self.assertIn("select cuDNN: implementation='cudnn' (by rule)", why.changes)

    def test_refused(self):
        q, bias = Array(2, 1023, 8, 64), Array(1, 8, 1023, 1023)
        why = attnprobe.jax.why(q, q, q, bias, implementation="cudnn", grad=True, target="h200")
        self.assertEqual(why.backend, "none")
        self.assertIn("odd lengths (1023/1023)", why.reasons[0])
        self.assertEqual(why.backward.config["pass"], "bprop")
        json.dumps(why.to_dict())
        self.assertIn("odd lengths", why._repr_html_())

    def test_what_is_given(self):
        q = Array(2, 1024, 8, 64)
        with self.assertRaisesRegex(attnprobe.UsageError, "target: query is not on a GPU"):
            attnprobe.jax.why(q, q, q)
        with self.assertRaisesRegex(attnprobe.UsageError, "key: a list"):
            attnprobe.jax.why(q, [1], q, target="h200")
        with self.assertRaisesRegex(attnprobe.UsageError, "one GPU at a time"):
            attnprobe.jax.why(q, q, q, target="h200,a100")
        with self.assertRaisesRegex(TypeError, "neither true nor false"):
            bool(attnprobe.jax.why(q, q, q, target="h200"))


class StubDevice:
    type, index = "cuda", 1

    def __str__(self):
        return "cuda:1"


class StubTensor:
    device = StubDevice()
    is_nested = requires_grad = False
    dtype = "torch.bfloat16"

    def __init__(self, *shape):
        self.shape = shape

    def stride(self):
        _, h, s, d = self.shape
        return (h * s * d, s * d, d, 1)


class TorchOnItsGpu(unittest.TestCase):
    """PyTorch is a stub here, and the H200 is simulated: this tests why()'s use of PyTorch's answers."""

    def why(self, choice, gpu="h200", **switches):
        on = {name: (lambda value=switches.get(name, True): value) for name in
              ("cudnn_sdp_enabled", "flash_sdp_enabled", "mem_efficient_sdp_enabled", "math_sdp_enabled")}
        torch = SimpleNamespace(
            Tensor=StubTensor, __version__="2.15.0", is_grad_enabled=lambda: True, are_deterministic_algorithms_enabled=lambda: False,
            is_deterministic_algorithms_warn_only_enabled=lambda: False, backends=SimpleNamespace(cuda=SimpleNamespace(**on)),
            _C=SimpleNamespace(_get_sdp_priority_order=lambda: [1, 2, 0, 3, 4]))
        if choice is not None:
            torch._fused_sdp_choice = choice
        targets = []

        def asked(framework, call, target, *rest):
            targets.append(target)
            return attnprobe.probe(torch=call, target=gpu, quick=True)

        q = StubTensor(2, 8, 512, 64)
        with mock.patch("attnprobe.torch._module", lambda: torch), mock.patch("attnprobe._why.asked", asked):
            why = attnprobe.torch.why(q, q, q)
        self.assertEqual(targets, ["device:1"])
        return why

    def test_asked(self):
        for number, name in ((0, "math"), (1, "flash"), (2, "efficient"), (3, "cudnn")):
            why = self.why(lambda *_, **__: number)
            self.assertEqual((why.backend, why.backend_by), (name, "torch"))
            self.assertIn("PyTorch 2.15.0 says", why.headline)
            self.assertEqual(any("contradicts" in note for note in why.notes), number != 3)

    def test_cannot_say(self):
        def raises(*_, **__):
            raise RuntimeError("No viable backend")

        for choice in (None, raises):
            why = self.why(choice)
            self.assertEqual((why.backend, why.backend_by), ("cudnn", "rule"))
            self.assertIn("this PyTorch did not report its backend", why.notes)

    def test_named(self):
        others = {"flash_sdp_enabled": False, "mem_efficient_sdp_enabled": False, "math_sdp_enabled": False}
        why = self.why(None, "rtx4090", **others)  # a device on which cuDNN is not first by default
        self.assertFalse(any(why.call[name] for name in others))
        self.assertEqual(why.gate.text.partition(";")[0], "PyTorch 2.15.0 asks cuDNN, as the call selects it")
        self.assertTrue(all(self.why(None).call[name] for name in others))

    def test_the_gates_exception(self):
        self.assertEqual(self.why(lambda *_, **__: -1).backend, "none")


class Loaded(unittest.TestCase):
    def test_an_old_cudnn_is_answered_by_rule(self):
        with mock.patch("attnprobe._why.loaded_library", lambda: "/x/lib/libcudnn_graph.so.9"):
            for version, is_simulated, cudnn in ((90100, True, "9.1.0"), (90100, False, "/x/lib"), (91900, True, "/x/lib"), (None, True, "/x/lib")):
                with mock.patch("attnprobe._why.loaded_version", lambda: version):
                    self.assertEqual(attnprobe._why.loaded_cudnn(is_simulated), cudnn)

    def test_by_rule(self):
        q = Array(2, 1024, 8, 64)
        why = attnprobe.jax.why(q, q, q, implementation="cudnn", target="h100", cudnn="9.1")
        self.assertTrue(why.forward.by_rule)


class TorchLacks(unittest.TestCase):
    @unittest.skipIf(HAS_TORCH, "PyTorch is installed")
    def test_said(self):
        with self.assertRaisesRegex(attnprobe.UsageError, "needs PyTorch"):
            attnprobe.torch.why(None, None, None, target="h100")


@unittest.skipUnless(HAS_TORCH, "PyTorch is not installed")
class Torch(unittest.TestCase):
    def setUp(self):
        import torch

        self.torch = torch

    def tensor(self, *shape, **more):
        return self.torch.empty(*shape, dtype=more.pop("dtype", self.torch.bfloat16), device=more.pop("device", "meta"), **more)

    def test_taken(self):
        q = self.tensor(2, 8, 1024, 64, requires_grad=True)
        why = attnprobe.torch.why(q, q, q, is_causal=True, target="h100")
        self.assertEqual(why.forward.config["pass"], "fprop_train")
        self.assertEqual(why.backward.config["pass"], "bprop")
        self.assertTrue(why.cudnn_takes_it)

    def test_refused(self):
        q, k = self.tensor(2, 32, 512, 96), self.tensor(2, 8, 512, 96)
        why = attnprobe.torch.why(q, k, k, dropout_p=0.1, target="h100")
        self.assertEqual((why.backend, why.backend_by), ("other", "rule"))
        self.assertIn("use a dropout in steps of 1/16, such as 0.125 (by rule)", why.changes)
        self.assertIn("enable_gqa", str(why))

    def test_advice_of_cudnn_is_probed(self):
        q = self.tensor(1, 4, 128, 100)
        why = attnprobe.torch.why(q, q, q, target="h100")
        self.assertFalse(why.cudnn_takes_it)
        self.assertTrue([change for change in why.changes if "(probed)" in change], why.changes)

    def test_switches_of_the_process(self):
        attention = self.torch.nn.attention
        q = self.tensor(1, 4, 128, 64, requires_grad=True)
        describe = attnprobe.torch.describe
        self.assertTrue(describe(q, q, q)["grad_enabled"])
        with self.torch.no_grad():
            self.assertFalse(describe(q, q, q)["grad_enabled"])
        with attention.sdpa_kernel(attention.SDPBackend.CUDNN_ATTENTION):
            switches = {name: on for name, on in describe(q, q, q).items() if name.endswith("_sdp_enabled")}
            self.assertEqual([name for name, on in switches.items() if on], ["cudnn_sdp_enabled"])
        both = [attention.SDPBackend.CUDNN_ATTENTION, attention.SDPBackend.FLASH_ATTENTION]
        with attention.sdpa_kernel(both):
            self.assertNotIn("backend", describe(q, q, q))
        with attention.sdpa_kernel(both, set_priority=True):
            self.assertEqual(describe(q, q, q)["backend"], ["CUDNN_ATTENTION", "FLASH_ATTENTION"])
        with attention.sdpa_kernel(attention.SDPBackend.FLASH_ATTENTION):
            self.assertFalse(describe(q, q, q)["cudnn_sdp_enabled"])
        try:
            self.torch.use_deterministic_algorithms(True)
            self.assertTrue(describe(q, q, q)["deterministic"])
            self.torch.use_deterministic_algorithms(True, warn_only=True)
            self.assertFalse(describe(q, q, q)["deterministic"])
        finally:
            self.torch.use_deterministic_algorithms(False)

    def test_strides_and_masks(self):
        q = self.tensor(2, 128, 4, 64).transpose(1, 2)
        mask = self.tensor(2, 1, 1, 128, dtype=self.torch.bool)
        call = attnprobe.torch.describe(q, q, q, mask, scale=0.5)
        self.assertEqual(call["query"]["strides"], [128 * 4 * 64, 64, 4 * 64, 1])
        self.assertEqual(call["attn_mask"]["dtype"], "torch.bool")
        self.assertEqual(attnprobe.torch.why(q, q, q, mask, target="h100").forward.config["layout"], "bshd")

    def test_nested(self):
        parts = [self.torch.zeros(length, 8, 64, dtype=self.torch.bfloat16) for length in (200, 77)]
        q = self.torch.nested.nested_tensor(parts, layout=self.torch.jagged).transpose(1, 2)
        call = attnprobe.torch.describe(q, q, q)
        self.assertEqual(call["nested_lengths"], [200, 77])
        self.assertEqual(call["query"]["shape"], [2, 8, 200, 64])
        other = self.torch.nested.nested_tensor(parts[::-1], layout=self.torch.jagged).transpose(1, 2)
        with self.assertRaisesRegex(attnprobe.UsageError, r"nested lengths \[77, 200\]"):
            attnprobe.torch.describe(q, other, other)
        with self.assertRaisesRegex(attnprobe.UsageError, "is not nested"):
            attnprobe.torch.describe(q, parts[0], parts[0])

    def test_where(self):
        q = self.tensor(1, 4, 128, 64, device="cpu")
        with self.assertRaisesRegex(attnprobe.UsageError, "target: query is on the CPU"):
            attnprobe.torch.why(q, q, q)
        with self.assertRaisesRegex(attnprobe.UsageError, "value: a int"):
            attnprobe.torch.why(q, q, 3, target="h100")


if __name__ == "__main__":
    unittest.main()
