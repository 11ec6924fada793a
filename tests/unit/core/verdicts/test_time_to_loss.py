"""Time to loss, row by row of the specification's table; true where rates are constant, null where it is not known."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import pytest

from queue_agent.core.verdicts.forecasts import Backlog
from queue_agent.core.verdicts.time_to_loss import ExportTask, Retention, VitalOffset, time_to_loss
from queue_agent.core.verdicts.values import Forecast, Rate
from tests.unit.core.verdicts.backlogs import BACKLOG, NOW, rate

DAY = 86400.0


STANDING = BACKLOG._replace(read=rate(0))
PASSED = VitalOffset("//v", 1500)
TRIMMED = Retention(trims=True, vitals=[PASSED])
VITAL = Retention(trims=True, is_vital=True, vitals=[PASSED])


def _vitals(*vitals: VitalOffset) -> Retention:
    return replace(TRIMMED, vitals=vitals)


def _exports(*exports: ExportTask) -> Retention:
    return Retention(trims=True, exports=exports)


def _slow(read: float | None, offset: int = 400) -> VitalOffset:
    return VitalOffset("//slow", offset, None if read is None else rate(read))


@pytest.mark.parametrize(
    ("backlog", "retention", "cause"),
    [
        pytest.param(BACKLOG._replace(drainable=0), TRIMMED, "none", id="nothing unread"),
        pytest.param(BACKLOG, VITAL, "protected", id="vital"),
        pytest.param(BACKLOG, Retention(), "none", id="nobody trims"),
        pytest.param(BACKLOG, _vitals(PASSED, _slow(50)), "none", id="vital consumer never passes"),
        pytest.param(BACKLOG, _vitals(PASSED, _slow(0)), "none", id="vital consumer stands"),
        pytest.param(BACKLOG._replace(read=None), _vitals(_slow(0)), "none", id="whatever the reader does"),
        pytest.param(BACKLOG, _exports(ExportTask("daily", inf)), "none", id="export fails"),
        pytest.param(BACKLOG, replace(_exports(ExportTask("daily", inf)), retained_rows=9), "none", id="and limits"),
        pytest.param(
            BACKLOG._replace(read=rate(100)), replace(TRIMMED, retained_rows=5000), "none", id="keeps pace in rows"
        ),
        pytest.param(
            BACKLOG._replace(read=rate(100)), replace(TRIMMED, retained_lifetime=5000.0), "none", id="keeps pace"
        ),
        pytest.param(
            BACKLOG._replace(written=rate(0)), replace(TRIMMED, retained_lifetime=5000.0), "none", id="no producers"
        ),
        pytest.param(BACKLOG, replace(TRIMMED, retained_rows=10**9), "none", id="more than 30 days"),
        pytest.param(STANDING, replace(VITAL, data_ttl=31 * DAY), "none", id="vital, TTL far away"),
        pytest.param(BACKLOG._replace(read=rate(100)), replace(VITAL, data_ttl=DAY), "none", id="vital, keeps pace"),
        pytest.param(BACKLOG, replace(TRIMMED, vitals=None), "unknown", id="vital consumer not known"),
        pytest.param(BACKLOG, replace(TRIMMED, exports=None), "unknown", id="exports not known"),
        pytest.param(BACKLOG, _vitals(_slow(None)), "unknown", id="pace of a vital consumer not known"),
        pytest.param(BACKLOG._replace(read=None), _vitals(_slow(60)), "unknown", id="own pace not known"),
        pytest.param(BACKLOG, _exports(ExportTask("daily", None)), "unknown", id="export's delay not known"),
        pytest.param(
            BACKLOG._replace(read=None), replace(TRIMMED, retained_rows=5000), "unknown", id="retained rows, no rate"
        ),
        pytest.param(
            BACKLOG._replace(age=None), replace(TRIMMED, retained_lifetime=5000.0), "unknown", id="age not known"
        ),
        pytest.param(
            BACKLOG._replace(written=None), replace(VITAL, data_ttl=5000.0), "unknown", id="TTL, growth not known"
        ),
        pytest.param(BACKLOG._replace(age=None), replace(VITAL, data_ttl=5000.0), "unknown", id="TTL, age not known"),
        pytest.param(
            BACKLOG, replace(TRIMMED, vitals=None, data_ttl=5000.0), "unknown", id="another mechanism may be sooner"
        ),
    ],
)
def test_it_may_be_null(backlog: Backlog, retention: Retention, cause: str) -> None:
    assert time_to_loss(backlog, retention) == Forecast(None, cause)


@pytest.mark.parametrize(
    ("backlog", "retention", "value", "cause", "subject"),
    [
        pytest.param(BACKLOG._replace(is_losing=True), VITAL, 0.0, "losing", None, id="losing"),
        pytest.param(BACKLOG, TRIMMED, 0.0, "vital_trimming", "//v", id="every vital consumer has passed"),
        pytest.param(BACKLOG, _vitals(_slow(60)), 60.0, "vital_trimming", "//slow", id="vital consumer catches up"),
        pytest.param(
            BACKLOG, _vitals(PASSED, _slow(60), _slow(90)), 60.0, "vital_trimming", "//slow", id="the last vital one"
        ),
        pytest.param(STANDING, _vitals(_slow(60)), 10.0, "vital_trimming", "//slow", id="reader stands"),
        pytest.param(BACKLOG, _exports(ExportTask("d", 0.0)), 0.0, "export_trimming", "d", id="exported"),
        pytest.param(BACKLOG, _exports(ExportTask("d", NOW - 5)), 0.0, "export_trimming", "d", id="export is late"),
        pytest.param(
            BACKLOG,
            _exports(ExportTask("hourly", NOW + 600), ExportTask("daily", NOW + 7000)),
            7000.0,
            "export_trimming",
            "daily",
            id="the last export",
        ),
        pytest.param(
            BACKLOG, replace(TRIMMED, retained_rows=500), 0.0, "vital_trimming", "//v", id="beyond retained rows"
        ),
        pytest.param(BACKLOG, replace(TRIMMED, retained_rows=6000), 100.0, "retained_rows", None, id="retained rows"),
        pytest.param(BACKLOG, replace(TRIMMED, grace_end=NOW + 60), 60.0, "grace", None, id="grace"),
        pytest.param(
            BACKLOG,
            replace(TRIMMED, is_vital=True, released_at=NOW + 90),
            90.0,
            "quarantine",
            None,
            id="vital, and has notice",
        ),
        pytest.param(
            BACKLOG,
            replace(TRIMMED, is_vital=True, released_at=NOW - 1),
            0.0,
            "vital_trimming",
            "//v",
            id="vital, and in quarantine",
        ),
        pytest.param(
            BACKLOG, replace(TRIMMED, grace_end=NOW - 1), 0.0, "vital_trimming", "//v", id="the grace is over"
        ),
        pytest.param(
            BACKLOG,
            replace(TRIMMED, retained_lifetime=600.0),
            1000.0,
            "retained_lifetime_duration",
            None,
            id="lifetime",
        ),
        pytest.param(
            STANDING._replace(written=None),
            replace(TRIMMED, retained_lifetime=600.0),
            500.0,
            "retained_lifetime_duration",
            None,
            id="lifetime, reader stands",
        ),
        pytest.param(
            BACKLOG._replace(read=rate(100)),
            replace(TRIMMED, retained_lifetime=100.0),
            0.0,
            "vital_trimming",
            "//v",
            id="older than the lifetime",
        ),
        pytest.param(
            BACKLOG,
            replace(TRIMMED, retained_rows=6000, retained_lifetime=600.0),
            1000.0,
            "retained_lifetime_duration",
            None,
            id="the largest of what keeps the row",
        ),
        pytest.param(BACKLOG, replace(VITAL, data_ttl=600.0), 1000.0, "ttl", None, id="vital consumers, too: TTL"),
        pytest.param(STANDING, replace(VITAL, data_ttl=600.0), 500.0, "ttl", None, id="TTL, reader stands"),
        pytest.param(STANDING, Retention(data_ttl=90.0), 0.0, "ttl", None, id="TTL is over, though nobody trims"),
        pytest.param(
            BACKLOG,
            replace(TRIMMED, retained_rows=6000, data_ttl=600.0),
            100.0,
            "retained_rows",
            None,
            id="the first mechanism: own trimming",
        ),
        pytest.param(
            BACKLOG,
            replace(TRIMMED, retained_rows=600_000, data_ttl=600.0),
            1000.0,
            "ttl",
            None,
            id="the first mechanism: TTL",
        ),
        pytest.param(
            BACKLOG, replace(TRIMMED, vitals=None, data_ttl=90.0), 0.0, "ttl", None, id="nothing can be sooner than now"
        ),
    ],
)
def test_the_first_to_remove_the_row_counts(
    backlog: Backlog, retention: Retention, value: float, cause: str, subject: str | None
) -> None:
    forecast = time_to_loss(backlog, retention)
    assert (forecast.value, forecast.cause, forecast.subject) == (value, cause, subject)


def test_bounds_come_from_high_and_low_rates() -> None:
    backlog = BACKLOG._replace(read=Rate(50, 20, 90), written=Rate(100, 95, 120))
    forecast = time_to_loss(backlog, replace(TRIMMED, retained_rows=6000))
    assert forecast == Forecast(100.0, "retained_rows", 5000 / 120, 1000.0)


def test_a_vital_consumer_may_come_at_its_highrate() -> None:
    vital = VitalOffset("//slow", 400, Rate(60, 55, 80))
    assert time_to_loss(BACKLOG, _vitals(vital)) == Forecast(60.0, "vital_trimming", 7.5, 120.0, "//slow")


def test_a_batch_reader_may_read_nothing_before_its_turn() -> None:
    backlog = BACKLOG._replace(read=rate(100), patience=3600.0)
    near = time_to_loss(backlog._replace(written=Rate(101, 100, 101)), replace(TRIMMED, retained_rows=6000))
    assert near.earliest == 5000 / 101
    assert near.latest is None


@pytest.mark.parametrize("is_known", [True, False])
def test_bounds_of_what_is_certain_are_certain(is_known: bool) -> None:
    over = Retention(trims=True, vitals=[PASSED] if is_known else None, data_ttl=90.0)
    assert time_to_loss(BACKLOG._replace(read=None), over) == Forecast(
        0.0, "vital_trimming" if is_known else "ttl", 0.0, 0.0, "//v" if is_known else None
    )
