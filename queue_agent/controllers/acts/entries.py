"""Entries of the attributes in which the owner of a consumer says something about each of its queues."""

from __future__ import annotations

from typing import Any, Final

from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.verdicts.owner import put_entry
from queue_agent.errors import ActRefused, ClusterError
from queue_agent.ports.acts import ActingCluster
from yt_wire import yson
from yt_wire.guid import NULL_GUID

_ATTEMPTS: Final = 5


async def set_entry(
    cluster: ActingCluster, attribute: str, consumer: CrossClusterRef, queue: CrossClusterRef, instant: str
) -> None:
    """Set one entry, and leave the others as they are; again does no harm.

    Args:
        cluster: of the consumer.
        attribute: its name.
        consumer: it may be one of several in a table.
        queue: of the entry.
        instant: of the entry.

    Raises:
        ActRefused: the attribute makes no sense.
        ClusterError: it could not be set.
    """
    for attempts_left in reversed(range(_ATTEMPTS)):
        value, revision = await find_entries(cluster, attribute, consumer)
        try:
            value = put_entry(attribute, value, consumer.name, queue, instant)
        except ValueError as error:
            raise find_refusal(attribute, consumer, error) from error
        unchanged = {"path": consumer.path, "revision": revision, "transaction_id": str(NULL_GUID)}
        request = {"path": f"{consumer.path}/@{attribute}", "prerequisite_revisions": [unchanged]}
        try:
            await cluster.execute("set", request, value)
            return
        except ClusterError:
            _, newest = await find_entries(cluster, attribute, consumer)
            if newest == revision or not attempts_left:
                raise
            # Somebody has set another entry meanwhile, which must not be lost.


async def find_entries(cluster: ActingCluster, attribute: str, consumer: CrossClusterRef) -> tuple[Any, int]:
    """The value of the attribute, and the revision of the consumer that has it."""
    found = await cluster.get_attributes(consumer.path, [attribute, "revision"])
    return yson.plain(found.get(attribute)), int(found["revision"])


def find_refusal(attribute: str, consumer: CrossClusterRef, error: ValueError) -> ActRefused:
    """For a value that makes no sense."""
    return ActRefused(f'Attribute "{attribute}" of {consumer.table} makes no sense; remove it: {error}')
