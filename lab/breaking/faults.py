"""Makes system calls of attnprobe's own process fail, one after the other (tests/programs/failing_calls.c), then runs
--resume."""
import errno
import pathlib
import shutil

from . import common

MATRIX = ["matrix", "configs/sdpa-notebook.json", "--target", "l40s", "--jobs", "1"]
# The possible errors of each kind of call, of which each experiment uses one: a full or broken disk, a process at its
# limits.
ERRORS = {
    "write": [errno.ENOSPC, errno.EIO],
    "fsync": [errno.EIO, errno.ENOSPC],
    "rename": [errno.ENOSPC, errno.EIO],
    "process": [errno.EAGAIN, errno.ENOMEM],
    "thread": [errno.EAGAIN],
    "mmap": [errno.ENOMEM],
    "pipe": [errno.EMFILE, errno.ENFILE],
    "open": [errno.EMFILE, errno.EIO, errno.ENOMEM],
    "fopen": [errno.EMFILE, errno.EIO],
}


def environment(library, kind, first, last, error, count):
    return {"LD_PRELOAD": str(library), "FAILING_CALLS": kind, "FAILING_FROM": str(first), "FAILING_TO": str(last),
            "FAILING_ERROR": str(error), "FAILING_COUNT": str(count)}


def experiments(settings, library, folder, kinds):
    """(kind, n, last, error): two experiments for each call of an undisturbed matrix. In one, only that call fails; in
    the other, all later ones too."""
    listed = []
    for kind in kinds:
        count = folder / "count"
        count.unlink(missing_ok=True)
        out = folder / f"count-{kind}"
        ended = settings.run([*MATRIX, "--out", out, "--cache", folder / f"{kind}.sqlite"],
                             environment(library, kind, 0, 0, 0, count))
        if ended.code != 0 or not count.is_file():
            raise SystemExit(f"faults: the calls of {kind} could not be counted: {common.shown(ended.errors)}")
        calls = int(count.read_text())
        if settings.index == 0:
            print(f"faults: {calls} calls of {kind}", flush=True)
        for number in range(1, calls + 1):
            for last in (number, 0):
                listed.append((kind, number, last, ERRORS[kind][(number + settings.seed) % len(ERRORS[kind])]))
    return listed


def examine(settings, library, folder, good, experiment):
    """Returns the complaint, the command and its output."""
    kind, number, last, error = experiment
    out, cache = folder / "out", folder / "answers.sqlite"
    shutil.rmtree(out, ignore_errors=True)
    for file in folder.glob("answers.sqlite*"):
        file.unlink()
    arguments = [*MATRIX, "--out", out, "--cache", cache]
    ended = settings.run(arguments, environment(library, kind, number, last, error, folder / "count"))
    wrong = common.complaint(ended)
    if wrong is None and ended.code == 0 and common.different(out, good):
        wrong = f"exit code 0, but differs from the undisturbed run: {', '.join(common.different(out, good))}"
    if wrong is None and ended.code not in (0, 2, 3):
        wrong = f"exit code {ended.code}, although the machine is at fault: {common.shown(ended.errors)}"
    if wrong is None and list(out.glob(".attnprobe-*.tmp")):
        wrong = "a temporary file is left"
    if wrong is None:
        again = settings.run([*arguments, "--resume"])
        differing = common.different(out, good)
        if again.code != 0 or differing:
            wrong = f"--resume after it: exit code {again.code}, differs from the undisturbed run: {', '.join(differing)}; " \
                    f"{common.shown(again.errors)}"
    return wrong, arguments, ended


def run(settings, options, folder):
    folder = pathlib.Path(folder)
    library = pathlib.Path(options.library).resolve()
    if not library.is_file():
        raise SystemExit(f"{library} is not there: build the tests, or name it with --library")
    good, _ = common.undisturbed(settings, MATRIX, folder / "good", "--no-cache")
    kinds = options.calls.split(",")
    listed = experiments(settings, library, folder, kinds)
    codes, done = {}, 0
    for number in settings.numbers(len(listed)):
        experiment = listed[number]
        wrong, arguments, ended = examine(settings, library, folder, good, experiment)
        done += 1
        codes[ended.code] = codes.get(ended.code, 0) + 1
        if wrong:
            kind, call, last, error = experiment
            which = f"{kind} {call}{'' if last else ' and all after it'} fails with {errno.errorcode[error]}"
            variables = environment(library, kind, call, last, error, "count")
            settings.finding(number, f"{which}: {wrong}", arguments,
                             [("stderr", ended.errors), ("environment", "".join(f"{k}={v}\n" for k, v in variables.items()))])
    return {"done": done, **{f"code {code}": count for code, count in codes.items()}, "listed": len(listed) if settings.index == 0 else 0}


def summary(counts):
    return f"{counts['done']} of {counts['listed']} experiments ({common.ends(counts)}), each resumed"
