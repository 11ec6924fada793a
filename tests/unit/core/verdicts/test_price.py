from __future__ import annotations

from queue_agent.core.verdicts.price import Price


def test_a_price_is_published_with_what_is_not_known_as_null() -> None:
    assert Price(5, None, 7, None, None, 86400.0, is_dead=True, also_held_by=("hume://b",)).to_map() == {
        "also_held_by": ["hume://b"],
        "dead": True,
        "held_row_count": 5,
        "held_data_weight": None,
        "growth_rows_per_day": 7,
        "growth_data_weight_per_day": None,
        "oldest_row_age": None,
        "silent": 86400.0,
    }
