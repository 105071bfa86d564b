"""Last words of schedulers and platforms, and what only looks like them."""

import pytest
from log_reading import read_text

from analyzer.ingest.text.prefixes import peel

LINES = [
    ("slurm_cancelled", "root_candidate", {"reason": "PREEMPTION"}, "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-05-19T13:33:12 DUE TO PREEMPTION ***"),
    ("slurm_cancelled", "root_candidate", {"reason": "NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS"},
     "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-05-19T13:33:12 DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***"),
    ("slurm_cancelled", "root_candidate", {"reason": "SIGNAL Terminated"}, "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-05-19T13:33:12 DUE to SIGNAL Terminated ***"),
    ("slurm_cancelled", "root_candidate", {"reason": "TIME LIMIT"}, "slurmstepd: error: *** STEP 7.0 CANCELLED AT 2026-05-19T13:33:12 DUE TO TIME LIMIT ***"),
    ("job_time_limit", "root_candidate", {"job": "7"}, "salloc: Job 7 has exceeded its time limit and its allocation has been revoked."),
    ("job_time_limit", "root_candidate", {"job": "7"}, "7|train|TIMEOUT|0:0|2026-05-19T13:33:12"),
    ("slurm_step_cancelled", "teardown", {"job": "7.0"}, "slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-05-19T13:33:12 ***"),
    ("slurm_step_cancelled", "teardown", {"unit": "STEP"}, "slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-05-19T13:33:12 DUE TO TASK FAILURE ***"),
    ("slurm_step_failed", "cascade", {"host": "n1"}, "slurmstepd: error: *** STEP 7.0 ON n1 FAILED (non-zero exit code or other failure mode) ***"),
    ("slurm_task_failed", "cascade", {"code": 1, "tasks": "9-10,12", "host": "n1"}, "srun: error: n1: tasks 9-10,12: Exited with exit code 1"),
    ("slurm_task_failed", "cascade", {"outcome": "Segmentation fault", "core": "(core dumped)"}, "srun: error: n1: task 3: Segmentation fault (core dumped)"),
    ("slurm_step_aborted", "teardown", {}, "srun: Job step aborted: Waiting up to 32 seconds for job step to finish."),
    ("slurm_step_aborted", "teardown", {"job": "7.0"}, "srun: Force Terminated StepId=7.0"),
    ("job_cancelled", "root_candidate", {"job": "7"}, "srun: Job allocation 7 has been revoked"),
    ("job_not_started", "root_candidate", {"host": "n3"}, "srun: error: Task launch for StepId=7.0 failed on node n3: Job credential expired"),
    ("argument_rejected", "root_candidate", {"argument": "account or account"}, "sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified"),
    ("argument_rejected", "root_candidate", {}, "sbatch: error: Batch job submission failed: Requested GRES option unsupported by configured SelectType plugin"),
    ("argument_rejected", "root_candidate", {}, "sbatch: error: Batch job submission failed: Invalid Trackable RESource (TRES) specification"),
    ("argument_rejected", "root_candidate", {}, "sbatch: error: Batch job submission failed: User's group not permitted to use this partition"),
    ("argument_rejected", "root_candidate", {}, "srun: error: Unable to create step for job 7: Invalid generic resource (gres) specification"),
    ("argument_rejected", "root_candidate", {}, "qsub: Illegal attribute or resource value Resource_List.walltime"),
    ("job_not_started", "root_candidate", {}, "srun: error: Unable to create step for job 7: Job/step already completing or completed"),
    ("job_not_started", "root_candidate", {}, "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation"),
    ("resources_unavailable", "root_candidate", {}, "sbatch: error: Batch job submission failed: Requested node configuration is not available"),
    ("resources_unavailable", "root_candidate", {"asked": "{'CPU': 1.0, 'GPU': 1.0}"}, "(autoscaler +32s) Error: No available node types can fulfill resource request {'CPU': 1.0, 'GPU': 1.0}. Add suitable node types."),
    ("resources_unavailable", "root_candidate", {"asked": "4 CPUs, 1 GPUs"}, "TuneError: Insufficient cluster resources to launch trial: trial requested 4 CPUs, 1 GPUs but the cluster has only 4 CPUs, 0 GPUs."),
    ("resources_unavailable", "root_candidate", {"asked": "2.0 cpu and 4.0 gpu"}, "You asked for 2.0 cpu and 4.0 gpu per trial, but the cluster only has 8.0 cpu and 2.0 gpu."),
    ("resources_unavailable", "symptom", {"asked": "{'CPU': 2.0, 'GPU': 2.0}"},
     "(autoscaler +3m5s) Warning: The following resource request cannot be scheduled right now: defaultdict(<class 'float'>, {'CPU': 2.0, 'GPU': 2.0}). This is likely due to all cluster resources being claimed by actors."),
    ("job_cancelled", "root_candidate", {"job": "88123"}, "## OAR [2026-05-19 13:33:12] Job 88123 KILLED ##"),
    ("node_failure", "root_candidate", {"host": "n7"}, "srun: error: Node failure on n7"),
    ("job_signal_notice", "info", {"what": "preempted"}, "submitit WARNING (2026-05-19 13:33:12,453) - Caught signal SIGUSR2 on n1: this job is preempted."),
    ("job_time_limit", "root_candidate", {"used": "3601", "limit": "3600"}, "=>> PBS: job killed: walltime 3601 exceeded limit 3600"),
    ("job_memory_limit", "root_candidate", {"resource": "vmem", "limit": "32gb"}, "=>> PBS: job killed: vmem 34gb exceeded limit 32gb"),
    ("job_memory_limit", "root_candidate", {"resource": "mem", "limit": "10 kb"}, "=>> PBS: job killed: mem job total 34 kb exceeded limit 10 kb"),
    ("process_limit", "root_candidate", {"used": 39.46, "limit": 32}, "=>> PBS: job killed: ncpus 39.46 exceeded limit 32 (sum)"),
    ("job_time_limit", "root_candidate", {"term": "RUNLIMIT"}, "TERM_RUNLIMIT: job killed after reaching LSF run time limit."),
    ("job_memory_limit", "root_candidate", {"term": "MEMLIMIT"}, "TERM_MEMLIMIT: job killed after reaching LSF memory usage limit."),
    ("job_cancelled", "root_candidate", {"by": "OWNER"}, "TERM_OWNER: job killed by owner."),
    ("job_failed", "cascade", {"exit_code": 143}, "Exited with exit code 143."),
    ("job_memory_limit", "root_candidate", {"resource": "h_vmem", "used": "8.1G"}, 'job 7.1 exceeded job hard limit "h_vmem" of queue "gpu.q@n1" (8.1G > limit:8.0G) - sending SIGKILL'),
    ("job_time_limit", "root_candidate", {"queue": "gpu.q@n1"}, 'job 7.1 exceeded job hard limit "h_rt" of queue "gpu.q@n1"'),
    ("job_failed", "cascade", {"signal_number": 9}, "Command terminated by signal 9"),
    ("sigkill", "root_candidate", {}, "Command terminated by signal 9"),
    ("pod_evicted", "root_candidate", {"resource": "ephemeral-storage"},
     "  Warning  Evicted  1m  kubelet  The node was low on resource: ephemeral-storage. Threshold quantity: 1Gi, available: 0."),
    ("pod_evicted", "root_candidate", {"reason": "Evicted"}, "Reason:           Evicted"),
    ("job_time_limit", "root_candidate", {}, "  Warning  DeadlineExceeded  1m  job-controller  Job was active longer than specified deadline"),
    ("pod_waiting", "symptom", {"reason": "FailedScheduling", "short": "Insufficient nvidia.com/gpu"},
     "  Warning  FailedScheduling  6m  default-scheduler  0/12 nodes are available: 12 Insufficient nvidia.com/gpu."),
    ("job_not_started", "root_candidate", {"reason": "ImagePullBackOff"}, "    Reason:       ImagePullBackOff"),
    ("pod_well", "info", {}, "fit-worker-1   2/2   Running   1 (3h ago)   9h"),
    ("program_missing", "root_candidate", {}, "CreateProcess failed: The system cannot find the file specified."),
    ("pod_restarting", "cascade", {"container": "pytorch"}, "  Warning  BackOff  2m  kubelet  Back-off restarting failed container pytorch in pod train-0"),
    ("job_failed", "cascade", {"exit_code": 1, "container": "trainer-1"}, "trainer-1 exited with code 1"),
    ("job_failed", "cascade", {"status": 1}, "The replica workerpool0-0 exited with a non-zero status of 1."),
    ("job_memory_limit", "root_candidate", {"replica": "workerpool0-0"}, "The replica workerpool0-0 ran out-of-memory and exited with a non-zero status of 137(SIGKILL)."),
    ("job_failed", "cascade", {"replicas": 1, "replica": "Worker"}, "PyTorchJob train is failed because 1 Worker replica(s) failed."),
    ("job_failed", "cascade", {"exit_code": 1}, 'AlgorithmError: ExecuteUserScriptError: ExitCode 1 ErrorMessage "RuntimeError: x"'),
    ("job_preempted", "root_candidate", {}, "Instance was preempted."),
    ("ray_worker_died", "symptom", {"exit_type": "SYSTEM_ERROR"}, "Worker exit type: SYSTEM_ERROR Worker exit detail: The worker was killed by the OOM killer."),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "role", "fields", "line"), LINES)
