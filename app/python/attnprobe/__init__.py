"""attnprobe: which fused-attention graphs cuDNN supports, on which GPU, and if not, why not."""

# Every `attnprobe` command comes through here: nothing is imported before it is asked for.
__all__ = ["__version__"]


def __getattr__(name: str) -> str:
    if name == "__version__":
        from importlib.metadata import version  # 30 ms, which no command should pay

        return version("attnprobe")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
