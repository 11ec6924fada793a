"""What a command is: a name, a shape, typed parameters and a coroutine."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import UnionType
from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias, TypeVar, Union, get_args, get_origin

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from yt_local.base.scalars import boolean, integer
from yt_local.calls.manual import Manual
from yt_local.cluster import Cluster
from yt_local.formats.format import Format, InputRow, RowShape
from yt_local.formats.formats import YSON_TEXT
from yt_local.formats.row_output import ValueRows
from yt_local.schema.schema import Column
from yt_local.session import Session
from yt_local.tables.dynamic.tablet_transaction import TabletTransaction
from yt_wire import yson
from yt_wire.error import ErrorCode, YtError
from yt_wire.guid import NULL_GUID, Guid
from yt_wire.ypath import RichPath, parse_rich

_WRONG: Final = {
    "string_type": "must be a string",
    "list_type": "must be a list",
    "dict_type": "must be a map",
    "model_type": "must be a map",
}
"""What to say of a value of a wrong type, by pydantic's name of the error."""

_READERS: Final[Mapping[Any, Callable[[Any], Any]]] = {bool: boolean, int: integer}

Kind: TypeAlias = Literal["null", "structured", "tabular", "binary"]


def _rich_path(value: Any) -> RichPath:
    try:
        return parse_rich(value)
    except YtError as error:
        raise ValueError(error.message) from error


RichPathParameter = Annotated[RichPath, PlainValidator(_rich_path)]
"""A path with attributes such as `cluster`."""

PathParameter = Annotated[str, BeforeValidator(lambda value: _rich_path(value).path)]
"""A path on this cluster; attributes are dropped."""


Int64 = Annotated[int, Field(ge=-(2**63), lt=2**63)]
"""Numbers of parameters are 64 bits wide, other than Python's."""


def _transaction_id(value: Any) -> str | None:
    if value in (None, ""):
        return None
    if not isinstance(value, str):
        raise ValueError("a transaction id must be a string")
    try:
        parsed = Guid.parse(value)
    except ValueError as error:
        raise ValueError("an id must be four hexadecimal numbers with dashes between them") from error
    return None if parsed == NULL_GUID else str(parsed)


TransactionId = Annotated[str | None, BeforeValidator(_transaction_id)]
"""The transaction a command is part of, if any, in the spelling of ids; clients send the null guid for none."""

TransactionUse: TypeAlias = Literal["refused", "ignored", "taken"]
"""What a command does with a `transaction_id`: it knows none yet, never looks at it, or has it among its parameters."""


def _names(value: Any) -> Any:
    """Attribute filters come as a list or as a map with `keys`."""
    return value.get("keys") if isinstance(value, dict) else value


AttributeFilter = Annotated[list[str] | None, BeforeValidator(_names)]


def _reader(annotation: Any) -> Callable[[Any], Any]:
    """What reads values of a field of this type, unless the type itself says how."""
    for kind in get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,):
        plain, *about = get_args(kind) if get_origin(kind) is Annotated else (kind,)
        if plain in _READERS and not any(isinstance(item, BeforeValidator) for item in about):
            return _READERS[plain]
    return _unread


def _unread(value: Any) -> Any:
    return value


