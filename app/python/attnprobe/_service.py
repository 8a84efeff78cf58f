"""Calls the library, libattnprobe.so, in this process. Its workers are processes of the program attnprobe."""

from __future__ import annotations

import atexit
import ctypes
import itertools
import json
import os
import pathlib
import shutil
import threading
from typing import Any, Dict, List, Mapping, Optional

from ._errors import Error, EnvironmentProblem, UsageError, error_of

ABI = 1
_BIN = pathlib.Path(__file__).resolve().parent / "_bin"


def _packaged(variable: str, name: str) -> Optional[str]:
    """The path in the environment variable, otherwise the file in the wheel, otherwise None."""
    given = os.environ.get(variable)
    if given:
        if not os.path.isfile(given):
            raise EnvironmentProblem(f'{variable}: the file "{given}" does not exist')
        return os.path.abspath(given)
    packaged = _BIN / name
    return str(packaged) if packaged.is_file() else None


def library_path() -> str:
    """The file of libattnprobe.so."""
    path = _packaged("ATTNPROBE_LIBRARY", "libattnprobe.so")
    if path is None:
        raise EnvironmentProblem(
            f"libattnprobe.so is not in {_BIN}: this attnprobe was not installed from a wheel. Install it with "
            "pip install attnprobe, or set ATTNPROBE_LIBRARY to the libattnprobe.so of a build folder"
        )
    return path


def program_path() -> str:
    """The path of the program: that of ATTNPROBE_PROGRAM, the wheel's, the one next to ATTNPROBE_LIBRARY, or the one on PATH."""
    path = _packaged("ATTNPROBE_PROGRAM", "attnprobe")
    if path is None and os.environ.get("ATTNPROBE_LIBRARY"):
        beside = pathlib.Path(library_path()).parent / "attnprobe"
        path = str(beside) if beside.is_file() else None
    path = path or shutil.which("attnprobe")
    if path is None:
        raise EnvironmentProblem(
            f"the program attnprobe is neither in {_BIN} nor on PATH; install it with pip install attnprobe, or set "
            "ATTNPROBE_PROGRAM to it"
        )
    return path


class _Library:
    """The functions of attnprobe.h. ctypes releases the GIL while one of them runs."""

    def __init__(self, path: str) -> None:
        try:
            loaded = ctypes.CDLL(path)
        except OSError as problem:
            raise EnvironmentProblem(f"{path} cannot be loaded: {problem}") from problem
        self.abi = loaded.attnprobe_abi
        self.abi.argtypes, self.abi.restype = [], ctypes.c_int
        self.open = loaded.attnprobe_open
        self.open.argtypes, self.open.restype = [ctypes.c_char_p], ctypes.c_void_p
        self.call = loaded.attnprobe_call
        # c_void_p and not c_char_p: ctypes would copy the text and lose the pointer that must be freed.
        self.call.argtypes, self.call.restype = [ctypes.c_void_p, ctypes.c_char_p], ctypes.c_void_p
        self.free = loaded.attnprobe_free
        self.free.argtypes, self.free.restype = [ctypes.c_void_p], None
        self.close = loaded.attnprobe_close
        self.close.argtypes, self.close.restype = [ctypes.c_void_p], None
        abi = self.abi()
        if abi != ABI:
            raise EnvironmentProblem(f"{path} has ABI {abi}; this Python module needs {ABI}: install both from one wheel")


class Session:
    """Persistent workers. Thread-safe."""

    def __init__(self, library: Optional[str] = None, program: Optional[str] = None) -> None:
        self._library = _Library(library or library_path())
        self._numbers = itertools.count(1)
        self._calls = 0
        self._changed = threading.Condition()
        self._handle = self._library.open(os.fsencode(program or program_path()))
        if not self._handle:
            raise EnvironmentProblem("attnprobe has no memory for a session")

    def call(self, method: str, params: Mapping[str, Any]) -> Any:
        """The result of one request. Ctrl-C cancels it. Raises the exceptions of :mod:`attnprobe._errors`."""
        number = next(self._numbers)
        request = _encoded({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        if threading.current_thread() is threading.main_thread():
            answer = self._interruptible(request, number)
        else:
            answer = self._raw(request)
        if "error" in answer:
            raise error_of(answer["error"])
        return answer.get("result")

    def close(self, wait: bool = True) -> None:
        """Ends the workers after the running calls have ended. Without `wait`, it does nothing if calls are running."""
        with self._changed:
            if not wait and self._calls:
                return
            handle, self._handle = self._handle, None
            while self._calls:
                self._changed.wait()
        if handle:
            self._library.close(handle)

    def _raw(self, request: bytes) -> Dict[str, Any]:
        with self._changed:
            if not self._handle:
                raise Error("the session of attnprobe is closed")
            handle = self._handle
            self._calls += 1
        try:
            pointer = self._library.call(handle, request)
            if not pointer:
                raise EnvironmentProblem("attnprobe has no memory for an answer")
            try:
                text = ctypes.string_at(pointer)
            finally:
                self._library.free(pointer)
        finally:
            with self._changed:
                self._calls -= 1
                self._changed.notify_all()
        answer: Dict[str, Any] = json.loads(text)
        return answer

    def _interruptible(self, request: bytes, number: int) -> Dict[str, Any]:
        """Runs a call in another thread for which the main thread waits, because Python handles Ctrl-C only between its own
        instructions."""
        answers: List[Dict[str, Any]] = []
        problems: List[BaseException] = []

        def run() -> None:
            try:
                answers.append(self._raw(request))
            except BaseException as problem:  # handed to the thread that waits
                problems.append(problem)

        thread = threading.Thread(target=run, name=f"attnprobe call {number}", daemon=True)
        thread.start()
        try:
            thread.join()
        except BaseException:
            self._raw(_encoded({"jsonrpc": "2.0", "id": next(self._numbers), "method": "cancel", "params": {"id": number}}))
            thread.join()
            raise
        if problems:
            raise problems[0]
        return answers[0]


def _encoded(request: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(request, allow_nan=False, default=_plain).encode()
    except (TypeError, ValueError) as problem:
        raise UsageError(f"{request['method']}: the parameters are not JSON: {problem}") from problem


def _plain(value: Any) -> Any:
    """Converts numbers of numpy and torch, and paths, for JSON."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, (set, frozenset, range)):
        return list(value)
    item = getattr(value, "item", None)
    if callable(item):
        return item()
    raise TypeError(f"{type(value).__name__} is not a valid value in a config")


_lock = threading.Lock()
_session: Optional[Session] = None


def session() -> Session:
    """The session of this process. The first call opens it, and it is closed when the process ends."""
    global _session
    with _lock:
        if _session is None:
            _session = Session()
        return _session


def call(method: str, **params: Any) -> Any:
    """Asks the session of this process; omits parameters that are None."""
    return session().call(method, {key: value for key, value in params.items() if value is not None})


@atexit.register
def _close() -> None:
    global _session
    with _lock:
        closing, _session = _session, None
    # A call in a daemon thread ends with the process, and so does its worker.
    if closing is not None:
        closing.close(wait=False)


def _forget() -> None:
    """A child of fork() has the parent's session without its threads and workers, so it gets a new one."""
    global _session, _lock
    _session, _lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
