"""Sentences about verdicts, and what to do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.verdicts.advice import NO_ADVICE, Advice, Turn
from queue_agent.core.verdicts.rebuilding import Rebuild, RebuildKind
from queue_agent.core.verdicts.sentences import Facts, advise, count, duration, make_sentence
from queue_agent.core.verdicts.values import Loss, LossCause, Verdict

NOW = 1_750_000_000.0
LOSS = Loss(NOW - 400, NOW - 1, LossCause.VITAL_TRIMMING, "a://x", 40_000, 40_000)
FACTS = Facts(
    verdict=Verdict.OK,
    queue=CrossClusterRef("a", "//q"),
    consumer=CrossClusterRef("a", "//c"),
    partition=None,
    since=NOW - 60,
    now=NOW,
    drainable=1240,
    silent=124,
    offset=36_000,
    end=35_300,
    age=250,
    usual=1,
    max_gap=None,
    loss=LOSS,
    read=64,
    written=100,
)


@pytest.mark.parametrize(
    ("verdict", "sentence"),
    [
        (Verdict.OK, None),
        (Verdict.AHEAD, "Offset is 700 past the end of partition 0"),
        (
            Verdict.LOSING,
            "Loses 100 rows/s since 2025-06-15T15:00:00Z (40,000 rows); a://x trims ahead of it",
        ),
        (
            Verdict.LOST,
            "Lost 40,000 rows from 2025-06-15T15:00:00Z to 2025-06-15T15:06:39Z; a://x trimmed ahead of it",
        ),
        (
            Verdict.RACING,
            "100 rows/s are trimmed before it commits them, 40,000 rows since 2025-06-15T15:00:00Z; "
            "it may not have read them; a://x trims ahead of it",
        ),
        (Verdict.STOPPED, "Silent for 2 min 4 s with 1,240 unread rows; usually commits every 1 s"),
        (Verdict.STALLED, "Commits row 36,000 of partition 0 again and again"),
        (Verdict.LAGGING, "4 min 10 s behind; reads 64 rows/s, producers write 100"),
        (Verdict.WAITING, "1,240 unread rows for 2 min 4 s; the usual pace is not known yet"),
        (Verdict.NOT_STARTED, "Has read nothing yet; 1,240 unread rows"),
        (Verdict.CATCHING_UP, "Catches up: 4 min 10 s behind, 1,240 unread rows"),
    ],
)
def test_a_sentence_states_what_was_measured(verdict: Verdict, sentence: str | None) -> None:
    assert make_sentence(FACTS._replace(verdict=verdict)) == sentence


ONE_ROW = "--max-row-count 1 --format json"


def _pasted(turn: Turn, text: str) -> Advice:
    return Advice(turn, text, is_command=True)


def test_what_is_not_known_is_left_out() -> None:
    unknown = FACTS._replace(age=None, usual=None, read=None)
    assert make_sentence(unknown._replace(verdict=Verdict.STOPPED)) == "Silent for 2 min 4 s with 1,240 unread rows"
    assert make_sentence(unknown._replace(verdict=Verdict.LAGGING)) == "1,240 unread rows"
    assert make_sentence(unknown._replace(verdict=Verdict.CATCHING_UP)) == "Catches up: 1,240 unread rows"


def test_producers_are_blamed_only_if_they_write_more_than_is_read() -> None:
    even = FACTS._replace(verdict=Verdict.LAGGING, read=100)
    assert make_sentence(even) == "4 min 10 s behind; reads 100 rows/s"


def test_the_worst_of_several_partitions_is_named() -> None:
    third = FACTS._replace(partition=3)
    assert make_sentence(third._replace(verdict=Verdict.AHEAD)) == "Offset is 700 past the end of partition 3"
    assert make_sentence(third._replace(verdict=Verdict.STALLED)) == "Commits row 36,000 in partition 3 again and again"
    assert advise(third._replace(verdict=Verdict.STALLED)).text == (
        f"yt --proxy a pull-queue //q --offset 36000 --partition-index 3 {ONE_ROW}"
    )


def test_a_vital_consumer_is_told_what_it_holds() -> None:
    holding = FACTS._replace(verdict=Verdict.NOT_STARTED, held_rows=26_480)
    assert make_sentence(holding) == "Has read nothing yet; 1,240 unread rows. It holds 26,480 rows of the queue"


@pytest.mark.parametrize(
    ("cause", "subject", "who"),
    [
        (LossCause.VITAL_TRIMMING, None, "another consumer trims ahead of it"),
        (LossCause.EXPORT_TRIMMING, "daily", "export daily trims ahead of it"),
        (LossCause.EXPORT_TRIMMING, None, "export trims ahead of it"),
        (LossCause.TTL, None, "max_data_ttl of the queue removes them unread"),
        (LossCause.QUARANTINE, "hume://v", "it is in quarantine"),
        (LossCause.FOREIGN, None, "trimmed by hand, by TTL or by another agent"),
    ],
)
def test_a_loss_names_its_cause(cause: LossCause, subject: str | None, who: str) -> None:
    loss = Loss(NOW - 400, NOW, cause, subject, 100, 100)
    sentence = make_sentence(FACTS._replace(verdict=Verdict.LOSING, loss=loss))
    assert sentence == f"Loses rows since 2025-06-15T15:00:00Z (100 rows); {who}"


def test_how_many_rows_of_a_loss_are_certain_is_said() -> None:
    loss = replace(LOSS, proved=30_000)
    losing = make_sentence(FACTS._replace(verdict=Verdict.LOSING, loss=loss))
    assert losing is not None
    assert "(40,000 rows, 10,000 of them possibly)" in losing
    lost = make_sentence(FACTS._replace(verdict=Verdict.LOST, loss=loss))
    assert lost is not None
    assert lost.startswith("Lost 40,000 rows (10,000 of them possibly) from")


@pytest.mark.parametrize("verdict", [Verdict.LOSING, Verdict.RACING])
def test_what_keeps_rows_keeps_the_choice_of_partitions(verdict: Verdict) -> None:
    chosen = FACTS._replace(verdict=verdict, chosen=(3, 1))
    register = "yt --proxy a register-queue-consumer //q a://c --vital --partitions 1 3"
    assert advise(chosen) == _pasted(Turn.OPERATOR, register)


@pytest.mark.parametrize("cause", [LossCause.FOREIGN, LossCause.RECREATION])
def test_what_would_not_help_is_not_advised(cause: LossCause) -> None:
    facts = FACTS._replace(verdict=Verdict.LOSING, loss=replace(LOSS, cause=cause))
    assert advise(facts) == NO_ADVICE
    assert advise(FACTS._replace(verdict=Verdict.LOSING, is_vital=True)) == NO_ADVICE, "it is vital now"


def test_what_the_ttl_removes_is_not_kept_by_making_the_consumer_vital() -> None:
    facts = FACTS._replace(verdict=Verdict.LOSING, loss=replace(LOSS, cause=LossCause.TTL))
    keep = "yt --proxy a set //q/@min_data_versions 1 && yt --proxy a remount-table //q"
    assert advise(facts) == _pasted(Turn.OWNER, keep)
    lost = make_sentence(facts._replace(verdict=Verdict.LOST))
    assert lost is not None
    assert lost.endswith("; max_data_ttl of the queue removed them unread")


def test_a_consumer_in_quarantine_is_kept_out_of_it() -> None:
    facts = FACTS._replace(verdict=Verdict.LOSING, loss=replace(LOSS, cause=LossCause.QUARANTINE), is_vital=True)
    assert advise(facts) == _pasted(Turn.OWNER, "queue-agent consumer protect a://q a://c")
    lost = make_sentence(facts._replace(verdict=Verdict.LOST))
    assert lost is not None
    assert lost.endswith("; it was in quarantine")


def test_a_queue_made_again_is_told() -> None:
    loss = replace(LOSS, cause=LossCause.RECREATION)
    lost = make_sentence(FACTS._replace(verdict=Verdict.LOST, loss=loss))
    assert lost == "Lost 40,000 rows when the queue was re-created at 2025-06-15T15:00:00Z"
    lost = make_sentence(FACTS._replace(verdict=Verdict.LOST, loss=loss, was_unwatched=True))
    assert lost == "Lost at least 40,000 rows when the queue was re-created at 2025-06-15T15:00:00Z"


@pytest.mark.parametrize(("kind", "verb"), [(RebuildKind.RECREATION, "re-created"), (RebuildKind.RESHARD, "resharded")])
def test_an_offset_past_the_end_comes_with_what_became_of_the_queue(kind: RebuildKind, verb: str) -> None:
    facts = FACTS._replace(verdict=Verdict.AHEAD, rebuild=Rebuild(kind, NOW - 400))
    expected = f"Offset is 700 past the end of partition 0; the queue was {verb} at 2025-06-15T15:00:00Z"
    assert make_sentence(facts) == expected


def test_a_queue_that_is_another_is_told_to_who_has_not_noticed() -> None:
    rebuild = Rebuild(RebuildKind.RECREATION, NOW - 400)
    facts = FACTS._replace(verdict=Verdict.RECREATED, rebuild=rebuild)
    assert make_sentence(facts) == (
        "The queue was re-created at 2025-06-15T15:00:00Z; "
        "offset 36,000 is of the old one, and rows before it go unread"
    )
    reset = "queue-agent consumer reset a://q a://c --to earliest"
    assert advise(facts) == _pasted(Turn.OWNER, reset)
    assert advise(facts._replace(verdict=Verdict.LOSING)) == _pasted(Turn.OWNER, reset)
    rebuild = replace(rebuild, kind=RebuildKind.RESHARD)
    facts = FACTS._replace(verdict=Verdict.RESHARDED, rebuild=rebuild, partition=1)
    assert make_sentence(facts) == (
        "Nothing committed in partition 1 since the queue was resharded at 2025-06-15T15:00:00Z; 1,240 unread rows"
    )
    assert advise(facts).turn is Turn.OWNER
    assert advise(facts._replace(verdict=Verdict.LOSING)).turn is Turn.OPERATOR


@pytest.mark.parametrize(
    ("verdict", "advice"),
    [
        (Verdict.OK, NO_ADVICE),
        (Verdict.AHEAD, _pasted(Turn.OWNER, "queue-agent consumer reset a://q a://c --to earliest")),
        (
            Verdict.LOSING,
            _pasted(Turn.OPERATOR, "yt --proxy a register-queue-consumer //q a://c --vital"),
        ),
        (
            Verdict.RACING,
            _pasted(Turn.OPERATOR, "yt --proxy a register-queue-consumer //q a://c --vital"),
        ),
        (Verdict.STOPPED, Advice(Turn.OWNER, "restart the reader")),
        (
            Verdict.STALLED,
            Advice(
                Turn.OWNER,
                f"yt --proxy a pull-queue //q --offset 36000 --partition-index 0 {ONE_ROW}",
                is_command=True,
            ),
        ),
        (Verdict.LAGGING, Advice(Turn.OWNER, "start more readers, up to one for each partition")),
        (Verdict.LOST, Advice(Turn.OWNER, "read the rows from another copy, and acknowledge the loss then")),
    ],
)
def test_each_verdict_says_whose_turn_it_is(verdict: Verdict, advice: Advice) -> None:
    assert advise(FACTS._replace(verdict=verdict)) == advice


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.4, "0 s"),
        (59, "59 s"),
        (60, "1 min"),
        (124, "2 min 4 s"),
        (3600, "1 h"),
        (7320, "2 h 2 min"),
        (90000, "1 d 1 h"),
    ],
)
def test_durations_have_two_units(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_one_row_is_one_row() -> None:
    assert (count(1, "row"), count(2, "row")) == ("1 row", "2 rows")
