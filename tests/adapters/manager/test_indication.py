"""The rules by which triggers change indications."""

from __future__ import annotations

from itertools import pairwise

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headworks.errors import DocumentError
from headworks_manager.plain import time_text
from headworks_manager.rules.indication import (
    AHEAD,
    CHANGING,
    HOLD,
    Indication,
    Trigger,
    check_indication,
    check_trigger,
    merge,
    moment,
    next_sequence,
    sent_at,
    settled,
)

NOW = 1_800_000_000_000
PLAIN = Indication(name="t", priority=5, trigger_priority=1)


def deliver(steps, indication=PLAIN):
    """Merge triggers, each with the milliseconds after the one before it; the states on the way, and the verdicts."""
    now, last, verdicts, states = NOW, {}, [], []
    for pause, trigger in steps:
        now += pause
        made = merge(indication, trigger, last=last.get(trigger.source), now=now)
        if made.verdict in CHANGING:
            last[trigger.source] = next_sequence(trigger, last.get(trigger.source))
        indication = made.indication
        verdicts.append(made.verdict)
        states.append((now, indication))
    return verdicts, states


def on(number=None, source="bolt"):
    return Trigger(topology="t", on=True, sequence=number, source=source)


def off(number=None, source="bolt"):
    return Trigger(topology="t", on=False, sequence=number, source=source)


def test_a_first_trigger_takes_effect_at_once():
    verdicts, states = deliver([(0, on(1))])
    assert verdicts == ["on"]
    assert states[0][1].level == 1
    assert PLAIN.level == 5


def test_a_topology_without_a_priority_of_its_own_has_that_which_it_declares():
    assert Indication(name="t").level is None
    assert deliver([(0, on())], Indication(name="t"))[1][0][1].level == 0


def test_within_the_hold_a_trigger_waits_and_takes_effect_at_its_end():
    verdicts, states = deliver([(0, on(1)), (10_000, off(2))])
    assert verdicts == ["on", "pending"]
    left = states[-1][1]
    assert settled(left, NOW + HOLD - 1).active
    ended = settled(left, NOW + HOLD)
    assert (ended.active, ended.changed) == (False, NOW + HOLD)
    assert settled(left, NOW + 10 * HOLD).changed == NOW + HOLD


def test_what_waits_is_withdrawn_by_its_opposite():
    verdicts, states = deliver([(0, on(1)), (1, off(2)), (1, on(3)), (HOLD, on(4))])
    assert verdicts == ["on", "pending", "withdrawn", "renewed"]
    assert states[-1][1].changed == NOW


def test_at_once_does_not_wait():
    indication = deliver([(0, on(1))])[1][0][1]
    assert merge(indication, off(2), last=1, now=NOW + 1, at_once=True).verdict == "off"


def test_repeated_late_and_forged_triggers_change_nothing():
    verdicts, states = deliver([(0, on(7)), (HOLD, off(7)), (0, off(3)), (0, off(8))])
    assert verdicts == ["on", "repeated", "late", "off"]
    assert states[2][1] == states[0][1]
    forged = attrs.evolve(off(10**9), sent=time_text(NOW + AHEAD + 1))
    made = merge(PLAIN, forged, last=None, now=NOW)
    assert (made.verdict, made.indication) == ("ahead", PLAIN)
    assert merge(PLAIN, attrs.evolve(on(1), sent=time_text(NOW + AHEAD)), last=None, now=NOW).verdict == "on"


def test_a_change_in_the_far_future_of_another_clock_holds_nothing():
    ahead = attrs.evolve(PLAIN, active=True, wanted=True, changed=NOW + 365 * 86_400_000)
    assert merge(ahead, off(1), last=None, now=NOW).verdict == "off"


MINUTE = 60_000


