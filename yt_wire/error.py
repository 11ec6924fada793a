"""The error envelope: `{code; message; attributes; inner_errors}`, an exception here and a map on the wire."""

from __future__ import annotations

import enum
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any


class ErrorCode(enum.IntEnum):
    """Codes of YTsaurus that either side names."""

    GENERIC = 1
    TIMEOUT = 3
    TRANSPORT = 100
    PROTOCOL = 101
    NO_SUCH_SERVICE = 102
    NO_SUCH_METHOD = 103
    UNAVAILABLE = 105
    REQUEST_QUEUE_SIZE_LIMIT_EXCEEDED = 108
    RPC_AUTHENTICATION = 109
    INVALID_CREDENTIALS = 111
    SAME_TRANSACTION_LOCK_CONFLICT = 400
    DESCENDANT_TRANSACTION_LOCK_CONFLICT = 401
    CYPRESS_LOCK_CONFLICT = 402
    RESOLVE = 500
    ALREADY_EXISTS = 501
    MAX_CHILD_COUNT = 502
    MAX_STRING_LENGTH = 503
    MAX_KEY_LENGTH = 505
    NO_SUCH_MEDIUM = 719
    AUTHENTICATION = 900
    AUTHORIZATION = 901
    ACCOUNT_LIMIT_EXCEEDED = 902
    USER_BANNED = 903
    NO_SUCH_ACCOUNT = 905
    NO_SUCH_SUBJECT = 907
    ALREADY_PRESENT_IN_GROUP = 908
    IRREVERSIBLE_ACL_MODIFICATION = 909
    PREREQUISITE_CHECK_FAILED = 1000
    TABLET_TRANSACTION_LOCK_CONFLICT = 1700
    NO_SUCH_TABLET = 1701
    TABLET_NOT_MOUNTED = 1702
    INVALID_MOUNT_REVISION = 1704
    TABLE_REPLICA_ALREADY_EXISTS = 1705
    INVALID_TABLET_STATE = 1706
    QUERY_EXPRESSION_DEPTH_LIMIT_EXCEEDED = 1711
    NO_SYNC_REPLICAS = 1714
    TABLE_MUST_BE_SORTED = 1716
    TOO_MANY_ROWS_IN_TRANSACTION = 1717
    UPSTREAM_REPLICA_MISMATCH = 1718
    SYNC_REPLICA_NOT_IN_SYNC = 1723
    NO_IN_SYNC_REPLICAS = 1736
    QUEUE_CONSUMER_OFFSET_CONFLICT = 3100
    INVALID_PRODUCER_EPOCH = 3101
    ZOMBIE_PRODUCER_EPOCH = 3102
    INVALID_ROW_SEQUENCE_NUMBERS = 3103
    QUEUE_AGENT_RETRIABLE = 3104
    QUEUE_AGENT_OBJECT_IS_NOT_MAPPED = 3105
    NO_SUCH_TRANSACTION = 11000
    TRANSACTION_DEPTH_LIMIT_REACHED = 11002


class YtError(Exception):
    """An error as YTsaurus sends it.

    Args:
        message: what went wrong, naming the culprit.
        code: one of `ErrorCode` or any other number a server sent.
        attributes: facts for programs; values must be representable in YSON.
        inner_errors: causes.
    """

    def __init__(
        self,
        message: str,
        code: int = ErrorCode.GENERIC,
        attributes: Mapping[str, Any] | None = None,
        inner_errors: Iterable[YtError] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = int(code)
        self.attributes: dict[str, Any] = dict(attributes or {})
        self.inner_errors: Sequence[YtError] = tuple(inner_errors)

    def __str__(self) -> str:
        causes = "".join(f"; {inner}" for inner in self.inner_errors)
        return f"{self.message} (code {self.code}){causes}"

    def walk(self) -> Iterator[YtError]:
        """This error and all causes, outermost first."""
        yield self
        for inner in self.inner_errors:
            yield from inner.walk()

    def find(self, *codes: int) -> YtError | None:
        """The first error of the tree with one of these codes."""
        return next((error for error in self.walk() if error.code in codes), None)

    def to_map(self) -> dict[str, Any]:
        """All four members, as the wire wants them."""
        return {
            "code": self.code,
            "message": self.message,
            "attributes": self.attributes,
            "inner_errors": [inner.to_map() for inner in self.inner_errors],
        }

    def to_json(self) -> str:
        """One line of ASCII, fit for a header; bytes that are no text are shown as Latin-1."""
        return json.dumps(self.to_map(), default=_latin1, ensure_ascii=True)

    @classmethod
    def from_map(cls, value: Mapping[str, Any]) -> YtError:
        """Read the map form; absent members get their defaults."""
        return cls(
            str(value.get("message", "")),
            int(value.get("code", ErrorCode.GENERIC)),
            value.get("attributes"),
            [cls.from_map(inner) for inner in value.get("inner_errors", ())],
        )


def _latin1(value: object) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)
