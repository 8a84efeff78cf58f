#!/bin/sh
# Compares cuDNN's answers for the configs of this repository with a committed lock file. Exit code 0: nothing got
# worse, 1: something did. Needs no GPU.
#
#   ./baseline.sh             # in any CI, or as a hook
#   ./baseline.sh --update    # writes the lock; commit it
#
# Change first: the configs, the GPUs, the lock's name.
set -eu
[ -x .attnprobe-venv/bin/attnprobe ] || {
  python3 -m venv .attnprobe-venv
  .attnprobe-venv/bin/pip install --quiet attnprobe
}
export ATTNPROBE_FETCH=always  # download a cuDNN if none is installed
exec .attnprobe-venv/bin/attnprobe matrix attention/*.json --target h100,b200,l40s,rtx4090 --baseline attention/attention.lock "$@"
