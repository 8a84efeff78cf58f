"""Runs programs that consist of several parts: `scripts/check floors` runs scripts/checks/floors.py."""
import os
import pathlib
import runpy
import sys

SCRIPTS = pathlib.Path(__file__).resolve().parents[1]


def run(program, about, parts):
    """Runs the part that the command line names. `parts` has the file of each part, below scripts/, and a line that describes it."""
    wanted = sys.argv[1] if len(sys.argv) > 1 else "--help"
    if wanted in ("-h", "--help"):
        sys.exit(print(about.strip(), "", *(f"  {program} {name:<10} {line}" for name, (_, line) in parts.items()), sep="\n"))
    if wanted not in parts:
        print(f"{program}: unknown part {wanted}; allowed: {', '.join(parts)}", file=sys.stderr)
        sys.exit(2)
    path = SCRIPTS / parts[wanted][0]
    if path.suffix != ".py":
        os.execv(path, [str(path), *sys.argv[2:]])
    sys.argv[:2] = [f"{program} {wanted}"]
    sys.dont_write_bytecode = True
    sys.path[:1] = [str(path.parent), str(SCRIPTS / "modules")]
    runpy.run_path(str(path), run_name="__main__")
