"""Options of `format("yt")`: their names, defaults and what they may be."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from difflib import get_close_matches
from typing import Final, Literal, TypeVar, cast, get_args

from queue_agent.spark.environment import TOKEN_SETTING, find_token
from queue_agent.spark.errors import OptionError
from yt_wire import json_text, yson

T = TypeVar("T")

OnTrimmed = Literal["fail", "skip"]
OnNewPartitions = Literal["read", "fail"]
OnUnmounted = Literal["wait", "fail"]
OnRecreated = Literal["fail", "restart"]
Uint64As = Literal["long", "decimal"]
WriteMode = Literal["direct", "transaction"]

PROXY_SETTING: Final = "spark.hadoop.yt.proxy"
BATCH_SIZE_SETTING: Final = "spark.yt.write.dynBatchSize"
READ_TYPES_SETTING: Final = "spark.yt.read.typeV3.enabled"
WRITE_TYPES_SETTING: Final = "spark.yt.write.typeV3.enabled"
SESSION_SETTINGS: Final = (
    PROXY_SETTING,
    TOKEN_SETTING,
    BATCH_SIZE_SETTING,
    READ_TYPES_SETTING,
    WRITE_TYPES_SETTING,
)
"""Settings of a session that stand in for options that are not given."""

_WITHOUT_EFFECT: Final = frozenset(
    {"arrow_enabled", "enable_arrow", "enable_inconsistent_read", "mergeschema", "readparallelism"}
)
"""Options of SPYT that change how it reads, and nothing here: rows are the same with them and without."""

_SPARK_OWN: Final = frozenset({"path", "checkpointlocation", "queryname"})


@dataclass(frozen=True, slots=True)
class ConnectionOptions:
    """How a cluster is reached."""

    proxy: str
    """`host:port` or a name, of the cluster that holds the consumer, or the table written to."""

    token: str | None = field(repr=False)
    retries: int
    """How often a request is sent before its failure is reported; 1 for no second attempt."""


@dataclass(frozen=True, slots=True)
class TypeOptions:
    """How YTsaurus's types become Spark's."""

    parsing_type_v3: bool = False
    """Composite columns as arrays, maps and structs; otherwise as YSON in a binary column."""

    string_as_binary: bool = False
    uint64_as: Uint64As = "long"
    any_as_json: bool = False


@dataclass(frozen=True, slots=True)
class PullOptions:
    """How rows of a partition are fetched."""

    pull_rows: int
    pull_bytes: int
    on_trimmed: OnTrimmed


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Options of reading, batch and streaming."""

    connection: ConnectionOptions
    path: str
    queue_proxy: str | None
    """Of the cluster of the queue, if it is not the consumer's and its name alone does not lead there."""

    proxy_aliases: Mapping[str, str]
    """Addresses of clusters by name."""

    consumer_path: str | None
    columns: tuple[str, ...] | None
    include_service_columns: bool
    types: TypeOptions
    pull: PullOptions
    rows_per_task: int
    """The most rows that one task reads."""


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """Options of reading a stream alone."""

    max_rows_per_partition: int | None
    commit_on_idle: bool
    on_new_partitions: OnNewPartitions
    on_recreated: OnRecreated
    on_unmounted: OnUnmounted
    state_path: str | None
    """A Cypress document that keeps where the stream began, and in which queue."""

    poll_interval: float
    """Seconds between two looks at a queue that had nothing new."""


@dataclass(frozen=True, slots=True)
class BatchOptions:
    """Options of reading in a batch alone; without any of them all rows there are."""

    ranges: Mapping[int, tuple[int | None, int | None]] | None
    """Half-open ranges of row indexes by partition; None leaves an end open."""

    from_time: datetime | None
    to_time: datetime | None


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """Options of writing, batch and streaming."""

    connection: ConnectionOptions
    path: str
    write_type_v3: bool
    batch_size: int
    """Rows in one request that writes to a dynamic table."""

    batch_size_is_given: bool
    """Whether an option says so, which comes before what the session is set to when tasks run."""

    mode: WriteMode
    ledger_path: str | None
    consumer_path: str | None
    queue_path: str | None
    inconsistent_dynamic_write: bool


