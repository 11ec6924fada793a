"""References are written and read back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queue_agent.core.values.refs import CrossClusterRef

refs = st.builds(
    CrossClusterRef,
    st.text("abc-_.0", min_size=1),
    st.text(min_size=1).map(lambda path: f"//{path}"),
    st.text(),
)


@given(refs)
def test_a_reference_is_read_as_it_was_written(ref: CrossClusterRef) -> None:
    assert CrossClusterRef.parse(str(ref)) == ref
    assert ref.table == CrossClusterRef(ref.cluster, ref.path)


def test_references_look_as_those_of_the_other_agent() -> None:
    assert str(CrossClusterRef("hume", "//tmp/c")) == "hume://tmp/c"
    named = CrossClusterRef("hume", "//tmp/c", 'a"b')
    assert str(named) == r'<"cluster"="hume";"queue_consumer_name"="a\"b";>//tmp/c'


@pytest.mark.parametrize("text", ["", "hume", ":x", "hume:", "<a=b>//x", '<"cluster"="hume";>//x'])
def test_other_text_is_no_reference(text: str) -> None:
    with pytest.raises(ValueError, match="not a reference"):
        CrossClusterRef.parse(text)


def test_a_named_consumer_is_read_with_its_name_and_a_table_without() -> None:
    text = r'<"cluster"="hume";"queue_consumer_name"="a\"b";>//tmp/c'
    assert CrossClusterRef.parse(text) == CrossClusterRef("hume", "//tmp/c", 'a"b')
    assert CrossClusterRef.parse("hume://tmp/c") == CrossClusterRef("hume", "//tmp/c")