class Parameters(BaseModel):
    """Base of all parameter models; clients send more than is known, that is ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True, arbitrary_types_allowed=True)
    _readers: ClassVar[Mapping[str, Callable[[Any], Any]]] = {}
    """What reads the value of each field."""

    @field_validator("*", mode="before")
    @classmethod
    def _read_scalar(cls, value: Any, info: ValidationInfo) -> Any:
        """Booleans and integers as real clusters read them, which is neither as pydantic does nor as strictly."""
        assert info.field_name is not None, "fields alone have validators"
        return cls._readers[info.field_name](value)

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        cls._readers = {name: _reader(field.annotation) for name, field in cls.model_fields.items()}


class NoParameters(Parameters):
    """For commands without parameters."""


class RevisionPrerequisite(Parameters):
    """What has to be at a path for a command to be carried out."""

    path: PathParameter
    revision: Annotated[int, Field(ge=0, lt=2**64)]
    transaction_id: TransactionId = None


class Prerequisites(Parameters):
    """Of commands that can be made to depend on transactions and nodes."""

    prerequisite_transaction_ids: list[str] = Field(default_factory=list)
    prerequisite_revisions: list[RevisionPrerequisite] = Field(default_factory=list)

    def check(self, cluster: Cluster, session: Session) -> None:
        """YtError 1000 unless the transactions are there, and the nodes as they are said to be."""
        cluster.transactions.check_prerequisites(self.prerequisite_transaction_ids)
        for wanted in self.prerequisite_revisions:
            cluster.check_revision(wanted.path, wanted.revision, wanted.transaction_id)


class Transactional(Prerequisites):
    """Of commands that can be part of a master transaction."""

    transaction_id: TransactionId = None
    suppress_expiration_timeout_renewal: bool = False

    def touch(self, cluster: Cluster) -> None:
        """Have the nodes the command was about live on for their timeouts."""
        if not self.suppress_expiration_timeout_renewal:
            named = (getattr(self, name, None) for name in ("path", "source_path"))
            paths = [path.bare if isinstance(path, RichPath) else path for path in named if path is not None]
            if paths:
                cluster.expiration.touch(cluster.view(self.transaction_id).resolver, paths)


@dataclass(frozen=True, slots=True)
class Body:
    """What came in the body, already decoded, unless the command wants it as it comes."""

    value: Any = None
    rows: list[InputRow] = field(default_factory=list)
    data: bytes | None = None
    """In place of `rows`: they are still to be decoded, see `rows_for`."""

    pieces: AsyncIterator[bytes] | None = None
    """Of a body that is taken as it comes, decompressed."""

    row_format: Format = YSON_TEXT
    """Of rows in `data` and `pieces`."""

    batches: AsyncIterator[list[InputRow]] | None = None
    """In place of `pieces`: rows that are decoded already."""

    def rows_for(self, columns: Callable[[], Sequence[Column]]) -> list[InputRow]:
        """The rows; the columns of their table are asked for if the format leaves their types to them."""
        if self.data is None:
            return self.rows
        return self.row_format.read_rows(self.data, columns() if self.row_format.needs_columns else ())


@dataclass(frozen=True, slots=True)
class Rows:
    """A tabular answer; None stands for a missing row."""

    rows: Iterable[Mapping[str, Any] | None]
    response_parameters: Mapping[str, Any] = field(default_factory=dict)
    """What clients that ask for it get beside the rows."""

    @property
    def shape(self) -> RowShape:
        """What is known of the rows, whatever they are."""
        return RowShape(self.rows.columns) if isinstance(self.rows, ValueRows) else RowShape()


@dataclass(frozen=True, slots=True)
class EntityTag:
    """Which content an answer has, for clients that ask for it again only if it has changed."""

    id: str
    revision: int

    def __str__(self) -> str:
        return f"{self.id}:{self.revision}"

    def is_known(self, text: str | None) -> bool:
        """Whether a client that has this tag, or this revision alone, has the content; YtError if it is neither."""
        if text is None:
            return False
        object_id, separator, revision = text.strip().rpartition(":")
        try:
            known = Guid.parse(object_id) if separator else None
            number = int(revision)
        except ValueError as error:
            raise YtError("Failed to parse etag", inner_errors=[YtError(str(error))]) from error
        return number == self.revision and known in (None, Guid.parse(self.id))


@dataclass(frozen=True, slots=True)
class Stream:
    """An answer that is made while it is sent: batches of rows, or bytes if the output is binary.

    Its generator is closed when it is not needed any more, whether it has come to its end or not.
    """

    pieces: Generator[Any]
    response_parameters: Mapping[str, Any] = field(default_factory=dict)
    """What the client gets first."""

    shape: RowShape = field(default_factory=RowShape)
    """Of the rows, if there are some."""

    tag: EntityTag | None = None


P = TypeVar("P", bound=Parameters)


@dataclass(frozen=True, slots=True)
class Command:
    """One entry of the table.

    `run` gets the cluster, who asks, the parsed parameters and the body. It returns a YSON value, or `Rows` if the
    output is tabular, or a `Stream` if the output may be large.
    """

    name: str
    input_type: Kind
    output_type: Kind
    is_volatile: bool
    is_heavy: bool
    parameters: type[Parameters]
    run: Callable[[Cluster, Session, Any, Body], Awaitable[Any]]
    manual: Manual
    changes: bool = False
    """Whether a repeat must not be done again; some volatile commands only read."""
    transactions: TransactionUse = "refused"
    takes_pieces: bool = False
    """Whether it takes its body piece by piece, however large it is."""

    @property
    def method(self) -> Literal["PUT", "POST", "GET"]:
        """The HTTP method it is asked for with, which clients tell from its descriptor."""
        if self.input_type != "null":
            return "PUT"
        return "POST" if self.is_volatile else "GET"

    def describe(self) -> dict[str, Any]:
        """The descriptor clients ask for at `/api/v4`."""
        return {
            "name": self.name,
            "input_type": self.input_type,
            "output_type": self.output_type,
            "is_volatile": self.is_volatile,
            "is_heavy": self.is_heavy,
        }

    async def execute(self, cluster: Cluster, session: Session, parameters: Mapping[str, Any], body: Body) -> Any:
        """Check the parameters and run.

        Raises:
            YtError: whatever is wrong, naming it.
        """
        transaction_id = parameters.get("transaction_id")
        if self.transactions == "refused" and transaction_id not in (None, "", str(NULL_GUID)):
            raise YtError(f"No such transaction {transaction_id}", ErrorCode.NO_SUCH_TRANSACTION)
        parsed = self._parse(parameters)
        if isinstance(parsed, Prerequisites):
            parsed.check(cluster, session)
        if isinstance(parsed, Transactional) and parsed.transaction_id is not None:
            session = cluster.session_of(session.access.principal, parsed.transaction_id)
        answer = await self.run(cluster, session, parsed, body)
        if isinstance(parsed, Transactional):
            parsed.touch(cluster)
        return answer

    def _parse(self, parameters: Mapping[str, Any]) -> Parameters:
        try:
            # Null stands for a parameter that is not given; the Go SDK sends it for options that are not set.
            return self.parameters.model_validate({k: v for k, v in parameters.items() if v is not None})
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            name = "/".join(str(part) for part in first["loc"])
            if first["type"] == "missing":
                raise YtError(f"Missing required parameter /{name}") from error
            message = _WRONG.get(first["type"]) or first["msg"].removeprefix("Value error, ")
            message = message.replace("Input should be", "must be")
            value = yson.shown(first["input"])
            got = "" if message.endswith(f" {value}") else f", got {value}"
            raise YtError(f"Error reading parameter /{name}: {message}{got}") from error


def tablet_transaction(cluster: Cluster, transaction_id: str | None) -> TabletTransaction | None:
    """The open tablet transaction a command on rows is part of, if any; the command counts as a ping."""
    return None if transaction_id is None else cluster.tablet_transactions.get(transaction_id)


def light(
    name: str,
    parameters: type[P],
    run: Callable[[Cluster, Session, P, Body], Awaitable[Any]],
    manual: Manual,
    *,
    transactions: TransactionUse = "refused",
) -> Command:
    """A command that only reads and answers with one value."""
    return Command(
        name,
        "null",
        "structured",
        is_volatile=False,
        is_heavy=False,
        parameters=parameters,
        run=run,
        manual=manual,
        transactions=transactions,
    )


def volatile(
    name: str,
    parameters: type[P],
    run: Callable[[Cluster, Session, P, Body], Awaitable[Any]],
    manual: Manual,
    *,
    input_type: Kind = "null",
    is_heavy: bool = False,
    changes: bool = True,
    transactions: TransactionUse = "refused",
) -> Command:
    """A command that changes something, or by `changes` only could, and answers with one value."""
    return Command(
        name,
        input_type,
        "structured",
        is_volatile=True,
        is_heavy=is_heavy,
        parameters=parameters,
        run=run,
        manual=manual,
        changes=changes,
        transactions=transactions,
    )


def tabular(
    name: str,
    parameters: type[P],
    run: Callable[[Cluster, Session, P, Body], Awaitable[Any]],
    manual: Manual,
    *,
    input_type: Kind = "null",
    transactions: TransactionUse = "refused",
) -> Command:
    """A command that reads rows."""
    return Command(
        name,
        input_type,
        "tabular",
        is_volatile=False,
        is_heavy=True,
        parameters=parameters,
        run=run,
        manual=manual,
        transactions=transactions,
    )


def unsigned(value: int) -> int:
    """An `int` that is written as unsigned."""
    return yson.Uint64(value)  # type: ignore[no-any-return] # the bindings are untyped
