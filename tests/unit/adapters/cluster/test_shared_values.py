from __future__ import annotations

from typing import Any

from queue_agent.adapters.cluster.shared_values import SharedValues
from yt_wire import yson


def read(text: bytes) -> Any:
    return yson.loads(text)


def test_equal_values_become_one_object() -> None:
    values = SharedValues()
    row = b'{cluster=hume;schema=[<strict=%true>[{name=a;type=string}]];revision=5u;error={code=0;message=""}}'
    first, second = (values.share(read(row)) for _ in range(2))
    assert first == second == read(row)
    assert first["schema"] is second["schema"]
    assert first["error"] is second["error"]
    assert first["cluster"] is second["cluster"]


def test_values_that_only_look_equal_stay_what_they_are() -> None:
    values = SharedValues()
    texts = [b"{x=[1]}", b"{x=[1u]}", b"{x=[%true]}", b"{x=[1.0]}", b"{x=<a=1>[1]}", b'{x=["1"]}', b"{x=[<a=1>1]}"]
    shared = [values.share(read(text)) for text in texts]
    assert [yson.dumps(row, "text") for row in shared] == [yson.dumps(read(text), "text") for text in texts]
    assert len({id(row["x"]) for row in shared}) == len(texts)


def test_strings_with_attributes_and_of_bytes_pass_through() -> None:
    row = {"x": yson.with_attributes("text", {"a": 1}), "y": b"\xff", "z": None}
    shared = SharedValues().share(row)
    assert yson.attributes_of(shared["x"]) == {"a": 1}
    assert shared["y"] == b"\xff"
    assert shared["z"] is None
