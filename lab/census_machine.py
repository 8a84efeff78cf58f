"""The machine of lab/census: its parts, its GPUs, one process on a GPU, and the results on its disk."""
import collections
import glob
import json
import lzma
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tarfile
import time

ROOT = pathlib.Path(os.environ.get("CENSUS_ROOT", "/tmp/census"))
DEFAULTS = {"seeds": {}, "later": [], "enough": 5050, "chunk": 1000, "census_until": 1380, "until": 1590, "timeout": 30, "slots": 4, "jobs": 4,
            "gpus": 0, "try_more_at": 260}
FAILED = {"does_not_compile", "wrong_result", "error", "hung", "crashed"}


def uptime():
    """Seconds since the machine was asked for; the start takes about 90."""
    began = ROOT / "began"
    return 90 + time.time() - (float(began.read_text()) if began.exists() else time.time())


def settings():
    return DEFAULTS | json.loads((ROOT / "settings.json").read_text())


def note(words):
    with open(ROOT / "work.log", "a") as log:
        log.write(f"{uptime():.0f} {words}\n")


def say_alive():
    (ROOT / "alive").touch()


def split(archives, folder, sizes):
    """Writes the archives as parts into FOLDER-0, FOLDER-1, …; returns the bytes that are left in each."""
    left, number = list(sizes), 0
    for archive in map(pathlib.Path, archives):
        data, begin = archive.read_bytes(), 0
        while begin < len(data):
            if left[number] == 0:
                number += 1
                continue
            piece = data[begin:begin + left[number]]
            part = pathlib.Path(f"{folder}-{number}")
            part.mkdir(parents=True, exist_ok=True)
            (part / f"{archive.name}.{begin:010}.{len(data)}").write_bytes(piece)
            left[number] -= len(piece)
            begin += len(piece)
    return left


def take_parts(folder):
    """Unpacks the archives that are complete."""
    inbox = ROOT / "inbox"
    inbox.mkdir(parents=True, exist_ok=True)
    for part in pathlib.Path(folder).glob("*.tar.xz.*"):
        shutil.copy(part, inbox)
    by_archive = collections.defaultdict(list)
    for part in sorted(inbox.glob("*.tar.xz.*")):
        by_archive[part.name.split(".tar.xz.")[0]].append(part)
    for name, parts in by_archive.items():
        done = ROOT / f"unpacked-{name}"
        if done.exists() or sum(p.stat().st_size for p in parts) != int(parts[0].name.rsplit(".", 1)[1]):
            continue
        whole = inbox / f"{name}.whole"
        with open(whole, "wb") as out:
            for part in parts:
                out.write(part.read_bytes())
        with lzma.open(whole) as packed, tarfile.open(fileobj=packed) as tar:
            names = {member.name.split("/")[0] for member in tar_all(tar, ROOT / "unpacking")}
        for one in sorted(names):
            if one == "prog":
                (ROOT / "unpacking/prog").rename(ROOT / "prog")
            else:
                (ROOT / "cudnn").mkdir(exist_ok=True)
                (ROOT / "unpacking" / one / "nvidia/cudnn_jit").rename(ROOT / "cudnn" / ".".join(one.split(".")[:3]))
        done.touch()
        whole.unlink()
        print(f"{uptime():.0f}: unpacked {name}: {sorted(names)}", flush=True)


def tar_all(tar, folder):
    for member in tar:
        tar.extract(member, folder)
        yield member


def environment(gpu=None):
    found = dict(os.environ, XDG_CACHE_HOME=str(ROOT / "cache"), ATTNPROBE_FETCH="never")
    found["ATTNPROBE_NULL_DRIVER"] = str(ROOT / "prog/libattnprobe_null_driver.so")
    nvrtc = [(ROOT / "nvrtc").read_text()] if (ROOT / "nvrtc").exists() else []
    paths = [str(ROOT / "prog/lib"), *nvrtc, *os.environ.get("LD_LIBRARY_PATH", "").split(":")]
    found["LD_LIBRARY_PATH"] = ":".join(p for p in paths if p)
    if gpu is not None:
        found["CUDA_VISIBLE_DEVICES"] = str(gpu)
    return found


def find_nvrtc():
    """The folder with the newest NVRTC 13 that has its builtins next to it."""
    command = ["timeout", "20", "find", "/usr", "/opt", "/root", "/home", "/venv", "-xdev", "-name", "libnvrtc.so.13"]
    places = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.split()
    good = [os.path.dirname(p) for p in places if glob.glob(os.path.dirname(os.path.realpath(p)) + "/libnvrtc-builtins.so.13*")]
    if good:
        folder = ROOT / "nvrtc-lib"
        folder.mkdir(exist_ok=True)
        for file in glob.glob(good[0] + "/libnvrtc*"):
            link = folder / os.path.basename(file)
            if not link.exists():
                link.symlink_to(os.path.realpath(file))
        (ROOT / "nvrtc").write_text(str(folder))
    return good


def count_gpus():
    wanted = settings()["gpus"]
    if wanted:
        return wanted
    return max(1, len([name for name in os.listdir("/dev") if re.fullmatch(r"nvidia\d+", name)]))


class Job:
    """One process on one GPU."""

    def __init__(self, gpu, command, output, **about):
        self.gpu, self.output, self.about = gpu, pathlib.Path(output), about
        self.began, self.lines, self.moved = time.time(), self.count(), time.time()
        self.log = open(ROOT / "jobs.log", "ab")
        self.process = subprocess.Popen(command, env=environment(gpu), stdout=self.log, stderr=self.log, start_new_session=True)

    def count(self):
        return self.output.read_bytes().count(b"\n") if self.output.exists() else 0

    def is_over(self):
        now = self.count()
        if now != self.lines:
            self.lines, self.moved = now, time.time()
        return self.process.poll() is not None

    def idle(self):
        return time.time() - self.moved

    def end(self, gently=True):
        try:
            if gently:
                os.kill(self.process.pid, signal.SIGINT)
                self.process.wait(12)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            pass
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()


def trials():
    found = {}
    for file in sorted((ROOT / "runs").glob("*/*/trials.jsonl")):
        for line in file.read_text(errors="replace").splitlines():
            try:
                trial = json.loads(line)
            except ValueError:
                continue
            found[trial["cudnn"], trial["seed"]] = trial
    return list(found.values())


def fails(trial):
    return trial["seen"] in FAILED or not trial["first_choice_compiles"]
