"""Asks an installed framework with a module of this folder. Reads calls as JSON lines from standard input, and writes
answers as lines to standard output."""
import importlib
import json
import os
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

if __name__ == "__main__":
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # output of the framework is not an answer
    gate = importlib.import_module(sys.argv[1]).Gate(sys.argv[2])
    for line in sys.stdin:
        asked = json.loads(line)
        print(json.dumps(gate.ask(asked["call"], asked["sm"], asked["cudnn"])), file=answers, flush=True)
