"""What flight recorders and timing traces say, one record per file; kernels and operators are summed up at reading.

A timing trace of one rank has a million events and more. Nothing after ingest needs them one by one, so a run
keeps ``TimeTrace``: times in seconds, each None where the trace cannot tell it (a trace of the CPU has no kernels).
"""

from __future__ import annotations

from analyzer.record import NamedTuple


class FlightGroup(NamedTuple):
    """What one rank's recorder says about one process group.

    Attributes:
        name: Name of the group, the same on all ranks.
        description: What the program calls it, for example ``TENSOR_MODEL_PARALLEL_GROUP``; may be empty.
        ranks: Global ranks of its members, empty if unknown.
        enqueued: Number of the last collective that the host issued; None if unknown.
        completed: Number of the last collective that the device finished; None if unknown.
        point_to_point: Whether it carries sends and receives, whose numbers differ between ranks by design.
    """

    name: str
    description: str
    ranks: tuple[int, ...]
    enqueued: int | None
    completed: int | None
    point_to_point: bool


class FlightStatus(NamedTuple):
    """A counter of one rank whose group its own file does not name; peers of the group do.

    Attributes:
        number: The number by which this rank calls the group (``pg_id``), counted in order of creation.
        enqueued: As in ``FlightGroup``.
        completed: As in ``FlightGroup``.
    """

    number: int
    enqueued: int | None
    completed: int | None


class FlightDump(NamedTuple):
    """The dump of one rank. Its collectives stand in ``Run.collectives_trace``.

    Attributes:
        rank: Global rank, None if neither the name of the file nor its groups tell it.
        source: Index into ``Run.sources``.
        version: Version of the format as written.
        groups: Groups of which the rank is a member, with their counters where the file itself links them.
        statuses: All counters of the file.
        numbers: Name of a group to the number by which this rank calls it, where an entry says so.
        entries: Number of collectives in the file.
    """

    rank: int | None
    source: int
    version: str
    groups: tuple[FlightGroup, ...]
    statuses: tuple[FlightStatus, ...]
    numbers: tuple[tuple[str, int], ...]
    entries: int


class TimeTrace(NamedTuple):
    """One timing trace (Kineto) of one rank, summed up; times in seconds.

    The window reaches from the first to the last event of the device. Its parts add up to it: compute, exposed
    communication, exposed copies, idle. Idle time is split by the next kernel's launch: before the host issued
    it (``host_wait_s``) and after (``kernel_wait_s``); the rest is unknown.

    Attributes:
        rank: Global rank, None if unknown.
        source: Index into ``Run.sources``.
        events: Events with a duration.
        complete: False if the file ends in the middle or only a part of it was read.
        span_s: From the first to the last event of any kind.
        steps: Marks ``ProfilerStep#n``.
        step_median_s: Median of their durations.
        window_s: Time between the first and the last event of the device; None without a device.
        compute_s: Time in which at least one kernel computes.
        communication_s: Time in which at least one communication kernel runs.
        exposed_communication_s: The part of it in which nothing computes.
        exposed_copy_s: Time in which a copy or fill, but neither computation nor communication, runs.
        host_copy_s: Time in which at least one copy from the host runs.
        idle_s: Time in which the device does nothing.
        host_wait_s: Idle time before the host launched what comes next.
        kernel_wait_s: Idle time after the launch.
        kernels: Number of kernels that compute.
        kernel_median_s: Median duration of them.
        launch_median_s: Median duration of the host's launch calls.
        shorter_than_launch: Share of these kernels that take less time than their own launch call.
        sync_s: Time that host threads spend in calls that wait for the device.
        data_s: Time in which a loader is asked for the next batch.
        pageable_share: Share of the bytes' time of host copies that comes from memory that is not pinned.
        top_operator: Operator of the host whose kernels take most time.
        top_operator_s: Their time.
        top_operator_record: Id of the record of its longest call, by which an execution trace knows it.
        top_kernel: Kernel that takes most time in total.
    """

    rank: int | None
    source: int
    events: int
    complete: bool
    span_s: float
    steps: int = 0
    step_median_s: float | None = None
    window_s: float | None = None
    compute_s: float | None = None
    communication_s: float | None = None
    exposed_communication_s: float | None = None
    exposed_copy_s: float | None = None
    host_copy_s: float | None = None
    idle_s: float | None = None
    host_wait_s: float | None = None
    kernel_wait_s: float | None = None
    kernels: int = 0
    kernel_median_s: float | None = None
    launch_median_s: float | None = None
    shorter_than_launch: float | None = None
    sync_s: float | None = None
    data_s: float | None = None
    pageable_share: float | None = None
    top_operator: str = ""
    top_operator_s: float | None = None
    top_operator_record: int | None = None
    top_kernel: str = ""


class OperatorShapes(NamedTuple):
    """Inputs of the operators of one execution trace, by the id of their record (``rf_id``).

    Attributes:
        source: Index into ``Run.sources``.
        nodes: Nodes in the trace.
        rank: Global rank, None if unknown.
        inputs: Record id to operator and the shapes and types of its inputs in words.
    """

    source: int
    nodes: int
    rank: int | None
    inputs: dict[int, tuple[str, str]]
