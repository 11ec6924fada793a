"""Creates the tables of the comment service, and the queue it writes."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from yt.wrapper import YtClient
from yt.wrapper.default_config import get_config_from_env

from examples.comment_service.settings import without_final_slash
from examples.comment_service.tables import (
    COMMENT_EVENTS_SCHEMA,
    EVENT_PARTITION_COUNT,
    Schema,
    Tables,
    replica_path,
)

ClientOf = Callable[[str], YtClient]
"""Gives a client of a cluster by its name or address."""

Attributes = Mapping[str, str]

STORAGE: Final = {
    "account": "account that pays for the tables",
    "tablet_cell_bundle": "bundle whose cells serve the tables",
    "primary_medium": "medium that keeps the tables, such as ssd_blobs",
}
"""Attributes of tables that are options too, with their help."""


class TablesExist(Exception):
    """There is something already, and it was not said that it may go."""


def create_tables(
    directory: str,
    meta_cluster: str,
    replica_clusters: Sequence[str],
    client_of: ClientOf,
    *,
    force: bool,
    storage: Attributes | None = None,
) -> None:
    """Create and mount everything.

    Args:
        directory: of all clusters; made if need be.
        meta_cluster: gets the tables, and in any case the queue with its consumer and its producer.
        replica_clusters: each gets a replica of every table, whose number is part of its path. With none, tables are
            not replicated.
        client_of: makes clients.
        force: remove what is there.
        storage: attributes of every table, such as its account; the cluster's defaults otherwise.

    Raises:
        TablesExist: something is there, without `force`. Nothing was changed.
    """
    tables = Tables(directory)
    storage = storage or {}
    meta = client_of(meta_cluster)
    replicas = [
        (client_of(cluster), replica_path(path, index))
        for path in tables.schemas
        for index, cluster in enumerate(replica_clusters)
    ]
    existing = [(meta, path) for path in tables.paths if meta.exists(path)]
    existing += [(client, path) for client, path in replicas if client.exists(path)]
    if existing and not force:
        raise TablesExist(", ".join(path for _, path in existing))
    _remove(tables, meta, existing)
    for client in [meta, *(client for client, _ in replicas)]:
        client.create("map_node", directory, recursive=True, ignore_existing=True)
    for path, schema in tables.schemas.items():
        if replica_clusters:
            _create_replicated_table(path, schema, storage, meta, replica_clusters, client_of)
        else:
            meta.create("table", path, attributes={"dynamic": True, "schema": list(schema), **storage})
            meta.mount_table(path, sync=True)
    _create_queue(tables, storage, meta)


def _remove(tables: Tables, meta: YtClient, existing: Sequence[tuple[YtClient, str]]) -> None:
    if meta.exists(tables.comment_events):
        for registration in meta.list_queue_consumer_registrations(queue_path=tables.comment_events):
            meta.unregister_queue_consumer(tables.comment_events, registration["consumer_path"])
    for client, path in existing:
        client.remove(path, force=True)


def _create_replicated_table(
    path: str,
    schema: Schema,
    storage: Attributes,
    meta: YtClient,
    replica_clusters: Sequence[str],
    client_of: ClientOf,
) -> None:
    meta.create(
        "replicated_table",
        path,
        attributes={
            "dynamic": True,
            "schema": list(schema),
            **storage,
            # All replicas begin asynchronous; the tracker keeps one of them synchronous.
            "replicated_table_options": {"enable_replicated_table_tracker": True},
        },
    )
    meta.mount_table(path, sync=True)
    for index, cluster in enumerate(replica_clusters):
        replica = client_of(cluster)
        replica_id = meta.create(
            "table_replica",
            attributes={
                "table_path": path,
                "cluster_name": cluster,
                "replica_path": replica_path(path, index),
                "mode": "async",
            },
        )
        replica.create(
            "table",
            replica_path(path, index),
            attributes={"dynamic": True, "schema": list(schema), "upstream_replica_id": replica_id, **storage},
        )
        replica.mount_table(replica_path(path, index), sync=True)
        meta.alter_table_replica(replica_id, enabled=True)


def _create_queue(tables: Tables, storage: Attributes, meta: YtClient) -> None:
    meta.create(
        "table",
        tables.comment_events,
        attributes={
            "dynamic": True,
            "schema": list(COMMENT_EVENTS_SCHEMA),
            "tablet_count": EVENT_PARTITION_COUNT,
            **storage,
        },
    )
    meta.mount_table(tables.comment_events, sync=True)
    meta.create("queue_producer", tables.comment_events_producer, attributes=dict(storage))
    meta.mount_table(tables.comment_events_producer, sync=True)
    meta.create("queue_consumer", tables.comment_events_consumer, attributes=dict(storage))
    meta.mount_table(tables.comment_events_consumer, sync=True)
    meta.register_queue_consumer(tables.comment_events, tables.comment_events_consumer, vital=True)


def main() -> None:
    """Create what the arguments say."""
    parser = argparse.ArgumentParser(description="Creates the tables of the comment service.")
    parser.add_argument("--path", required=True, help="directory for the tables")
    parser.add_argument(
        "--meta_cluster",
        default=os.environ.get("CLUSTER") or os.environ.get("YT_PROXY"),
        help="cluster of the tables, or of the replicated ones (default: CLUSTER or YT_PROXY of the environment)",
    )
    parser.add_argument(
        "--replica_clusters", nargs="*", default=[], help="clusters of the replicas; none: no replication"
    )
    parser.add_argument("--force", action="store_true", help="recreate existing tables; their rows are lost")
    for name, words in STORAGE.items():
        parser.add_argument(f"--{name}", help=f"{words} (default: the cluster's)")
    arguments = parser.parse_args()
    if not arguments.meta_cluster:
        parser.error("--meta_cluster is needed, or CLUSTER in the environment")
    directory = without_final_slash(arguments.path)
    try:
        create_tables(
            directory,
            arguments.meta_cluster,
            arguments.replica_clusters,
            lambda cluster: YtClient(cluster, config=get_config_from_env()),
            force=arguments.force,
            storage={name: value for name in STORAGE if (value := getattr(arguments, name))},
        )
    except TablesExist as error:
        sys.exit(f"Nothing was changed, as these exist: {error}. To recreate them, add --force: their rows are lost.")
    print(
        f"Created in {directory}: {', '.join(path.removeprefix(f'{directory}/') for path in Tables(directory).paths)}"
    )


if __name__ == "__main__":
    main()