def test_what_a_line_says(kind, role, fields, line):
    events = read_text(line + "\n").events.of(kind)

    assert len(events) == 1
    assert events[0].role == role
    assert fields.items() <= dict(events[0].fields).items()


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("pod_evicted", 'rpc error: code = DeadlineExceeded desc = "context deadline exceeded"'),
        ("job_time_limit", 'rpc error: code = DeadlineExceeded desc = "context deadline exceeded"'),
        ("job_time_limit", "#$ -l h_rt=24:00:00"),
        ("pod_well", "fit-worker-1   0/2   CrashLoopBackOff   9 (3m ago)   9h"),
        ("address_not_ours", "bind [::1]:8097: Cannot assign requested address"),
        ("address_not_ours", "TensorBoard could not bind to 10.0.0.8:6007, Cannot assign requested address"),
        ("program_missing", "CreateProcess failed: Access is denied."),
        ("program_missing", "CreateProcess failed: The filename or extension is too long."),
        ("no_accelerator", "CUDA SETUP: WARNING! libcuda.so not found! Do you have a CUDA driver installed?"),
        ("job_failed", "trainer-1 exited with code 0"),
        ("job_failed", "srun: error: n1: task 3: Exited with exit code 1"),
        ("slurm_cancelled", "slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-05-19T13:33:12 ***"),
        ("pod_evicted", "Evicted 3 entries from the cache"),
        ("job_preempted", "scheduler: preempted 2 sequences, recomputing"),
        ("resources_unavailable", "2 nodes are available"),
        ("resources_unavailable", "You asked for 4 trials, but the cluster only has run 3 so far"),
        (
            "job_not_started",
            "sbatch: error: Batch job submission failed: Requested node configuration is not available",
        ),
    ],
)
def test_what_only_looks_like_it(kind, line):
    assert not read_text(line + "\n").events.of(kind)


@pytest.mark.parametrize(
    ("line", "rank", "host"),
    [
        ("[1,3]<stderr>:loss is here", 3, ""),
        ("[prterun-node-a-77@1,3]<stderr>: loss is here", 3, ""),
        ("[pod/train-worker-0/pytorch] loss is here", None, "train-worker-0"),
        ("trainer-1  | loss is here", None, "trainer-1"),
        ("node7: loss is here", None, "node7"),
        ("(head, rank=0, pid=77) loss is here", None, ""),
        ("[trainer0]:loss is here", None, ""),
        ("(raylet, ip=10.0.0.1) loss is here", None, "10.0.0.1"),
    ],
)
def test_prefixes_of_launchers_are_peeled(line, rank, host):
    peeled = peel(line)

    assert (peeled.text, peeled.rank, peeled.host) == ("loss is here", rank, host)


@pytest.mark.parametrize("line", ["[1,3] loss", "node: loss", "step-3 | loss", "computed7x: loss", "a | b"])
def test_text_that_only_begins_like_a_prefix_stays(line):
    assert peel(line).text == line
