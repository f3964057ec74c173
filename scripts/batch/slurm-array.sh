#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A parameter study on a Slurm cluster: each task of an array makes its share of the runs.
#
#   sbatch --array=1-8 slurm-array.sh SWEEP FOLDER [OPTION…]
#
# SWEEP is a file of kind Sweep and FOLDER where the results go, both on a file system that all nodes see; options go to kvolsim
# sweep. KVOLSIM names the program if it is not in the PATH. Each task writes a file of its own, FOLDER/shard-N.sqlite, so no two
# nodes write into one. A task that is killed, preempted or requeued goes on where it was. When all are done:
#
#   kvolsim merge --out all.sqlite FOLDER/shard-*.sqlite
#
# or, in one go, as a job that waits for the array:
#
#   id=$(sbatch --parsable --array=1-8 slurm-array.sh SWEEP FOLDER)
#   sbatch --dependency=afterok:"$id" --wrap "kvolsim merge --out FOLDER/all.sqlite FOLDER/shard-*.sqlite"
#
#SBATCH --job-name=kvolsim-sweep
#SBATCH --array=1-8
#SBATCH --cpus-per-task=1
#SBATCH --requeue
#SBATCH --open-mode=append
set -eu
[ $# -ge 2 ] || { echo "usage: sbatch [--array=1-N] slurm-array.sh SWEEP FOLDER [OPTION…]" >&2; exit 2; }
sweep=$1
folder=$2
shift 2
: "${SLURM_ARRAY_TASK_ID:?is not set: give sbatch an --array}"

# Whatever the array counts from: --array=0-7 is as good. Gaps are not: the shards between would be missing.
shard=$((SLURM_ARRAY_TASK_ID - SLURM_ARRAY_TASK_MIN + 1))
n_shards=$SLURM_ARRAY_TASK_COUNT
[ "$((SLURM_ARRAY_TASK_MAX - SLURM_ARRAY_TASK_MIN + 1))" -eq "$n_shards" ] ||
    { echo "slurm-array.sh: the array must be without gaps, such as --array=1-8" >&2; exit 2; }

mkdir -p "$folder"
exec "${KVOLSIM:-kvolsim}" sweep "$sweep" --shard "$shard/$n_shards" -j "${SLURM_CPUS_PER_TASK:-1}" --resume \
    --out "$folder/shard-$shard.sqlite" "$@"
