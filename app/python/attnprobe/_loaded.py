"""The cuDNN that this process has loaded."""

from __future__ import annotations

import re
from typing import Iterator, Optional

# The library that has the graph API; libcudnn.so.9 only hands calls on to it.
_GRAPH = re.compile(r"libcudnn_graph\.so\.\d")
_ANY = re.compile(r"libcudnn(_\w+)?\.so\.\d")


def _mapped_files() -> Iterator[str]:
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
            for line in maps:
                path = line.rstrip("\n").partition("/")
                if path[1]:
                    yield "/" + path[2]
    except OSError:
        return


def loaded_library() -> Optional[str]:
    """The file of libcudnn_graph, else of another library of cuDNN, in this process; None where there is none."""
    other = None
    for path in _mapped_files():
        name = path.rpartition("/")[2]
        if _GRAPH.match(name):
            return path
        if other is None and _ANY.match(name):
            other = path
    return other
