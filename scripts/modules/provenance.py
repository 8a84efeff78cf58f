"""The origin of a report: commit, date, hashes of cuDNN's files, and command."""
import datetime
import hashlib
import os
import pathlib
import re
import shlex
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOT_RECORDED = "not recorded"


def commit():
    """The commit from which the program was built: that of the running bundle (scripts/gpu-suite bundle), or that of the clone."""
    if os.environ.get("ATTNPROBE_BUILT_FROM"):
        return os.environ["ATTNPROBE_BUILT_FROM"]
    done = subprocess.run(["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=12"], capture_output=True, text=True)
    carried = ROOT / ".gpu/commit"
    return done.stdout.strip() or (carried.read_text().strip() if carried.exists() else NOT_RECORDED)


def today():
    return datetime.datetime.now(datetime.timezone.utc).date().isoformat()


def cudnn_files(folder):
    """{name: the first 16 digits of its SHA-256} of cuDNN's libraries in a folder; links to the same file count once."""
    found = {}
    for path in sorted(pathlib.Path(folder).glob("libcudnn*.so.9*")):
        if path.resolve().name in found or not path.is_file():
            continue
        with open(path, "rb") as file:
            found[path.resolve().name] = hashlib.file_digest(file, "sha256").hexdigest()[:16] if hasattr(hashlib, "file_digest") \
                else hashlib.sha256(file.read()).hexdigest()[:16]
    return found


def command(arguments):
    """A command line without this machine's folders: a path outside the repository keeps only its last name."""
    words = [re.sub(rf"^{re.escape(str(ROOT))}/", "", word) for word in arguments]
    return shlex.join(re.sub(r"^(--?[\w-]+=)?/.*/([^/]+)/?$", r"\1\2", word) for word in words)


def facts(folder=None):
    return {"commit": commit(), "date": today(), "cudnn_files": cudnn_files(folder) if folder else {}}


def table(report, **more):
    """The lines of a small table, below the finding."""
    files = ", ".join(f"{name} {digest}" for name, digest in (report.get("cudnn_files") or {}).items())
    rows = {"commit": report.get("commit") or NOT_RECORDED, "date": report.get("date") or NOT_RECORDED, **more,
            "cuDNN's files (SHA-256)": files or NOT_RECORDED}
    return ["| | |", "| --- | --- |", *(f"| {name} | {text} |" for name, text in rows.items()), ""]
