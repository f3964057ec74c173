#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# scripts/batch/slurm-array.sh with a real slurmctld and slurmd: provisioner-tuning in eight tasks, one of which is killed on its way and
# requeued, merges to the rows that one local run has. All happens in namespaces of its own: no port, process or host name of the
# machine is touched, and whatever happens the daemons end with them.
#   slurm.sh [REPLICATIONS]: 3 if none are given, which is quick; make soak takes 20, as many as the sweep has
set -u
n_tasks=8
killed=3
replications=${1:-3}
if [ "${KVOLSIM_SANITIZERS:-no}" = yes ]; then replications=2; fi

skip()
{
    echo "skipped: $1"
    exit 77
}

if [ "${KVOLSIM_SLURM_INSIDE:-}" = "" ]; then
    for command in slurmctld slurmd sbatch squeue scontrol ip unshare hostname; do
        command -v "$command" >/dev/null || skip "no $command (Debian: apt-get install slurmctld slurmd iproute2)"
    done
    [ "$(id -u)" -eq 0 ] || skip "needs root, for namespaces of its own"
    spaces="--net --pid --uts --mount --ipc --fork --kill-child --mount-proc"
    # shellcheck disable=SC2086 # a list of words
    unshare $spaces sh -c 'ip link set lo up && hostname kvolsim-test' 2>/dev/null || skip "no namespaces here"
    scratch=$(mktemp -d) || exit 1
    trap 'rm -rf "$scratch"' EXIT
    # shellcheck disable=SC2086
    KVOLSIM_SLURM_INSIDE=$scratch unshare $spaces "$0" "$replications"
    exit $?
fi

scratch=$KVOLSIM_SLURM_INSIDE
program=$KVOLSIM_BUILDDIR/kvolsim
sweep=$KVOLSIM_SRCDIR/scenarios/sweeps/provisioner-tuning.yaml
mkdir "$scratch/state" "$scratch/spool" "$scratch/shards"
ip link set lo up
ip addr add 192.0.2.1/32 dev lo # TEST-NET-1: with nothing but 127.0.0.1 there, the resolver finds no address at all
hostname kvolsim-test

fail()
{
    echo "failed: $1"
    tail -n 15 "$scratch/slurmctld.log" "$scratch/slurmd.log"
    for log in "$scratch"/task-*.log; do echo "$log:"; tail -n 5 "$log"; done
    exit 1
}

# wait_until SECONDS WHAT COMMAND…: a limit for what hangs, not a bound
wait_until()
{
    left=$(($1 * 5))
    what=$2
    shift 2
    until "$@" >/dev/null 2>&1; do
        left=$((left - 1))
        [ "$left" -gt 0 ] || fail "$what did not come about"
        sleep 0.2
    done
}

cat >"$scratch/slurm.conf" <<END
ClusterName=kvolsim
SlurmctldHost=kvolsim-test(127.0.0.1)
SlurmUser=root
AuthType=auth/none
CredType=cred/none
AuthInfo=cred_expire=5
StateSaveLocation=$scratch/state
SlurmdSpoolDir=$scratch/spool
SlurmctldPidFile=$scratch/slurmctld.pid
SlurmdPidFile=$scratch/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
MailProg=/bin/true
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
NodeName=node1 NodeHostname=kvolsim-test NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=all Nodes=node1 Default=YES MaxTime=INFINITE State=UP
END
SLURM_CONF=$scratch/slurm.conf
export SLURM_CONF
slurmctld -D >"$scratch/slurmctld.log" 2>&1 &
slurmd -D -N node1 >"$scratch/slurmd.log" 2>&1 &

"$program" sweep "$sweep" -j 2 --replications "$replications" --out "$scratch/local.sqlite" >"$scratch/local.log" 2>&1 ||
    fail "the local run: $(cat "$scratch/local.log")"

# The program, but the first time in one task: killed once it has begun to write, and its task with it.
cat >"$scratch/kvolsim" <<END
#!/bin/sh
if [ "\$SLURM_ARRAY_TASK_ID" = $killed ] && [ ! -e "$scratch/was-killed" ]; then
    "$program" "\$@" &
    until [ -s "$scratch/shards/shard-$killed.sqlite" ]; do sleep 0.02; done
    sleep 0.3
    kill -9 \$!
    touch "$scratch/was-killed"
    kill -9 \$\$
fi
exec "$program" "\$@"
END
chmod +x "$scratch/kvolsim"

node_is_idle() { sinfo -h -o %T | grep -qx idle; }
all_are_done() { [ -z "$(squeue -h -j "$job" -t PENDING,RUNNING,COMPLETING,CONFIGURING)" ]; }
# job_is TASK STATE
job_is() { scontrol show job "${job}_$1" | grep -q "JobState=$2 "; }

wait_until 300 "an idle node" node_is_idle
job=$(KVOLSIM=$scratch/kvolsim sbatch --parsable --array="1-$n_tasks" --output="$scratch/task-%a.log" \
    "$KVOLSIM_SRCDIR/scripts/batch/slurm-array.sh" "$sweep" "$scratch/shards" --replications "$replications") ||
    fail "sbatch"
wait_until 300 "the end of the array" all_are_done
job_is "$killed" FAILED || fail "task $killed was not killed"
[ -e "$scratch/was-killed" ] || fail "nobody was killed"

scontrol requeue "${job}_$killed" || fail "scontrol requeue"
wait_until 300 "the end of the requeued task" job_is "$killed" COMPLETED
scontrol show job "${job}_$killed" | grep -q 'Restarts=1 ' || fail "task $killed was not requeued"
task=1
while [ "$task" -le "$n_tasks" ]; do
    job_is "$task" COMPLETED || fail "task $task did not end well"
    task=$((task + 1))
done

"$program" merge --out "$scratch/merged.sqlite" "$scratch"/shards/shard-*.sqlite || fail "merge"
for which in local merged; do
    "$KVOLSIM_BUILDDIR/tests/run/study/print-rows" "$scratch/$which.sqlite" >"$scratch/$which.rows" || fail "print-rows"
done
[ "$(wc -l <"$scratch/local.rows")" -ge $((18 * replications * 7)) ] || fail "there are rows missing"
cmp "$scratch/local.rows" "$scratch/merged.rows" || fail "the rows differ"
echo "$n_tasks tasks, one killed and requeued: $(wc -l <"$scratch/merged.rows") rows, the same as of the local run"
