"""Random calls of keras.ops.dot_product_attention, as configs, and Keras' own answer over JAX without a GPU.

A call is accepted if Keras, traced and lowered for CUDA, ends in cuDNN's custom call. Otherwise Keras silently uses JAX's
implementation "xla", so the message is read from the same call with flash_attention=True. JAX is the newest version that attnprobe
knows, as attnprobe assumes.
"""
import types

import jax_gate

RELEASES = ("3.8.0", "3.10.0", "3.11.3", "3.12.0", "3.13.0", "3.13.1", "3.14.0", "3.15.1")
JAX = "0.12.0.1"
CUDNNS = ("9.1.0", "9.5.0", "9.19.0")
OTHER_WORDS = {"ampere": ""}  # Keras before 3.11 prints nothing, not even with flash_attention=True
ELSEWHERE = ()  # ids of rules for steps after the call
INSTALL = ()
NEEDS_PYTORCH = False
ENVIRONMENT = {**jax_gate.ENVIRONMENT, "KERAS_BACKEND": "jax", "HOME": "/tmp"}


def packages(release):
    return [f"keras=={release}", *jax_gate.packages(JAX)]


def draw(dice, release):
    pick = dice.choice
    heads, head_dim = pick([2, 4, 8]), pick([64, 72, 100, 128, 128, 136, 256, 264])
    lengths = [1, 2, 64, 127, 128, 200]
    config = {"pass": pick(["fprop", "fprop", "fprop_train", "bprop"]), "batch": pick([1, 2, 3]), "heads_q": heads,
              "heads_kv": pick([heads] * 6 + [1, 3]), "seqlen_q": pick(lengths), "head_dim_qk": head_dim,
              "head_dim_v": pick([head_dim] * 5 + [64]), "dtype": pick(["bf16", "f16"] * 5 + ["f32"]), "layout": "bshd"}
    config["seqlen_kv"] = pick([config["seqlen_q"], *lengths])
    if pick([True, False]):
        config["mask"] = "causal"
    if pick([True, False, False]):
        config["bias"] = {"shape": pick(["bhss", "bhss", "1hss", "b1ss", "11ss", "b11s", "bh1s"])}
    return config


def question(call):
    return {"config": call}


class Gate(jax_gate.Gate):
    def __init__(self, release):
        super().__init__(JAX)
        import keras
        assert keras.__version__ == release
        self.keras = keras
        gpu = types.SimpleNamespace(platform="gpu")
        self.jax.devices = lambda *_, **__: [gpu]

    def ask(self, call, sm, cudnn):
        self.insists = None
        answer = super().ask(call, sm, cudnn)
        if not answer["takes"] and not answer["words"]:
            self.insists = True
            answer["words"] = super().ask(call, sm, cudnn)["words"]
        return answer

    def lower_config(self, config):
        jax, jnp = self.jax, self.jax.numpy
        dtype = {"f16": "float16", "bf16": "bfloat16", "f32": "float32"}[config["dtype"]]

        def array(length, heads, head_dim):
            return jax.ShapeDtypeStruct((config["batch"], length, heads, head_dim), dtype)

        moving = {"query": array(config["seqlen_q"], config["heads_q"], config["head_dim_qk"]),
                  "key": array(config["seqlen_kv"], config["heads_kv"], config["head_dim_qk"]),
                  "value": array(config["seqlen_kv"], config["heads_kv"], config["head_dim_v"])}
        if "bias" in config:
            whole = (config["batch"], config["heads_q"], config["seqlen_q"], config["seqlen_kv"])
            moving["bias"] = jax.ShapeDtypeStruct(tuple(1 if letter == "1" else extent for letter, extent in zip(config["bias"]["shape"], whole)), dtype)

        def attention(moving, bias):
            return self.keras.ops.dot_product_attention(**moving, bias=bias, is_causal=config.get("mask") == "causal",
                                                        flash_attention=self.insists)

        def whole_call(moving):
            moving = dict(moving)
            bias = moving.pop("bias", None)
            if config["pass"] == "fprop":
                return attention(moving, bias)
            return jax.grad(lambda m: jnp.sum(attention(m, bias).astype("float32")))(moving)

        return jax.jit(whole_call).trace(moving).lower(lowering_platforms=("cuda",)).as_text()
