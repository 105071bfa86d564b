#!/bin/bash
# Epilog of Slurm (slurm.conf: Epilog=/etc/slurm/analyzer-epilog.sh): why the job that has just ended did not go well.
# It never fails and never takes more than two minutes: a node whose epilog fails is drained.
set -u
ANALYZER=${ANALYZER:-analyzer}
log=$(scontrol show job "$SLURM_JOB_ID" 2>/dev/null | sed -n 's/^ *StdOut=//p')
[ -f "$log" ] || exit 0

# as the user: the epilog runs as root, and a log must never be read or written with more rights than its owner has
run_as_user() { runuser -u "$SLURM_JOB_USER" -- timeout 100 "$@"; }

page="${log%.*}.analyzer.html"
said=$(run_as_user "$ANALYZER" diagnose "$log" --offline -o "$page" --fail-on likely 2>&1)
case $? in
  0) run_as_user rm -f "$page" ;;
  1) run_as_user bash -c 'echo "analyzer: a fault is likely, see $1" >> "$2"' _ "$page" "$log" ;;
  3) ;; # nothing in the log that could be read
  *) logger -t analyzer-epilog "job $SLURM_JOB_ID: ${said:0:300}" ;; # not installed, no right to run it, out of time
esac
exit 0
