"""The cuDNN that this process has loaded."""

from __future__ import annotations

import ctypes
import os
import re
from typing import Iterator, Optional

# The library with the graph API; libcudnn.so.9 only forwards calls to it.
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
    """The file of libcudnn_graph, otherwise of another cuDNN library, in this process; None if none is loaded."""
    other = None
    for path in _mapped_files():
        name = path.rpartition("/")[2]
        if _GRAPH.match(name):
            return path
        if other is None and _ANY.match(name):
            other = path
    return other


def loaded_version() -> Optional[int]:
    """The version number of that cuDNN, such as 91900 for 9.19.0; None if none is loaded or the number is unknown."""
    path = loaded_library()
    if path is None:
        return None
    try:
        # RTLD_NOLOAD: only a library that is already loaded.
        function = ctypes.CDLL(path, mode=getattr(os, "RTLD_NOLOAD", 0) | os.RTLD_NOW).cudnnGetVersion
    except (OSError, AttributeError):
        return None
    function.restype = ctypes.c_size_t
    return int(function())
