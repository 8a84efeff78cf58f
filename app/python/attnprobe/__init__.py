"""Asks cuDNN which fused-attention graphs it supports on which GPU, and why it refuses the others.

>>> import attnprobe
>>> report = attnprobe.probe(heads=12, seqlen=512, head_dim=64, target="l40s,h200")  # doctest: +SKIP
>>> print(report)  # doctest: +SKIP

The answers come from the real cuDNN in worker processes. No GPU is needed, and a crash inside cuDNN costs one answer.
docs/api.md has examples.
"""

# The module of each name; a module is imported on first use. __init__.pyi has the same for type checkers.
_WORDS = {
    "_api": "bugs explain libraries limits matrix probe schema suggest targets version",
    "_behaviour": "Usable",
    "_errors": "Cancelled EnvironmentProblem Error UsageError",
    "_explanation": "Explanation",
    "_limits": "Limits",
    "_records": "Result",
    "_report": "Report",
    "_suggest": "Suggestions",
    "_watch": "watch",
    "_why": "Why",
}
_MODULES = {name: module for module, words in _WORDS.items() for name in words.split()}

__all__ = sorted([*_MODULES, "__version__", "jax", "torch"])


def __getattr__(name):
    from importlib import import_module

    if name == "__version__":
        from importlib.metadata import version as version_of_package  # takes 30 ms, so only on demand

        return version_of_package("attnprobe")
    if name in ("jax", "torch"):
        return import_module(f".{name}", __name__)
    if name in _MODULES:
        value = getattr(import_module(f".{_MODULES[name]}", __name__), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return __all__
