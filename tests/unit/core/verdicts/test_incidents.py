"""Losses that follow each other."""

from __future__ import annotations

import pytest

from queue_agent.core.verdicts.incidents import INCIDENT_ENDS_AFTER, Blame, blame_age, extend_loss
from queue_agent.core.verdicts.values import Loss, LossCause

NOW = 1_750_000_000.0
FIRST = Loss(NOW, NOW, LossCause.FOREIGN, None, 5, 3, 50)


def test_losses_in_a_row_are_one_incident_of_the_latest_cause() -> None:
    later = NOW + INCIDENT_ENDS_AFTER
    more = extend_loss(FIRST, 7, 2, Blame(LossCause.VITAL_TRIMMING, "a://v"), later, 70)
    assert more == Loss(NOW, later, LossCause.VITAL_TRIMMING, "a://v", 14, 10, 120)
    assert extend_loss(more, 1, 0, Blame(), later).data_weight is None


def test_a_pause_ends_an_incident() -> None:
    later = NOW + INCIDENT_ENDS_AFTER + 1
    assert extend_loss(FIRST, 7, 0, Blame(), later) == Loss(later, later, LossCause.FOREIGN, None, 7, 7, None)
    assert extend_loss(None, 7, 0, Blame(), later, 70).data_weight == 70


@pytest.mark.parametrize(
    ("blame", "written", "loss", "cause"),
    [
        (Blame(), 0.0, None, LossCause.FOREIGN),
        (Blame(data_ttl=3600.0), NOW - 3700, None, LossCause.TTL),
        (Blame(data_ttl=3600.0), NOW - 3596, None, LossCause.TTL),
        (Blame(data_ttl=3600.0), NOW - 3590, None, LossCause.FOREIGN),
        (Blame(data_ttl=3600.0), None, None, LossCause.FOREIGN),
        (Blame(data_ttl=3600.0), None, Loss(NOW - 9, NOW - 600, LossCause.TTL, None, 1, 1), LossCause.TTL),
        (Blame(data_ttl=3600.0), None, Loss(NOW - 9, NOW - 601, LossCause.TTL, None, 1, 1), LossCause.FOREIGN),
        (Blame(data_ttl=3600.0), None, Loss(NOW - 9, NOW, LossCause.FOREIGN, None, 1, 1), LossCause.FOREIGN),
        (Blame(LossCause.VITAL_TRIMMING, "a://v", 3600.0), NOW - 3700, None, LossCause.VITAL_TRIMMING),
    ],
)
def test_the_ttl_is_blamed_for_rows_that_were_old_enough(
    blame: Blame, written: float | None, loss: Loss | None, cause: LossCause
) -> None:
    assert blame_age(blame, written, loss, NOW).cause is cause
