#!/usr/bin/env python3
"""Makes the README's pictures from real runs: an answer in a terminal, and the page of a matrix.

  scripts/docs pictures              writes docs/pictures/terminal.svg and docs/pictures/matrix.webp

Needs cuDNN 9.19 as the default, 9.12 and 9.27 (attnprobe cudnn fetch 9.12 9.27), Chromium, and rich (Debian: python3-rich). Exit code
77: one of them is missing.
"""
import argparse
import os
import pathlib
import pty
import re
import shlex
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "modules"))
import devtools  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs/pictures"
ANSWER = "attnprobe configs/gemma-7b.json configs/llama3-8b.json --pass bprop --expect any --target rtx4090,h100,b200"
MATRIX = ("attnprobe matrix configs/gemma-7b.json configs/llama3-8b.json --pass fprop,bprop --expect any "
          "--target t4,a100,rtx4090,h100,b200 --cudnn 9.12,9.19,9.27 --title Attention")
COLUMNS, WIDTH = 84, 1000
MOST_BYTES = 150_000


def terminal_text(command, program):
    """The command's output in a terminal of COLUMNS columns, with its colours, without the progress line."""
    ours, its = pty.openpty()
    subprocess.run(["stty", "cols", str(COLUMNS), "rows", "40"], stdin=its, check=True)
    environment = {**os.environ, "TERM": "xterm-256color"}
    with subprocess.Popen([program, *shlex.split(command)[1:]], cwd=ROOT, env=environment, stdin=its, stdout=its, stderr=subprocess.DEVNULL):
        os.close(its)
        pieces = []
        try:
            while piece := os.read(ours, 1 << 16):
                pieces.append(piece)
        except OSError:  # the program closed the terminal
            pass
    os.close(ours)
    return b"".join(pieces).decode().replace("\r\n", "\n").rstrip()


def draw_terminal(file, program):
    from rich.console import Console
    from rich.text import Text
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        console = Console(record=True, width=COLUMNS, file=nowhere, force_terminal=True, color_system="standard")
        prompt, width = f"$ {ANSWER}", COLUMNS - 2
        cut = prompt.rindex(" --", 0, width)
        console.print(Text(f"{prompt[:cut]} \\\n   {prompt[cut:]}", style="bold"))
        console.print(Text.from_ansi(terminal_text(ANSWER, program)))
    svg = console.export_svg(title="attnprobe", unique_id="attnprobe")
    # A picture must not download anything, so it uses the reader's monospace font.
    file.write_text(re.sub(r"\n\s*@font-face \{.*?\}(?=\n)", "", svg, flags=re.S))


def draw_matrix(file, program, chromium):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, *shlex.split(MATRIX)[1:], "--out", f"{folder}/matrix"], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        with devtools.Browser(chromium) as browser:
            page = devtools.Page(browser)
            page.call("Emulation.setScrollbarsHidden", hidden=True)
            page.size(WIDTH, 4000)  # tall enough that nothing scrolls
            page.media()
            page.open(pathlib.Path(folder, "matrix/index.html").as_uri())
            height = page.evaluate("Math.ceil(document.querySelector('#grid tbody').getBoundingClientRect().bottom) + 16")
            page.screenshot(file, clip={"x": 0, "y": 0, "width": WIDTH, "height": height, "scale": 1})


def main():
    parser = argparse.ArgumentParser(prog="scripts/docs pictures", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/attnprobe"))
    options = parser.parse_args()
    chromium = devtools.find_chromium()
    try:
        import rich  # noqa: F401
    except ImportError:
        chromium = None
    if not chromium:
        print("SKIPPED: no Chromium or no rich here (Debian: chromium, python3-rich)")
        return 77
    FOLDER.mkdir(exist_ok=True)
    files = [FOLDER / "terminal.svg", FOLDER / "matrix.webp"]
    draw_terminal(files[0], options.program)
    draw_matrix(files[1], options.program, chromium)
    for file in files:
        print(f"{file.relative_to(ROOT)}: {file.stat().st_size:,} bytes")
    return 0 if sum(file.stat().st_size for file in files) <= MOST_BYTES else 1


if __name__ == "__main__":
    sys.exit(main())
