"""The commands of a CI job: ``python3 -m attnprobe.ci matrix`` and ``python3 -m attnprobe.ci check`` (docs/matrix.md).

They read no standard input. Only files and the environment determine the result, so a job behaves the same everywhere.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import shlex
import subprocess
import sys
from typing import List, Mapping, Optional, Sequence, Tuple

from . import _api, _service
from ._configs import matrix_document
from ._errors import EnvironmentProblem, Error, UsageError

# `matrix` exits with these codes if it wrote a report, with any other code if not (docs/matrix.md).
_ANSWERS = (0, 1, 4, 5)
# GitHub's limits on a step summary and a comment.
_SUMMARY_BYTES, _COMMENT_CHARACTERS = 1 << 20, 65_000
#: by which a job finds its own comment again
MARKER = "<!-- attnprobe -->"


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Runs a command and returns the exit code of the process."""
    parser = argparse.ArgumentParser(prog="python3 -m attnprobe.ci", description=__doc__.splitlines()[0] if __doc__ else None)
    commands = parser.add_subparsers(dest="command", required=True, metavar="matrix | check")
    _add_matrix(commands.add_parser("matrix", help="asks a matrix, writes its report and lists changes since a baseline"))
    _add_check(commands.add_parser("check", help="reads config files, and asks cuDNN about each config"))
    options = parser.parse_args(_with_values(list(sys.argv[1:] if arguments is None else arguments)))
    os.environ.setdefault("ATTNPROBE_FETCH", "always")  # nobody answers a prompt in a job
    try:
        return _matrix(options) if options.command == "matrix" else _check(options)
    except Error as problem:
        print(f"attnprobe.ci: error: {problem}", file=sys.stderr)
        return 2 if isinstance(problem, UsageError) else 3


def _with_values(arguments: List[str]) -> List[str]:
    """Joins an option of `matrix` and its value into one word, because argparse would read a value such as --suggest as an option."""
    if arguments[:1] != ["matrix"]:
        return arguments
    joined: List[str] = arguments[:1]
    words = iter(arguments[1:])
    for word in words:
        value = next(words, None) if word.startswith("--") and "=" not in word and word != "--help" else None
        joined.append(word if value is None else f"{word}={value}")
    return joined


def _words(text: str) -> List[str]:
    """The items of a list that are separated by blanks, line breaks or commas."""
    return [word for word in re.split(r"[\s,]+", text) if word]


