"""Shared by the parts of lab/break: a bounded run of attnprobe, the check of how it ended, and the findings."""
import collections
import hashlib
import os
import pathlib
import re
import resource
import shlex
import signal
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONVENTIONAL = range(6)  # exit codes that the help text explains
MOST_MEMORY = 2 << 20  # KiB per process
REPORTS = ("cells.jsonl", "report.json", "report.csv", "report.xml", "report.md", "index.html")
# No text output may contain these: control characters except tabs and line ends, and overrides of the writing
# direction.
RAW_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")

Ended = collections.namedtuple("Ended", "code out errors seconds memory timed_out")


class Settings:
    """The arguments that all parts have."""

    def __init__(self, options, part, index=0):
        self.part, self.seed = part, options.seed
        self.index, self.jobs = index, options.jobs
        self.program = str(pathlib.Path(options.program).resolve())
        self.deadline = time.monotonic() + options.minutes * 60
        self.cpu_seconds, self.wall_seconds = options.cpu_seconds, options.wall_seconds
        self.keep = pathlib.Path(options.keep) / part
        self.only = options.only
        self.found = 0

    def has_time(self):
        return time.monotonic() < self.deadline

    def numbers(self, count):
        """The numbers of this job's experiments until the time limit; with --only, the named one."""
        for number in range(self.index, count, self.jobs) if self.only is None else [self.only]:
            if not self.has_time():
                print(f"{self.part}: stopped at the time limit (--minutes)")
                return
            yield number

    def start(self, arguments, **more):
        """Starts attnprobe in its own process group. Limits processor time, because a run on a busy machine is not a
        hang."""
        process = subprocess.Popen([self.program, *map(str, arguments)], cwd=ROOT, start_new_session=True,
                                   **{"stdin": subprocess.DEVNULL, **more})
        try:
            resource.prlimit(process.pid, resource.RLIMIT_CPU, (self.cpu_seconds, self.cpu_seconds + 5))
        except ProcessLookupError:
            pass  # it has already ended
        return process

    def run(self, arguments, environment=None, stdin=None):
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors, open(stdin or os.devnull, "rb") as given:
            begin = time.monotonic()
            process = self.start(arguments, stdin=given, stdout=out, stderr=errors, env={**os.environ, **(environment or {})})
            timed_out = False
            while True:
                pid, status, usage = os.wait4(process.pid, os.WNOHANG)
                if pid:
                    break
                if time.monotonic() - begin > self.wall_seconds:
                    timed_out = True
                    os.killpg(process.pid, signal.SIGKILL)
                    pid, status, usage = os.wait4(process.pid, 0)
                    break
                time.sleep(0.005)
            process.returncode = os.waitstatus_to_exitcode(status)
            texts = []
            for file in (out, errors):
                file.seek(0)
                texts.append(file.read().decode("utf-8", "replace"))
            return Ended(process.returncode, *texts, time.monotonic() - begin, usage.ru_maxrss, timed_out)

    def finding(self, number, sentence, arguments, files=()):
        """Prints one line, and keeps the input, so that the finding can be examined without another run."""
        self.found += 1
        kept = self.keep / f"{self.seed}-{number}"
        kept.mkdir(parents=True, exist_ok=True)
        for name, content in files:
            (kept / name).write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
        (kept / "command").write_text(shlex.join([self.program, *map(str, arguments)]) + "\n", "utf-8", "backslashreplace")
        print(f"{self.part}: FOUND seed {self.seed}, number {number}: {sentence}; again: lab/break {self.part} "
              f"--seed {self.seed} --only {number}; kept: {kept}", flush=True)


def shown(text, length=200):
    """An untrusted text on one line, with control characters escaped."""
    text = ascii(text.strip())[1:-1]
    return text if len(text) <= length else text[:length] + "..."


def complaint(ended, named=(), is_text=True, tells=False):
    """A complaint about how a run ended, or None. `named`: an error must contain one of these words, such as the file. `tells`: exit
    code 3 is a finding of the command, not an error."""
    if ended.timed_out:
        return f"it did not end within {ended.seconds:.0f} s"
    if ended.code < 0:
        name = signal.Signals(-ended.code).name
        return f"signal {name}" + (", its processor time limit" if name == "SIGXCPU" else "")
    if ended.code not in CONVENTIONAL:
        return f"exit code {ended.code}"
    for word in ("critical:", "unexpected:", "Sanitizer", "runtime error:", "terminate called"):
        if word in ended.errors:
            return f"it prints {shown(ended.errors)}"
    if ended.memory > MOST_MEMORY:
        return f"it used {ended.memory >> 10} MiB"
    if ended.code in (2, 3) and "error:" not in ended.errors and not (tells and ended.out):
        return f"exit code {ended.code} without an error: {shown(ended.errors)}"
    if "error:" in ended.errors and named and not any(str(word) in ended.errors for word in named):
        return f"an error that does not name its file: {shown(ended.errors)}"
    for text, where in ((ended.errors, "stderr"), (ended.out if is_text else "", "stdout")):
        raw = RAW_CONTROL.search(text)
        if raw:
            return f"a raw {raw.group()!a} in {where}"
    return None


def ends(counts):
    """How runs ended, from counts with keys such as "code 2"."""
    codes = sorted(name for name in counts if name.startswith("code "))
    return ", ".join(f"{counts[name]} with exit {name}" for name in codes)


def digests(folder):
    """{name: digest} of the existing reports of a matrix."""
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in REPORTS if (folder / name).is_file()}


def different(folder, good):
    """The names of the reports that differ from the undisturbed run."""
    here = digests(folder)
    return [name for name in REPORTS if here.get(name) != good.get(name)]


def undisturbed(settings, matrix, folder, *more):
    """The reports of an undisturbed run, and its seconds."""
    ended = settings.run([*matrix, "--out", folder, *more])
    if ended.code != 0 or len(digests(folder)) != len(REPORTS):
        raise SystemExit(f"the undisturbed run failed with exit code {ended.code}: {shown(ended.errors)}")
    return digests(folder), ended.seconds
