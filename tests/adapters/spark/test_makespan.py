"""Times of batches, by hand and against bounds that every schedule of them keeps."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headworks_spark.replay.makespan import StageRun, makespan


def stage(*seconds, after=(), nodes=()):
    return StageRun(parents=tuple(after), seconds=tuple(map(float, seconds)), nodes=tuple(nodes))


@pytest.mark.parametrize(
    ("stages", "cores", "seconds"),
    [
        ([], [1], 0.0),
        ([stage(1, 1, 1)], [2], 2.0),
        ([stage(3, 1, 1)], [2], 3.0),
        ([stage(1, 1, 3)], [2], 4.0),  # tasks begin in their order, as Spark's do
        ([stage(2, 2), stage(1, 1, after=[0])], [2], 3.0),
        ([stage(2), stage(3), stage(1, after=[0, 1])], [2], 4.0),  # both sides of a join at once
        ([stage(2), stage(3), stage(1, after=[0, 1])], [1], 6.0),
        ([stage(1, 2, 3, nodes=[0, 0, 1])], [1, 4], 3.0),
        ([stage(1, 1, 1, 1, nodes=[0, 0, 0, 0])], [1, 9], 4.0),
        ([stage(1, nodes=[1])], [1, 0], math.inf),
    ],
)
def test_a_batch_takes_what_its_tasks_take_one_after_the_other_on_each_core(stages, cores, seconds):
    assert makespan(stages, cores) == seconds


@given(st.data())
def test_no_batch_is_shorter_than_its_work_or_its_longest_chain_and_none_longer_than_on_one_core(data):
    count = data.draw(st.integers(1, 4))
    durations = st.lists(st.integers(0, 9), min_size=1, max_size=6)
    stages = [
        stage(*data.draw(durations), after=sorted(data.draw(st.sets(st.integers(0, index - 1)))) if index else ())
        for index in range(count)
    ]
    cores = data.draw(st.integers(1, 4))
    work = sum(sum(each.seconds) for each in stages)
    chains: list[float] = []
    for each in stages:
        chains.append(max(each.seconds) + max((chains[parent] for parent in each.parents), default=0.0))
    found = makespan(stages, [cores])
    assert max(work / cores, *chains) <= found <= work
    assert makespan(stages, [1]) == work
    on_one = [StageRun(parents=each.parents, seconds=each.seconds, nodes=(1,) * len(each.seconds)) for each in stages]
    assert makespan(on_one, [7, cores]) == found
