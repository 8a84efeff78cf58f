"""Shared by the tests of the Python module: the module of this tree, and the library for it."""

import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODULE = ROOT / "app" / "python"
sys.path.insert(0, str(MODULE))

for variable in ("ATTNPROBE_LIBRARY", "ATTNPROBE_PROGRAM"):
    if not os.environ.get(variable):
        # Not skipped: a gate without any tests would pass.
        sys.exit(f"{variable} is not set: tests/CMakeLists.txt sets it, as in ATTNPROBE_LIBRARY=build/libattnprobe.so "
                 "ATTNPROBE_PROGRAM=build/attnprobe python3 -m unittest discover -s tests/python")

#: the expected answers in tests are those of this cuDNN
CUDNN = "9.19.0"


def has_known_cudnn():
    import attnprobe

    report = attnprobe.probe(heads=1, seqlen=64, head_dim=64, target="h200", quick=True)
    return report.only.cudnn.version == CUDNN