@pytest.mark.parametrize(
    ("sent", "more", "changed", "expected"),
    [
        (None, True, None, NOW),
        (NOW - MINUTE, False, None, NOW),
        (NOW - AHEAD, False, None, NOW),
        (NOW - MINUTE, True, None, NOW - MINUTE),
        (NOW - 20 * MINUTE, False, None, NOW - 20 * MINUTE),
        (NOW - 20 * MINUTE, False, NOW - 10 * MINUTE, NOW - 10 * MINUTE),
        (NOW - 20 * MINUTE, True, NOW + MINUTE, NOW - 20 * MINUTE),
        (NOW + MINUTE, True, None, NOW),
    ],
)
def test_a_trigger_counts_when_it_was_sent_if_it_is_late_or_others_came_with_it(sent, more, changed, expected):
    sent = None if sent is None else time_text(sent)
    assert moment(attrs.evolve(on(), sent=sent), attrs.evolve(PLAIN, changed=changed), NOW, more=more) == expected


triggers = st.builds(
    Trigger,
    topology=st.just("t"),
    on=st.booleans(),
    source=st.sampled_from(["a", "b"]),
    sequence=st.integers(0, 8),
)
steps = st.lists(st.tuples(st.integers(0, 2 * HOLD), triggers), max_size=30)


@given(steps)
def test_changes_are_a_hold_apart_whatever_comes(given_steps):
    _, states = deliver(given_steps)
    ends = [(now + HOLD, settled(state, now + HOLD)) for now, state in states[-1:]]
    times = sorted({state.changed for _, state in (*states, *ends) if state.changed is not None})
    assert all(later - earlier >= HOLD for earlier, later in pairwise(times))
    for now, state in ends:
        assert state.active == state.wanted
        assert state.changed is None or state.changed <= now


@given(st.lists(st.booleans(), min_size=1, max_size=9), st.data())
def test_any_order_with_repetitions_ends_where_the_last_number_says(states, data):
    """The trigger with the largest number of a source decides, however the others are delivered, or not."""
    sent = [Trigger(topology="t", on=each, source="a", sequence=at) for at, each in enumerate(states)]
    delivered = data.draw(st.lists(st.sampled_from(sent), min_size=1, max_size=30))
    pauses = data.draw(st.lists(st.integers(0, HOLD), min_size=len(delivered), max_size=len(delivered)))
    _, after = deliver(list(zip(pauses, delivered, strict=True)))
    assert after[-1][1].wanted == max(delivered, key=lambda each: each.sequence).on


@pytest.mark.parametrize(
    ("changes", "pointer", "said"),
    [
        ({"priority": -1}, "/priority", "-1 does not fit: give a whole number from 0"),
        ({"trigger_priority": 2**31}, "/trigger_priority", "2147483648 does not fit"),
        ({"minimum_nodes": 3, "desired_nodes": 2}, "/minimum_nodes", "raise the desired ones"),
        ({"minimum_nodes": 9}, "/minimum_nodes", "the cluster had 8 when it was seen last"),
        ({"name": "a b"}, "/name", "is not a name"),
        ({"name": ""}, "/name", "is not a name"),
        ({"name": "\udcff"}, "/name", "is not a name"),
        ({"name": "x" * 201}, "/name", "is not a name"),
    ],
)
def test_wrong_indications_are_refused(changes, pointer, said):
    with pytest.raises(DocumentError, match=said) as caught:
        check_indication(attrs.evolve(PLAIN, **changes), nodes=8)
    assert caught.value.pointer == pointer
    str(caught.value).encode()


NO_TIMES = [
    "",
    "now",
    "5",
    "2030-01-31T12:00:00",
    "1969-12-31T23:59:59Z",
    "0001-01-01T00:00:00+23:59",
    "2030-02-31T12:00:00Z",
]


def test_a_time_has_a_zone():
    at = "2027-01-15T09:00:00.25+01:00"
    assert moment(attrs.evolve(on(), sent=at), PLAIN, NOW, more=True) == NOW
    assert sent_at(attrs.evolve(on(), sent=at)) == NOW + 250


@pytest.mark.parametrize(
    "wrong", [{"sequence": -1}, {"sequence": 2**63}, {"source": "a\nb"}, *({"sent": each} for each in NO_TIMES)]
)
def test_wrong_triggers_are_refused(wrong):
    with pytest.raises(DocumentError):
        check_trigger(attrs.evolve(on(1), **wrong))
