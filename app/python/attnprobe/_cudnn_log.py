"""Enables cuDNN's log in this process for a while.

If cuDNN is already loaded, sets its log callback (cudnnSetCallback works at any time). Otherwise sets the environment
variables that cuDNN reads when it is loaded.
"""

from __future__ import annotations

import ctypes
import os
import secrets
import tempfile
from typing import Any, Dict, List, Optional, Tuple

from ._errors import EnvironmentProblem, UsageError
from ._loaded import loaded_library

_VARIABLES = ("CUDNN_LOGLEVEL_DBG", "CUDNN_LOGDEST_DBG")
_ERRORS, _ALL = 2, 14  # CUDNN_SEV_ERROR_EN; errors, warnings and infos
_PREFIXES = {0: b"F", 1: b"E", 2: b"W", 3: b"I"}
_Callback = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
_LONGEST_MESSAGE = 16 << 20


def _text_of(severity: int, message: int) -> bytes:
    """A callback's message in the form of a log file. The message consists of several NUL-terminated texts, the last one empty."""
    prefix = _PREFIXES.get(severity, b"I")
    lines: List[bytes] = []
    size = 0
    while size < _LONGEST_MESSAGE:
        part = ctypes.string_at(message + size)
        if not part:
            break
        size += len(part) + 1
        lines.append((prefix if not lines else prefix.lower()) + b"! " + part)
    return b"\n" + b"\n".join(lines) + b"\n\n"


class CudnnLog:
    """From start() to stop(), cuDNN writes its log to ``path``."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self.process = os.getpid()
        self._saved: Dict[str, Optional[str]] = {}
        self._file: Any = None
        self._size = 0
        #: bytes that were dropped beyond most_bytes
        self.left_out = 0
        self.path = ""
        self._token = secrets.token_hex(8)
        self._before: Tuple[int, Optional[int], Optional[int]] = (0, None, None)

    def start(self) -> None:
        """Raises UsageError if cuDNN's log already goes elsewhere."""
        destination = os.environ.get("CUDNN_LOGDEST_DBG")
        if destination and os.environ.get("CUDNN_LOGLEVEL_DBG", "0") != "0":
            raise UsageError(
                f'watch: CUDNN_LOGDEST_DBG is "{destination}": cuDNN writes its log there; run without it, or let '
                "`attnprobe explain` read that file"
            )
        folder = tempfile.gettempdir()
        # A child that loads cuDNN crashes if it cannot open the file in the variable (docs/logs.md). So the file has no
        # temporary folder, which would be deleted; its name is unpredictable.
        self.path = os.path.join(folder, f"attnprobe-watch-{self._token}-{os.getpid()}.log")
        os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        library = loaded_library()
        if library is None:
            self._saved = {name: os.environ.get(name) for name in _VARIABLES}
            os.environ["CUDNN_LOGLEVEL_DBG"] = "3"
            os.environ["CUDNN_LOGDEST_DBG"] = os.path.join(folder, f"attnprobe-watch-{self._token}-%i.log")
            return
        functions = _functions_of(library)
        self._file = open(self.path, "ab", buffering=0)  # closed by stop()
        self._before = _callback_of(functions)
        if functions.cudnnSetCallback(_ALL, None, _address(_receiver)) != 0:
            raise EnvironmentProblem(f"watch: {library} accepts no log callback")
        _active.append(self)

    def stop(self) -> None:
        """Restores the previous destination of cuDNN's log."""
        for name, value in self._saved.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        self._saved = {}
        library = loaded_library()
        if library is not None:
            functions = _functions_of(library)
            mask, data, function = self._before
            # Keeps a callback that the program has set meanwhile.
            if _callback_of(functions)[2] == (None if self._file is None else _address(_receiver)):
                # Without a callback cuDNN would print its errors from now on, unlike before. C's abs() has no effect on the
                # severity, its first argument. A Python function could be called after the interpreter's end.
                functions.cudnnSetCallback(mask if function else _ERRORS, data, function or _address(ctypes.CDLL(None).abs))
        if self in _active:
            _active.remove(self)
        if self._file is not None:
            self._file.close()
            self._file = None

    def remove(self) -> None:
        """Removes the log, and the logs of child processes next to it."""
        folder, start = tempfile.gettempdir(), f"attnprobe-watch-{self._token}-"
        for name in os.listdir(folder):
            if name.startswith(start):
                try:
                    os.unlink(os.path.join(folder, name))
                except OSError:
                    pass

    def write(self, text: bytes) -> None:
        """Appends one message, up to the size limit."""
        file = self._file
        if file is None or self._size + len(text) > self._most:
            self.left_out += len(text)
            return
        self._size += len(text)
        file.write(text)


_active: List[CudnnLog] = []


def _receive(severity: int, _data: Optional[int], _debug: Optional[int], message: Optional[int]) -> None:
    # Called by cuDNN in any thread: no exception may leave it.
    try:
        if message and _active and _active[-1].process == os.getpid():  # not of a fork()
            _active[-1].write(_text_of(severity, message))
    except Exception:
        pass


# Lives as long as the process: a cuDNN thread may be inside when a watch ends.
_receiver = _Callback(_receive)


def _functions_of(library: str) -> Any:
    try:
        # RTLD_NOLOAD: only a library that is already loaded.
        loaded = ctypes.CDLL(library, mode=getattr(os, "RTLD_NOLOAD", 0) | os.RTLD_NOW)
        set_callback, get_callback = loaded.cudnnSetCallback, loaded.cudnnGetCallback
    except (OSError, AttributeError) as problem:
        raise EnvironmentProblem(
            f"watch: cuDNN is loaded from {library}, and its log cannot be enabled: {problem}"
        ) from problem
    set_callback.argtypes, set_callback.restype = [ctypes.c_uint, ctypes.c_void_p, ctypes.c_void_p], ctypes.c_int
    get_callback.argtypes = [ctypes.POINTER(ctypes.c_uint), ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_void_p)]
    get_callback.restype = ctypes.c_int
    return loaded


def _callback_of(functions: Any) -> Tuple[int, Optional[int], Optional[int]]:
    mask, data, function = ctypes.c_uint(), ctypes.c_void_p(), ctypes.c_void_p()
    functions.cudnnGetCallback(ctypes.byref(mask), ctypes.byref(data), ctypes.byref(function))
    return mask.value, data.value, function.value


def _address(function: Any) -> Optional[int]:
    return ctypes.cast(function, ctypes.c_void_p).value