class OptionReader:
    """Takes options by their names, in any case, and in the end refuses what nobody took.

    Args:
        given: options as Spark hands them over.
        settings: of the session, by full name.
        environment: of the driver; see `driver_environment`.
    """

    def __init__(self, given: Mapping[str, str], settings: Mapping[str, str], environment: Mapping[str, str]) -> None:
        self._given = {name.lower(): value for name, value in given.items()}
        self._settings = settings
        self._environment = environment
        self._names: set[str] = set()

    def read_options(self) -> ReadOptions:
        """What reading needs; OptionError names what is missing or wrong."""
        return ReadOptions(
            connection=self._connection(),
            path=self._required("path", "the queue or table to read, as in load(path)"),
            queue_proxy=self._text("queue_proxy"),
            proxy_aliases=self._aliases(),
            consumer_path=self._text("consumer_path"),
            columns=self._columns(),
            include_service_columns=self._boolean("include_service_columns"),
            types=TypeOptions(
                parsing_type_v3=self._boolean("parsing_type_v3", READ_TYPES_SETTING),
                string_as_binary=self._boolean("string_as_binary"),
                uint64_as=cast("Uint64As", self._choice("uint64_as", get_args(Uint64As))),
                any_as_json=self._boolean("any_as_json"),
            ),
            pull=PullOptions(
                pull_rows=self._count("pull_rows", 50_000),
                pull_bytes=self._count("pull_bytes", 16 << 20),
                on_trimmed=cast("OnTrimmed", self._choice("on_trimmed", get_args(OnTrimmed))),
            ),
            rows_per_task=self._count("rows_per_task", 1_000_000),
        )

    def stream_options(self) -> StreamOptions:
        """What streaming needs besides."""
        return StreamOptions(
            max_rows_per_partition=self._count("max_rows_per_partition", None),
            commit_on_idle=self._boolean("commit_on_idle"),
            on_new_partitions=cast("OnNewPartitions", self._choice("on_new_partitions", get_args(OnNewPartitions))),
            on_recreated=cast("OnRecreated", self._choice("on_recreated", get_args(OnRecreated))),
            on_unmounted=cast("OnUnmounted", self._choice("on_unmounted", get_args(OnUnmounted))),
            state_path=self._text("state_path"),
            poll_interval=self._number("poll_interval", 1.0),
        )

    def batch_options(self) -> BatchOptions:
        """What reading in a batch needs besides."""
        options = BatchOptions(
            ranges=self._parsed("ranges", _ranges),
            from_time=self._parsed("from_time", _moment),
            to_time=self._parsed("to_time", _moment),
        )
        if options.from_time is not None and options.to_time is not None and options.to_time < options.from_time:
            raise OptionError(f"to_time {options.to_time} is before from_time {options.from_time}")
        return options

    def write_options(self) -> WriteOptions:
        """What writing needs."""
        options = WriteOptions(
            connection=self._connection(),
            path=self._required("path", "the table to write to"),
            write_type_v3=self._boolean("write_type_v3", WRITE_TYPES_SETTING),
            batch_size=self._count(BATCH_SIZE_SETTING, 50_000, setting=BATCH_SIZE_SETTING),
            batch_size_is_given=self._text(BATCH_SIZE_SETTING) is not None,
            mode=cast("WriteMode", self._choice("write_mode", get_args(WriteMode))),
            ledger_path=self._text("ledger_path"),
            consumer_path=self._text("consumer_path"),
            queue_path=self._text("queue_path"),
            inconsistent_dynamic_write=self._boolean("inconsistent_dynamic_write"),
        )
        if (options.mode == "transaction") != (options.ledger_path is not None):
            raise OptionError("write_mode=transaction and ledger_path go together: the ledger tells what was written")
        if (options.consumer_path is None) != (options.queue_path is None):
            raise OptionError("consumer_path and queue_path go together when writing")
        if options.consumer_path is not None and options.mode != "transaction":
            raise OptionError("consumer_path makes sense in writing only with write_mode=transaction")
        return options

    def refuse_others(self) -> None:
        """OptionError if there is an option that was not asked for and is not Spark's own; SPYT's bring a warning."""
        names = self._names | _SPARK_OWN
        for name in self._given:
            if name in _WITHOUT_EFFECT:
                warnings.warn(f'option "{name}" of SPYT changes nothing here', stacklevel=2)
            elif name not in names:
                hint = get_close_matches(name, names, 1)
                raise OptionError(f'unknown option "{name}"' + (f', did you mean "{hint[0]}"?' if hint else ""))

    def _connection(self) -> ConnectionOptions:
        proxy = self._text("proxy") or self._settings.get(PROXY_SETTING) or self._environment.get("YT_PROXY")
        if not proxy:
            raise OptionError(f'no cluster: set the option "proxy", {PROXY_SETTING} or YT_PROXY')
        proxy = self._aliases().get(proxy, proxy)
        token = (
            self._text("token")
            or self._token_in_file()
            or self._settings.get(TOKEN_SETTING)
            or self._environment.get("YT_SECURE_VAULT_YT_TOKEN")
            or self._environment.get("YT_TOKEN")
        )
        return ConnectionOptions(proxy, token, self._count("retries", 6))

    def _token_in_file(self) -> str | None:
        """Read where options are, on the driver: executors need not have the file."""
        path = self._text("token_path")
        if path is None:
            return None
        token = find_token(path)
        if token is None:
            raise OptionError(f'option "token_path": {path} is not there')
        return token

    def _aliases(self) -> Mapping[str, str]:
        """Addresses of clusters by name, as the `yt` command knows them."""
        text = self._environment.get("YT_PROXY_URL_ALIASING_CONFIG")
        return yson.loads(text.encode()) if text else {}

    def _columns(self) -> tuple[str, ...] | None:
        text = self._text("columns")
        if text is None:
            return None
        if text.lstrip().startswith("["):
            return self._parsed("columns", _names)
        return tuple(name.strip() for name in text.split(",") if name.strip())

    def _text(self, name: str, setting: str | None = None) -> str | None:
        key = name.lower()
        self._names.add(key)
        value = self._given.get(key)
        if value is None and setting is not None:
            value = self._settings.get(setting)
        return value if value else None

    def _required(self, name: str, what: str) -> str:
        value = self._text(name)
        if value is None:
            raise OptionError(f'option "{name}" is missing: {what}')
        return value

    def _boolean(self, name: str, setting: str | None = None) -> bool:
        value = self._text(name, setting)
        if value is None:
            return False
        if value.lower() not in ("true", "false"):
            raise OptionError(f'option "{name}" is true or false, not "{value}"')
        return value.lower() == "true"

    def _choice(self, name: str, choices: tuple[str, ...]) -> str:
        value = self._text(name)
        if value is None:
            return choices[0]
        if value.lower() not in choices:
            raise OptionError(f'option "{name}" is one of {", ".join(choices)}, not "{value}"')
        return value.lower()

    def _count(self, name: str, default: T, setting: str | None = None) -> int | T:
        value = self._text(name, setting)
        if value is None:
            return default
        try:
            count = int(value)
        except ValueError:
            count = 0
        if count < 1:
            raise OptionError(f'option "{name}" is a whole number above 0, not "{value}"')
        return count

    def _number(self, name: str, default: float) -> float:
        value = self._text(name)
        if value is None:
            return default
        try:
            number = float(value)
        except ValueError:
            number = -1.0
        if not 0 <= number < float("inf"):
            raise OptionError(f'option "{name}" is a number of seconds, not "{value}"')
        return number

    def _parsed(self, name: str, parse: Callable[[str], T]) -> T | None:
        value = self._text(name)
        if value is None:
            return None
        try:
            return parse(value)
        except (ValueError, TypeError, AttributeError) as error:
            raise OptionError(f'option "{name}" cannot be read: {error}') from error


def _names(text: str) -> tuple[str, ...]:
    names = json_text.loads(text)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError("expected a JSON list of names")
    return tuple(names)


def _ranges(text: str) -> dict[int, tuple[int | None, int | None]]:
    ranges: dict[int, tuple[int | None, int | None]] = {}
    given = json_text.loads(text)
    if not isinstance(given, dict):
        raise ValueError('expected {"PARTITION": [BEGIN, END]}')
    for partition, bounds in given.items():
        if not isinstance(bounds, list) or len(bounds) != 2:
            raise ValueError(f"a range is [begin, end) of row indexes, not {bounds}")
        begin, end = bounds
        if any(bound is not None and (not isinstance(bound, int) or bound < 0) for bound in (begin, end)):
            raise ValueError(f"a range is [begin, end) of row indexes, not {bounds}")
        if begin is not None and end is not None and end < begin:
            raise ValueError(f"the range {bounds} of partition {partition} ends before it begins")
        ranges[int(partition)] = (begin, end)
    return ranges


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text} says no time zone; in UTC write {moment.isoformat()}Z")
    return moment
