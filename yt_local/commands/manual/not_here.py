"""Commands on operations and queries, of which there are none."""

from __future__ import annotations

from typing import Final

from yt_local.commands.manual.entry import Manual
from yt_local.commands.not_here import CHANGING, LOOKING, QUERYING, STARTING

MANUAL: Final[dict[str, Manual]] = {
    "list_operations": Manual("Lists operations: there are none.", "`{operations=[]; ...}`"),
    "list_queries": Manual("Lists queries of Query Tracker: there are none.", "`{queries=[]; ...}`"),
    "get_query_tracker_info": Manual(
        "Describes Query Tracker, of which only the name of the cluster is true.", "`{cluster_name=...; ...}`"
    ),
    **{name: Manual("Refused: nothing runs operations.", errors={1: "always"}) for name in STARTING},
    **{name: Manual("Refused: there is no such operation.", errors={1915: "always"}) for name in LOOKING},
    **{name: Manual("Refused: there is no such operation.", errors={200: "always"}) for name in CHANGING},
    **{name: Manual("Refused: there is no Query Tracker.", errors={1: "always"}) for name in QUERYING},
}
