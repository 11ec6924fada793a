"""No row goes that somebody needs, in whatever order an agent asks and things change."""

from __future__ import annotations

from functools import partial

import pytest

from tests.model.rows import START, Rules, is_bad, steps
from tests.model.search import search

BROKEN = {
    "offsets of the plan are believed": Rules(offsets_are_read_again=False),
    "progress of the plan is believed": Rules(progress_is_read_again=False),
    "progress counts by index": Rules(progress_has_identity=False),
    "trims and looks go by index": Rules(partition_is_looked_at_again=False, trims_name_the_partition=False),
    "trims go by index": Rules(trims_name_the_partition=False),
}


def test_no_row_goes_that_somebody_needs() -> None:
    outcome = search(START, partial(steps, rules=Rules()), is_bad)
    assert outcome.trace is None, "\n".join(f"{name}: {state}" for name, state in outcome.trace)
    assert outcome.state_count > 3_000


@pytest.mark.parametrize("rules", BROKEN.values(), ids=BROKEN.keys())
def test_a_rule_that_is_left_out_is_missed(rules: Rules) -> None:
    trace = search(START, partial(steps, rules=rules), is_bad).trace
    assert trace is not None
    assert is_bad(trace[-1][1])
