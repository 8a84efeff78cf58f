#!/usr/bin/env bash
# Tests the Slurm scripts of docs/ci. It sets up a real one-node Slurm on this machine and runs a small matrix in four parts. The merged
# report must equal the report of the whole matrix.
#
#   scripts/check slurm        after a build; exit code 0: they agree
#
# Installs Debian's slurm-wlm and munge if they are missing, and does not remove them. The daemons use separate keys, ports and
# folders, and end with this script. A Slurm that is already installed is not touched.
set -euo pipefail
shopt -s nullglob
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
PATH=$PATH:/usr/sbin:/sbin

fail() { echo "FAILED: $*" >&2; exit 1; }
if (($#)); then sed -n '2,/^set/{/^set/!s/^# \{0,1\}//p}' "$0"; exit 2; fi
[[ -x $root/build/attnprobe ]] || fail "there is no build/attnprobe; build it first: scripts/quickstart"

if ! command -v slurmctld slurmd sbatch munged >/dev/null; then
  echo "installing slurm-wlm and munge"
  sudo=(); ((EUID == 0)) || sudo=(sudo)
  "${sudo[@]}" apt-get update -qq
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends slurm-wlm munge >/dev/null
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/attnprobe-slurm.XXXXXX")
daemons=()
clean_up() {
  local code=$? daemon log
  if ((code)); then for log in "$work"/*.log "$work"/slurm/*.log; do echo "--- ${log#"$work"/}"; tail -n 15 "$log"; done >&2; fi
  # Cancels only this cluster's jobs. The daemons end later, because they would leave the jobs' processes behind.
  if ((${#daemons[@]} == 3)); then timeout 10 scancel --user="$(id -un)" 2>/dev/null || true; fi
  for daemon in "${daemons[@]}"; do kill "$daemon" 2>/dev/null || true; done
  wait
  rm -rf "$work"
}
trap clean_up EXIT
chmod 711 "$work"  # required by munged: any user may use its socket
mkdir -m 755 "$work"/slurm "$work"/slurm/{state,spool}
export SLURM_CONF=$work/slurm/slurm.conf
me=$(id -un) host=$(hostname -s)

# --- one node, which is also the controller
head -c 1024 /dev/urandom >"$work/slurm/munge.key"
chmod 600 "$work/slurm/munge.key"
cat >"$SLURM_CONF" <<END
ClusterName=check
SlurmctldHost=$host(127.0.0.1)
SlurmUser=$me
SlurmdUser=$me
SlurmctldPort=26817
SlurmdPort=26818
AuthType=auth/munge
AuthInfo=socket=$work/slurm/munge.socket
CredType=cred/munge
StateSaveLocation=$work/slurm/state
SlurmdSpoolDir=$work/slurm/spool
SlurmctldPidFile=$work/slurm/slurmctld.pid
SlurmdPidFile=$work/slurm/slurmd.pid
# No cgroups: containers rarely allow them.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
# Start jobs immediately instead of at the next round, and kill them quickly.
SchedulerParameters=sched_min_interval=0,batch_sched_delay=0
KillWait=2
NodeName=$host NodeAddr=127.0.0.1 $(slurmd -C | grep -oE '(CPUs|Boards|SocketsPerBoard|CoresPerSocket|ThreadsPerCore|RealMemory)=[0-9]+' | tr '\n' ' ')
PartitionName=check Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
munged --foreground --key-file="$work/slurm/munge.key" --socket="$work/slurm/munge.socket" --pid-file="$work/slurm/munged.pid" \
  --seed-file="$work/slurm/munged.seed" --log-file="$work/slurm/munged.log" 2>"$work/slurm/munged-start.log" &
daemons+=($!)
until [[ -S $work/slurm/munge.socket ]]; do kill -0 "${daemons[0]}" 2>/dev/null || fail "munged ended"; sleep 0.1; done
slurmctld -D >"$work/slurm/slurmctld.log" 2>&1 &
daemons+=($!)
slurmd -D -N "$host" >"$work/slurm/slurmd.log" 2>&1 &
daemons+=($!)
for ((tries = 0; ; tries++)); do
  state=$(timeout 5 sinfo --noheader --format=%T 2>/dev/null || true)
  [[ $state == idle ]] && break
  ((tries < 60)) || fail "the node does not become idle; it is ${state:-unknown}"
  sleep 0.5
done
echo "ok  Slurm $(sinfo --version | cut -d' ' -f2) runs on one node with $(nproc) cores"

# --- the matrix; the repository's folders are linked, so that reports and logs stay out of the repository
cd "$work"
for folder in build configs docs; do ln -s "$root/$folder" .; done
# All kinds of answers. One is not as expected, so the exit code is not 0.
cat >small.json <<'END'
{
  "targets": ["h200", "l40s"],
  "defaults": {"head_dim": 64, "dtype": "f16", "expect": "any"},
  "configs": [
    {"name": "bert-base", "pass": ["fprop", "fprop_train", "bprop"], "batch": 8, "heads": 12, "seqlen": 512, "mask": "padding"},
    {"name": "gpt2", "pass": ["fprop", "bprop"], "batch": 8, "heads": 12, "seqlen": 1024, "mask": "causal"},
    {"name": "odd-head", "batch": 1, "heads": 8, "seqlen": 512, "head_dim": 100},
    {"name": "not-as-expected", "batch": 1, "heads": 8, "seqlen": 512, "head_dim": 7, "expect": "supported"}
  ]
}
END
whole=0
build/attnprobe matrix small.json --no-cache --out whole >whole.log 2>&1 || whole=$?
[[ $whole == 1 ]] || fail "the matrix in one piece: exit code $whole instead of 1"
echo "ok  the matrix in one piece: $(grep -c '"cell":' whole/cells.jsonl) cells"

job=$(sbatch --parsable --array=1-4 --cpus-per-task=1 docs/ci/slurm-array.sbatch small.json)
merged=0
timeout 600 sbatch --wait --dependency="afterany:$job" docs/ci/slurm-merge.sbatch "matrix-$job" --title small >wait.log 2>&1 || merged=$?
for part in 1 2 3 4; do [[ -e matrix-$job/$part-of-4/complete ]] || fail "part $part of 4 is not complete"; done
echo "ok  four parts as array job $job: $(grep -hc '"cell":' matrix-"$job"/*-of-4/cells.jsonl | paste -sd+) cells"
[[ $merged == "$whole" ]] || fail "exit code $merged of the merge job, $whole of the matrix in one piece"
echo "ok  the merge job waited for them; exit code $merged, as in one piece"

for file in whole/report.* whole/index.html; do
  cmp "$file" "matrix-$job/report/${file#whole/}" || fail "${file#whole/} of the merged report differs"
done
echo "ok  the merged report is the report in one piece, byte for byte: $(cd whole && echo report.* index.html)"

rm "matrix-$job/3-of-4/complete"
missing=0
bash docs/ci/slurm-merge.sbatch "matrix-$job" 2>missing.log || missing=$?
[[ $missing == 3 && $(<missing.log) == *": 3."* ]] || fail "a missing part: exit code $missing, $(<missing.log)"
echo "ok  a missing part is named, exit code 3"
