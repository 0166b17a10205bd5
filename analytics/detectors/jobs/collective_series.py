"""The series of collectives of running jobs, and the baselines that each is compared with."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analytics.detectors.jobs.collective_classes import CollectiveClass, class_of, reference_of
from analytics.view.tick_view import TickView
from telemetry import objects
from telemetry.objects import ObjectKind

METRIC = "nccl_bus_bandwidth_bytes_per_second"
_BASELINE = "nccl-tests"  # the communicator of all baselines (telemetry/catalogue/systems/nccl_tests.yaml)
_BYTES_MIN = 1 << 20  # below some hundred KB latency decides, and not bandwidth
_NO_JOB = frozenset({"", "unknown"})  # as Inspector spells it outside of Slurm
_GPU = frozenset({"index", "rank"})  # of Inspector's textfile, and of its records
_HOST, _JOB_ID = f"{ObjectKind.DEVICE}:", 'job_id="'
Ints = NDArray[np.int64]


class ComparedSeries(NamedTuple):
    """Baselines in t series of c classes; what is compared with them, in k series of g groups. A group is what the GPUs
    of one communicator do with one operation, size and algorithm; of one on a single host, what those of one host do.

    tests: int64[t], series; test_class: int64[t]. classes: c.
    sids: int64[k], series; group: int64[k]. job: int64[g], object; reference: int64[g], class of the baseline.
    """

    tests: Ints
    test_class: Ints
    classes: int
    sids: Ints
    group: Ints
    job: Ints
    reference: Ints


class _Line(NamedTuple):
    """What a series is, but for its job, host and GPU. test: its class of baselines, reference: the one that it is
    compared with; -1 for none. number: the same for all GPUs of a communicator. on_one_host: its communicator."""

    test: int
    reference: int
    number: int
    on_one_host: bool


def compared_series(view: TickView) -> ComparedSeries:
    """By labels and topology; those that differ by host and job alone are read once."""
    sids = view.column(METRIC).sids
    _, first, line = np.unique(view.index.columns["variant"][sids], return_index=True, return_inverse=True)
    lines = _lines([view.index.labels(sid) for sid in sids[first].tolist()])
    columns = np.array(lines, np.int64).reshape(-1, len(_Line._fields))[line]
    test, reference, number, on_one_host = columns.T
    job = np.full(sids.size, -1)
    rows = np.flatnonzero(reference >= 0)
    job[rows] = _jobs(view, sids[rows])
    rows = np.flatnonzero(job >= 0)
    host = np.where(on_one_host[rows], view.index.columns["object"][sids[rows]], -1)
    groups, at, group = np.unique(
        np.stack([job[rows], number[rows], host], axis=1), axis=0, return_index=True, return_inverse=True
    )
    tests = np.flatnonzero(test >= 0)
    return ComparedSeries(
        tests=sids[tests],
        test_class=test[tests],
        classes=1 + int(test.max(initial=-1)),
        sids=sids[rows],
        group=group.reshape(-1),
        job=groups[:, 0],
        reference=reference[rows[at]],
    )


def _lines(labels: Sequence[Mapping[str, str]]) -> list[_Line]:
    classes = [class_of(each) for each in labels]
    is_test = [each.get("communicator") == _BASELINE for each in labels]
    tested: dict[CollectiveClass, int] = {}
    by_op: defaultdict[str, list[CollectiveClass]] = defaultdict(list)
    for found, test in zip(classes, is_test, strict=True):
        if test and found and found not in tested:
            tested[found] = len(tested)
            by_op[found.op].append(found)
    numbers: dict[tuple[tuple[str, str], ...], int] = {}
    lines = []
    for each, found, test in zip(labels, classes, is_test, strict=True):
        reference = None if test or found is None or found.size_bytes < _BYTES_MIN else found
        like = reference_of(reference, by_op[reference.op]) if reference else None
        name = tuple(sorted((label, value) for label, value in each.items() if label not in _GPU))
        lines.append(
            _Line(
                test=tested.get(found, -1) if test and found else -1,
                reference=tested[like] if like else -1,
                number=numbers.setdefault(name, len(numbers)),
                on_one_host=found is not None and found.nodes == 1,
            )
        )
    return lines


def _jobs(view: TickView, sids: Ints) -> list[int]:
    """Object of the running job of each series, -1 for none. Where the series names none it is the only one of its
    host."""
    jobs = view.topology_index.jobs
    number_of = {job.job_id: view.index.object_number(objects.job(job.job_id)) for job in jobs}
    on_host: defaultdict[str, set[int]] = defaultdict(set)
    for job in jobs:
        for host in job.nodes:
            on_host[host].add(number_of[job.job_id])
    only = {host: next(iter(numbers)) for host, numbers in on_host.items() if len(numbers) == 1}
    keys, names = view.index.keys, view.index.objects.names

    def job_of(sid: int, host: int) -> int:
        job_id = keys[sid].partition(_JOB_ID)[2].partition('"')[0]
        if job_id in _NO_JOB:
            return only.get(names[host].removeprefix(_HOST), -1)
        return number_of.get(job_id, -1)

    hosts = view.index.columns["object"][sids].tolist()
    return [job_of(sid, host) for sid, host in zip(sids.tolist(), hosts, strict=True)]
