"""What flight recorders and timing traces say, one record per file; kernels and operators are summed up at reading.

A timing trace of one rank has a million events and more. Nothing after ingest needs them one by one, so a run
keeps ``TimeTrace``: times in seconds, each None where the trace cannot tell it (a trace of the CPU has no kernels).
"""

from __future__ import annotations

from analyzer.record import NamedTuple


class FlightGroup(NamedTuple):
    """What one rank's recorder says about one process group."""

    name: str  # name of the group, the same on all ranks
    description: str  # what the program calls it, for example ``TENSOR_MODEL_PARALLEL_GROUP``; may be empty
    ranks: tuple[int, ...]  # global ranks of its members, empty if unknown
    enqueued: int | None  # number of the last collective that the host issued; None if unknown
    completed: int | None  # number of the last collective that the device finished; None if unknown
    # whether it carries sends and receives, whose numbers differ between ranks by design
    point_to_point: bool


class FlightStatus(NamedTuple):
    """A counter of one rank whose group its own file does not name; peers of the group do."""

    number: int  # the number by which this rank calls the group (``pg_id``), counted in order of creation
    enqueued: int | None  # as in ``FlightGroup``
    completed: int | None  # as in ``FlightGroup``


class FlightDump(NamedTuple):
    """The dump of one rank. Its collectives stand in ``Run.collectives_trace``."""

    rank: int | None  # global rank, None if neither the name of the file nor its groups tell it
    source: int  # index into ``Run.sources``
    version: str  # version of the format as written
    # groups of which the rank is a member, with their counters where the file itself links them
    groups: tuple[FlightGroup, ...]
    statuses: tuple[FlightStatus, ...]  # all counters of the file
    # name of a group to the number by which this rank calls it, where an entry says so
    numbers: tuple[tuple[str, int], ...]
    entries: int  # number of collectives in the file


class TimeTrace(NamedTuple):
    """One timing trace (Kineto) of one rank, summed up; times in seconds.

    The window reaches from the first to the last event of the device. Its parts add up to it: compute, exposed
    communication, exposed copies, idle. Idle time is split by the next kernel's launch: before the host issued
    it (``host_wait_s``) and after (``kernel_wait_s``); the rest is unknown.
    """

    rank: int | None  # global rank, None if unknown
    source: int  # index into ``Run.sources``
    events: int  # events with a duration
    complete: bool  # false if the file ends in the middle or only a part of it was read
    span_s: float  # from the first to the last event of any kind
    steps: int = 0  # marks ``ProfilerStep#n``
    step_median_s: float | None = None  # median of their durations
    # time between the first and the last event of the device; None without a device
    window_s: float | None = None
    compute_s: float | None = None  # time in which at least one kernel computes
    communication_s: float | None = None  # time in which at least one communication kernel runs
    exposed_communication_s: float | None = None  # the part of it in which nothing computes
    # time in which a copy or fill, but neither computation nor communication, runs
    exposed_copy_s: float | None = None
    host_copy_s: float | None = None  # time in which at least one copy from the host runs
    idle_s: float | None = None  # time in which the device does nothing
    host_wait_s: float | None = None  # idle time before the host launched what comes next
    kernel_wait_s: float | None = None  # idle time after the launch
    kernels: int = 0  # number of kernels that compute
    kernel_median_s: float | None = None  # median duration of them
    launch_median_s: float | None = None  # median duration of the host's launch calls
    # share of these kernels that take less time than their own launch call
    shorter_than_launch: float | None = None
    sync_s: float | None = None  # time that host threads spend in calls that wait for the device
    data_s: float | None = None  # time in which a loader is asked for the next batch
    # share of the bytes' time of host copies that comes from memory that is not pinned
    pageable_share: float | None = None
    top_operator: str = ""  # operator of the host whose kernels take most time
    top_operator_s: float | None = None  # their time
    # id of the record of its longest call, by which an execution trace knows it
    top_operator_record: int | None = None
    top_kernel: str = ""  # kernel that takes most time in total


class OperatorShapes(NamedTuple):
    """Inputs of the operators of one execution trace, by the id of their record (``rf_id``)."""

    source: int  # index into ``Run.sources``
    nodes: int  # nodes in the trace
    rank: int | None  # global rank, None if unknown
    # record id to operator and the shapes and types of its inputs in words
    inputs: dict[int, tuple[str, str]]
