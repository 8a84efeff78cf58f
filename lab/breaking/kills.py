"""Kills a matrix at a random moment with SIGKILL, then runs --resume, repeatedly, until a run ends by itself. Its bytes
must equal the undisturbed run's."""
import os
import pathlib
import random
import shutil
import signal
import subprocess
import time

from . import common

MATRIX = ["matrix", "configs/gpt2.json", "--target", "l40s,t4"]


def ends_soon(group, seconds=10):
    """Whether no process of a killed run's group is left, because workers must end with their parent."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False


def killed_run(settings, arguments, seconds):
    """None if the run was killed after that time, else how it ended by itself."""
    process = settings.start(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        _, errors = process.communicate(timeout=seconds)
        return process.returncode, errors.decode("utf-8", "replace"), True
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
    _, errors = process.communicate()
    return None, errors.decode("utf-8", "replace"), ends_soon(process.pid)


def run(settings, options, folder):
    folder = pathlib.Path(folder)
    cache = folder / "answers.sqlite"
    ways = {"asked": ["--no-cache"], "cached": ["--cache", cache]}
    good, asked = common.undisturbed(settings, MATRIX, folder / "good", "--jobs", 1, *ways["asked"])
    common.undisturbed(settings, MATRIX, folder / "fill", "--jobs", 1, *ways["cached"])
    _, cached = common.undisturbed(settings, MATRIX, folder / "again", "--jobs", 1, *ways["cached"])
    lasts = {"asked": asked, "cached": cached}
    kills = matrices = leftovers = 0
    wanted = options.kills / settings.jobs
    for number in settings.numbers(10 * options.kills):
        if kills >= wanted:
            break
        dice = random.Random(f"{settings.seed}/{number}")
        out = folder / "out"
        shutil.rmtree(out, ignore_errors=True)
        # Mostly from the cache: such a run is short, so a kill is more likely to interrupt the writing of reports.
        way = "asked" if dice.random() < options.asked else "cached"
        if way == "cached" and dice.random() < 0.2:
            cache.unlink(missing_ok=True)
        rounds = 0
        while True:
            arguments = [*MATRIX, "--out", out, "--jobs", dice.choice([1, 2]), *ways[way], *(["--resume"] if rounds else [])]
            # After several kills, the run may finish.
            longest = 1.2 * lasts[way] if rounds < 6 else settings.wall_seconds
            code, errors, is_gone = killed_run(settings, arguments, dice.random() * longest if rounds < 6 else longest)
            if not is_gone:
                settings.finding(number, "processes of a killed run are left after 10 s", arguments)
            if code is not None:
                break
            kills, rounds = kills + 1, rounds + 1
            if rounds > 6:
                settings.finding(number, f"it did not end within {longest:.0f} s", arguments)
                break
        if code is None:
            continue
        matrices += 1
        leftovers += len(list(out.glob(".attnprobe-*.tmp")))
        differing = common.different(out, good)
        if code != 0 or differing:
            files = [(name, (out / name).read_bytes()) for name in common.REPORTS if (out / name).is_file()]
            settings.finding(number, f"after {rounds} kills: exit code {code}, not as undisturbed: {', '.join(differing) or 'nothing'}; "
                             f"{common.shown(errors)}", arguments, files)
    return {"kills": kills, "matrices": matrices, "leftovers": leftovers}


def summary(counts):
    return f"{counts['kills']} kills, {counts['matrices']} matrices ended and compared byte by byte, " \
           f"{counts['leftovers']} temporary files of killed runs left"