def _add_matrix(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--configs", required=True, help="config files or patterns, separated by blanks or line breaks")
    add("--targets", default="", help="as --target of attnprobe matrix; default: the files', otherwise representative")
    add("--cudnn", default="", help='versions to fetch and ask ("9.14 latest"); default: the one found on the machine')
    add("--framework", default="", help="frameworks with gates to check too")
    add("--baseline", default="", help="an existing lock file of `attnprobe matrix --baseline`; or an earlier report or its folder, which may be missing")
    add("--fail-on", default="regression", help="changes since an earlier report that fail the job, as in attnprobe diff; with a lock, "
        "worse answers fail it")
    add("--out", default="attnprobe-report", help="folder for the report; default: attnprobe-report")
    add("--title", default="", help="title of the page")
    add("--options", default="", help="further options of attnprobe matrix, quoted as for a shell")
    add("--summary", default=os.environ.get("GITHUB_STEP_SUMMARY", ""), help="file for the report in Markdown; default: $GITHUB_STEP_SUMMARY")
    add("--outputs", default=os.environ.get("GITHUB_OUTPUT", ""), help="file for lines name=value; default: $GITHUB_OUTPUT")


def _add_check(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("files", nargs="*", help="config files")
    add("--target", default="", help="GPUs; default: those that a file names, otherwise h100")
    add("--cudnn", default="", help="the cuDNN to ask")
    add("--need-cudnn", action="store_true", help="fail if there is no cuDNN to ask; otherwise the files are only read")


def _program(*arguments: str, quiet: bool = False) -> Tuple[int, str]:
    """Runs the program; returns the exit code and, if quiet, standard output."""
    run = subprocess.run([_service.program_path(), *arguments], stdout=subprocess.PIPE if quiet else None, check=False)
    return run.returncode, run.stdout.decode(errors="replace") if quiet else ""


def _matrix(options: argparse.Namespace) -> int:
    out = pathlib.Path(options.out)
    arguments = ["matrix", *_files(options.configs), "--out", str(out), "--overwrite"]
    lock = _is_lock(options.baseline)
    if lock:
        arguments += ["--baseline", options.baseline]
    elif options.baseline and pathlib.Path(options.baseline).resolve() in (out.resolve(), (out / "report.json").resolve()):
        raise UsageError(f"--baseline: {options.baseline} is --out, which is overwritten; allowed: another folder")
    versions = _fetched(_words(options.cudnn))
    for option, value in (("--target", options.targets), ("--cudnn", ",".join(versions)), ("--framework", options.framework),
                          ("--title", options.title)):
        if value.strip():
            # Blanks stay: they are in names such as "RTX 4090".
            arguments += [option, value.strip().replace("\n", ",")]
    try:
        arguments += shlex.split(options.options)
    except ValueError as problem:
        raise UsageError(f'--options: "{options.options}": {problem}') from problem
    code, _ = _program(*arguments)
    if code not in _ANSWERS:
        return code if code > 0 else 3
    # For a lock, the program's report and exit code already show what got worse.
    changes, changed = ("", int("### Got worse" in _text(out / "report.md"))) if lock else _changes(options.baseline, out, options.fail_on)
    report = _text(out / "report.md")
    comment = _comment(report, changes)
    (out / "comment.md").write_text(comment, encoding="utf-8")
    if options.summary:
        _append(options.summary, _cut("\n\n".join(text for text in (changes, report) if text), _SUMMARY_BYTES - 1000))
    failed = code or changed
    if options.outputs:
        _append(options.outputs, "".join(f"{name}={value}\n" for name, value in {
            "code": failed, "report": out, "page": out / "index.html", "junit": out / "report.xml",
            "comment": out / "comment.md", "headline": _headline(report), "worse": "true" if changed else "false"}.items()))
    return failed


def _text(file: pathlib.Path) -> str:
    return file.read_text(encoding="utf-8")


def _is_lock(baseline: str) -> bool:
    """Whether a file is a lock file: by its name, so that a missing one is an error, or by its first line."""
    if baseline.endswith(".lock"):
        return True
    try:
        with open(baseline, encoding="utf-8-sig", errors="replace") as file:
            return file.readline(200).startswith("# attnprobe baseline ")
    except OSError:
        return False


def _files(text: str) -> List[str]:
    """Whether every file exists; the program expands patterns."""
    files = [line for line in (_words(text) if "\n" not in text.strip() else text.splitlines()) if line.strip()]
    if not files:
        raise UsageError("--configs: no file is named")
    return [file.strip() for file in files]


def _fetched(versions: Sequence[str]) -> List[str]:
    """The versions, with "latest" replaced by its number; downloads missing ones."""
    if not versions:
        return []
    code, _ = _program("cudnn", "fetch", *versions)
    if code != 0:
        raise EnvironmentProblem(f"--cudnn {' '.join(versions)}: attnprobe cudnn fetch ended with {code}")
    return [version if version != "latest" else _newest() for version in versions]


def _newest() -> str:
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = pathlib.Path(cache) / "attnprobe" / "cudnn"
    versions = [entry.name for entry in folder.iterdir() if re.fullmatch(r"[\d.]+", entry.name)] if folder.is_dir() else []
    if not versions:
        raise EnvironmentProblem(f"--cudnn latest: {folder} has no version")
    return max(versions, key=lambda version: [int(part) for part in version.split(".")])


def _changes(baseline: str, out: pathlib.Path, fail_on: str) -> Tuple[str, int]:
    """The changes in Markdown, and 1 if something got worse."""
    if not baseline:
        return "", 0
    if not os.path.exists(baseline):
        print(f"attnprobe.ci: no baseline yet: {baseline} does not exist")
        return "", 0
    code, text = _program("diff", baseline, str(out), "--format", "md", "--fail-on", fail_on, quiet=True)
    if code not in (0, 1):
        raise EnvironmentProblem(f"--baseline {baseline}: attnprobe diff ended with {code}")
    print(text, end="")
    return text, code


def _headline(report: str) -> str:
    return report.splitlines()[0].lstrip("# ").strip() if report else ""


def _comment(report: str, changes: str) -> str:
    """A comment for a pull request: the count, unexpected answers, changes, and the address of the page."""
    # A report against a lock has the same in a few lines; its tables come first.
    told = [part.strip() for part in re.findall(r"^### (?:Got worse|Not as expected|Does not work).*?(?=^### |^\*yes\*: |^No failure|\Z)", report, re.S | re.M)]
    parts = [MARKER, f"**{_headline(report)}**", *told, changes.strip()]
    run = _run_address(os.environ)
    if run:
        parts.append(f"[The page and the report]({run}) are artifacts of this run.")
    return _cut("\n\n".join(part for part in parts if part), _COMMENT_CHARACTERS) + "\n"


def _run_address(environment: Mapping[str, str]) -> str:
    server, repository, run = (environment.get(name, "") for name in ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID"))
    return f"{server}/{repository}/actions/runs/{run}" if run else environment.get("CI_JOB_URL", "")


def _cut(text: str, most: int) -> str:
    """The text cut to a number of bytes, in whole lines."""
    data = text.encode()
    if len(data) <= most:
        return text
    return data[: most - 60].decode(errors="ignore").rpartition("\n")[0] + "\n\n… the rest is in the report\n"


def _append(file: str, text: str) -> None:
    with open(file, "a", encoding="utf-8") as stream:
        stream.write(text if text.endswith("\n") else text + "\n")


def _check(options: argparse.Namespace) -> int:
    failed = unasked = 0
    for file in options.files:
        try:
            document, axes = matrix_document(file)
            target = options.target or axes.get("targets") or "h100"
            report = _api.probe(document, target=target, cudnn=options.cudnn or None, framework=axes.get("framework"), quick=True)
        except UsageError as problem:
            print(f"{file}: {problem}")
            failed += 1
            continue
        except EnvironmentProblem as problem:
            # The file was read before anything was asked.
            print(f"{file}: read, and not asked about: {problem}")
            unasked += 1
            continue
        broken = [result for result in report if result.environment_broken]
        unmet = [result for result in report if not result.met and not result.environment_broken]
        for result in unmet:
            print(f"{file}: {f'expected {result.expect}: ' if result.expect_given else ''}{result}")
        if broken:
            print(f"{file}: read, and not asked about: {broken[0].why}")
        failed += bool(unmet)
        unasked += bool(broken)
    return 1 if failed else 3 if unasked and options.need_cudnn else 0


if __name__ == "__main__":
    sys.exit(main())
