"""Verdicts as values: their order, their colors, and how they are published."""

from __future__ import annotations

from dataclasses import replace

from queue_agent.core.verdicts.advice import Advice, Turn
from queue_agent.core.verdicts.counts import NO_COUNTS, Counts
from queue_agent.core.verdicts.values import (
    Confidence,
    Forecast,
    Loss,
    LossCause,
    PaceView,
    PartitionVerdict,
    QueueVerdict,
    Verdict,
)

NOW = 1_750_000_000.0

DO_IT = Advice(Turn.OPERATOR, "do it", is_command=True)


def _partition(verdict: Verdict, loss: Loss | None) -> PartitionVerdict:
    forecast = Forecast(None, "none")
    return PartitionVerdict(verdict, verdict, NOW, "why", Confidence.LOW, 5, NO_COUNTS, loss, forecast, forecast)


def test_the_first_verdict_is_the_worst() -> None:
    assert sorted(Verdict, key=lambda one: one.severity) == list(Verdict)
    assert Verdict.LOSING.severity < Verdict.STOPPED.severity < Verdict.OK.severity


def test_what_asks_for_action_is_red() -> None:
    red = {one for one in Verdict if one.color == "red"}
    assert red == {Verdict.UNREADABLE, Verdict.AHEAD, Verdict.LOSING, Verdict.STOPPED, Verdict.STALLED}


def test_a_verdict_is_told_as_it_is_if_all_of_its_losses_are_kept() -> None:
    lost = _partition(Verdict.OK, None)._replace(counts=Counts(lost=5, possibly_lost=2, read=7, lost_data_weight=50))
    verdict = QueueVerdict(lost, DO_IT, PaceView(1.0, 120.0, 5, Confidence.MEDIUM), {0: lost}, 0, 0)
    assert verdict.told_as({0: replace(lost.counts, read=3)}) is verdict
    told = verdict.told_as({0: Counts(lost=4, possibly_lost=2, lost_data_weight=40)})
    expected = Counts(lost=4, possibly_lost=2, read=7, lost_data_weight=40)
    assert (told.whole.counts, told.partitions[0].counts) == (expected, expected)
    assert verdict.told_as({}).whole.counts == Counts(read=7)


def test_a_verdict_is_published_with_all_of_its_reasons() -> None:
    loss = Loss(NOW, NOW + 1, LossCause.VITAL_TRIMMING, "a://v", 9, 7, 70)
    worst = _partition(Verdict.LOSING, loss)
    pace = PaceView(1.0, 120.0, 5, Confidence.MEDIUM)
    fine = _partition(Verdict.OK, None)
    verdict = QueueVerdict(worst, DO_IT, pace, {0: fine, 1: worst, 2: fine}, 1, 4)
    assert verdict.loses
    assert not replace(verdict, partitions={0: fine}).loses
    published = verdict.to_map()
    assert published["verdict"] == "losing"
    assert published["verdict_since"] == "2025-06-15T15:06:40.000000Z"
    assert published["loss"] == {
        "since": "2025-06-15T15:06:40.000000Z",
        "until": "2025-06-15T15:06:41.000000Z",
        "cause": "vital_trimming",
        "subject": "a://v",
        "row_count": 9,
        "lost_row_count": 7,
        "possibly_lost_row_count": 2,
        "data_weight": 70,
    }
    assert published["pace"] == {"usual": 1.0, "patience": 120.0, "known_gaps": 5, "max_gap": None}
    assert published["partitions_by_verdict"] == {"ok": 2, "losing": 1}
    assert published["time_to_loss"] == {
        "value": None,
        "earliest": None,
        "latest": None,
        "cause": "none",
        "subject": None,
    }
    assert published["color"] == "red"
    assert (published["turn"], published["action"], published["action_is_command"]) == ("operator", "do it", True)
    assert (published["worst_partition_index"], published["unreadable_partition_count"]) == (1, 4)
    assert fine.to_map()["loss"] is None


def test_losses_are_told_as_far_as_they_outlive_the_agent() -> None:
    seen = _partition(Verdict.LOSING, None)._replace(
        counts=Counts(lost=7, possibly_lost=5, read=9, lost_data_weight=70, unwatched_recreations=2)
    )
    pace = PaceView(1.0, 120.0, 5, Confidence.MEDIUM)
    verdict = QueueVerdict(seen, DO_IT, pace, {0: seen, 1: seen}, 0, 0)
    kept = Counts(lost=4, possibly_lost=3, lost_data_weight=40, unwatched_recreations=1)
    told = verdict.told_as({0: kept})
    assert told.partitions[0].counts == replace(kept, read=9)
    assert told.partitions[1].counts == Counts(read=9)
    assert told.whole.counts == replace(kept, read=9)
