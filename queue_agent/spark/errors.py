"""What the connector refuses or cannot do; every message names the column or the option it is about."""

from __future__ import annotations


class ConnectorError(Exception):
    """The base of all that follow."""


class OptionError(ConnectorError):
    """An option is missing, unknown, or has a value it cannot have."""


class ColumnError(ConnectorError):
    """A column has a type, or a value, that the other side has no equal of."""


class QueueChanged(ConnectorError):
    """The queue is not what the offsets were made for: recreated, cut off, or with other partitions."""


class RowsTrimmed(ConnectorError):
    """Rows that were to be read are gone."""


class QueueUnavailable(ConnectorError):
    """A partition gives no rows although it should have some: unmounted, or served by nobody."""


class OutcomeUnknown(ConnectorError):
    """What changes something got no answer that tells: it was carried out, or it was not."""


class ConsumerMoved(ConnectorError):
    """Somebody else moved the consumer back, or moves it at the same time."""
