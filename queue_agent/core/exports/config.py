"""`@static_export_config` of a queue: its exports by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from queue_agent.core.exports.schedule import ByCron, EveryPeriod, ExportSchedule
from queue_agent.core.values.cron import CronExpression
from queue_agent.core.values.scalars import read_boolean, read_integer, shown

DEFAULT_PATTERN: Final = "%UNIX_TS-%PERIOD"

EXPORT_KEYS: Final = frozenset(
    (
        "enable_export_from_queue_with_hunks",
        "export_cron_schedule",
        "export_directory",
        "export_name",  # the web interface repeats the name there
        "export_period",
        "export_ttl",
        "output_table_name_pattern",
        "use_upper_bound_for_table_names",
    )
)
"""Keys of one export; the agent ignores all others."""

_SPECIAL_CHARACTERS: Final = "/@&*[]{}\\"
"""They mean something in a path: a name with one of them could lead out of the directory, through a link in it."""

_MAX_MILLISECONDS: Final = 10**14
"""Three thousand years; dates end some time after."""

_MAX_EXPORTS: Final = 100
"""Of a queue: each has tasks, alerts and metrics of its own."""

_MAX_LENGTH: Final = 4096
"""Characters of a name, a path, a pattern or an expression: no cluster has names that are longer."""

_SOME_SECOND: Final = 1_700_000_000
_SOME_PERIOD: Final = 60


@dataclass(frozen=True, slots=True)
class InvalidSchedule:
    """A cron expression that cannot be read: an error of this export alone, when it is to run."""

    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class ExportConfig:
    """One export."""

    schedule: ExportSchedule | InvalidSchedule
    directory: str
    ttl: timedelta | None = None
    """How long after its tick a table is removed; None: never."""

    pattern: str = DEFAULT_PATTERN
    """Of the names of tables."""

    use_upper_bound: bool = False
    """Tables are named after the end of their range, and not after its beginning."""

    enable_hunks: bool = False
    """Queues whose schema has hunks are exported, too."""

    def table_name(self, tick: int) -> str:
        """Name of the table of a tick, one literal component of a path.

        Raises:
            ValueError: the schedule does not know the tick before, or the name would not be one component.
        """
        assert not isinstance(self.schedule, InvalidSchedule), "no table is made by it"
        period = self.schedule.period_before(tick)
        return _name_table(self.pattern, tick if self.use_upper_bound else tick - period, period)

    def expiration_time(self, tick: int, now: datetime) -> datetime | None:
        """When the table of a tick is removed; None: never.

        The C++ agent counts from the tick alone: a table that is made late can have expired before it is made.

        Args:
            tick: of the table.
            now: when it is made.
        """
        if self.ttl is None:
            return None
        try:
            return datetime.fromtimestamp(max(tick, int(now.timestamp())), UTC) + self.ttl
        except (OverflowError, ValueError):
            return None  # it is later than any date there is


def parse_exports(value: Mapping[str, Any] | None) -> Mapping[str, ExportConfig]:
    """Read the attribute; unknown keys of an export are ignored, the web interface leaves some there.

    Raises:
        ValueError: an export is wrong, or two go to one directory.
    """
    exports: dict[str, ExportConfig] = {}
    if len(value or {}) > _MAX_EXPORTS:
        raise ValueError(f"A queue can have {_MAX_EXPORTS} exports at most, got {len(value or {})}")
    for name, one in (value or {}).items():
        if len(name) > _MAX_LENGTH:
            raise ValueError(f"Names of exports can have {_MAX_LENGTH} characters at most, got {shown(name)}")
        if not isinstance(one, Mapping):
            raise ValueError(f'Export "{name}" is not a map')
        try:
            exports[str(name)] = _parse(one)
        except ValueError as error:
            raise ValueError(f'Export "{name}": {error}') from error
    counts = Counter(export.directory for export in exports.values())
    repeated = [directory for directory, count in counts.items() if count > 1]
    if repeated:
        raise DuplicateDirectories(sorted(repeated))
    return exports


class DuplicateDirectories(ValueError):
    """Exports that go to the same directory would mix their tables."""

    def __init__(self, directories: list[str]) -> None:
        super().__init__("; ".join(f"Duplicate directory in config (Value: {one})" for one in directories))
        self.directories = directories


def _parse(value: Mapping[str, Any]) -> ExportConfig:
    directory = _text(value.get("export_directory"), "export_directory")
    if not directory.startswith(("//", "#")):
        raise ValueError(f'Error reading "export_directory": expected a path, got {shown(directory)}')
    pattern = _text(value.get("output_table_name_pattern", DEFAULT_PATTERN), "output_table_name_pattern")
    _check_pattern(pattern)
    ttl = _find_milliseconds(value, "export_ttl", least=0)
    return ExportConfig(
        _schedule(value),
        str(directory),  # without the attributes it may have
        timedelta(milliseconds=ttl) if ttl else None,
        str(pattern),
        read_boolean(value.get("use_upper_bound_for_table_names", False), "use_upper_bound_for_table_names"),
        read_boolean(value.get("enable_export_from_queue_with_hunks", False), "enable_export_from_queue_with_hunks"),
    )


def _schedule(value: Mapping[str, Any]) -> ExportSchedule | InvalidSchedule:
    period = _find_milliseconds(value, "export_period", least=1)
    cron = value.get("export_cron_schedule")
    if (period is None) == (cron is None):
        raise ValueError('Exactly one of "export_period" and "export_cron_schedule" must be specified')
    if period is not None:
        if period % 1000:
            raise ValueError('The value of "export_period" must be a multiple of 1000 (1 second)')
        return EveryPeriod(period // 1000)
    cron = _text(cron, "export_cron_schedule")
    try:
        return ByCron(CronExpression.parse(cron))
    except ValueError as error:
        return InvalidSchedule(cron, str(error))


def _find_milliseconds(value: Mapping[str, Any], name: str, least: int) -> int | None:
    number = value.get(name)
    return None if number is None else read_integer(number, name, least, _MAX_MILLISECONDS)


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str) or not value or len(value) > _MAX_LENGTH:
        raise ValueError(
            f'Error reading "{name}": expected a string of 1 to {_MAX_LENGTH} characters, got {shown(value)}'
        )
    return value


def _name_table(pattern: str, second: int, period: int) -> str:
    try:
        moment = datetime.fromtimestamp(second, UTC)
    except (OverflowError, OSError) as error:
        raise ValueError(f"There is no date for second {second}") from error
    name = pattern.replace("%UNIX_TS", str(second)).replace("%PERIOD", str(period))
    name = moment.strftime(name.replace("%ISO", moment.strftime("%Y-%m-%dT%H:%M:%SZ")))
    if (
        not name
        or not pattern.isprintable()
        or any(character in _SPECIAL_CHARACTERS or not character.isprintable() for character in name)
    ):
        raise ValueError(
            f'Tables cannot be named "{name}": a name must not be empty, or have control characters or any of'
            f" {' '.join(_SPECIAL_CHARACTERS)}"
        )
    return name


def _check_pattern(pattern: str) -> None:
    """A pattern may become a path only when it is filled in: `%D` is `12/31/26`."""
    try:
        _name_table(pattern, _SOME_SECOND, _SOME_PERIOD)
    except ValueError as error:
        raise ValueError(f'Error reading "output_table_name_pattern": {error}') from error
