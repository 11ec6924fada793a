"""JSON has types, strings and attributes as its options say, byte for byte."""

from __future__ import annotations

from typing import Any

import pytest

from yt_local.formats.format import RowShape
from yt_local.formats.formats import parse_format
from yt_local.formats.json_output import shortest
from yt_wire import yson
from yt_wire.error import YtError

BOTH = {"stringify": "true", "annotate_with_types": 1}  # booleans come in many spellings


def written(value: Any, **options: Any) -> str:
    return parse_format(yson.with_attributes("json", options)).write_node(value).decode()


def read(text: str, **options: Any) -> Any:
    return parse_format(yson.with_attributes("json", options)).read_node(text.encode())


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (-5, '{"$type":"int64","$value":"-5"}'),
        (yson.Uint64(5), '{"$type":"uint64","$value":"5"}'),
        (2**63, '{"$type":"uint64","$value":"9223372036854775808"}'),
        (0.5, '{"$type":"double","$value":"0.5"}'),
        (1.0, '{"$type":"double","$value":"1"}'),
        (True, '{"$type":"boolean","$value":"true"}'),
        ("x", '{"$type":"string","$value":"x"}'),
        (None, "null"),
        ([1], '[{"$type":"int64","$value":"1"}]'),
        ({"$a": None}, '{"$$a":null}'),
        (float("inf"), '{"$type":"double","$value":"inf"}'),
        (
            yson.with_attributes("x", {"a": 1}),
            '{"$attributes":{"a":{"$type":"int64","$value":"1"}},"$type":"string","$value":"x"}',
        ),
        (
            yson.with_attributes([], {"$b": True}),
            '{"$attributes":{"$$b":{"$type":"boolean","$value":"true"}},"$value":[]}',
        ),
    ],
)
def test_types_are_named_and_values_are_strings(value: Any, text: str) -> None:
    assert written(value, **BOTH) == text


def test_each_option_does_its_own() -> None:
    assert written([1, 0.5, True, "s"], stringify=True) == '["1","0.5","true","s"]'
    assert written([1, None], annotate_with_types=True) == '[{"$type":"int64","$value":1},null]'


def test_a_long_string_is_cut_to_bytes_and_a_key_is_not() -> None:
    assert written({"long": "abcd"}, string_length_limit=3) == '{"long":{"$incomplete":true,"$value":"abc"}}'
    cut = written(yson.with_attributes("\N{CYRILLIC SMALL LETTER ZHE}", {"a": 1}), string_length_limit=1, **BOTH)
    assert cut == (
        '{"$attributes":{"a":{"$type":"int64","$value":"1"}},"$incomplete":true,"$type":"string","$value":"\xd0"}'
    )
    assert written("abcd", string_length_limit=3, attributes_mode="never") == '"abcd"'
    assert written("abcd", string_length_limit=None) == '"abcd"'


def test_attributes_are_written_always_or_never() -> None:
    value = {"a": [1, yson.with_attributes(None, {"b": "c"})]}
    assert written(value, attributes_mode="always") == (
        '{"$attributes":{},"$value":{"a":{"$attributes":{},"$value":[{"$attributes":{},"$value":1},'
        '{"$attributes":{"b":{"$attributes":{},"$value":"c"}},"$value":null}]}}}'
    )
    assert written(value, attributes_mode="never", annotate_with_types=True) == '{"a":[1,null]}'


def test_utf8_is_encoded_unless_told_otherwise() -> None:
    assert written("\N{CYRILLIC SMALL LETTER ZHE}") == '"\xd0\xb6"'
    assert written("\N{CYRILLIC SMALL LETTER ZHE}", encode_utf8="0") == '"\N{CYRILLIC SMALL LETTER ZHE}"'
    with pytest.raises(YtError, match="not UTF-8"):
        written(b"\xff", encode_utf8=False)


def test_what_is_no_number_needs_an_option() -> None:
    values = [float("nan"), float("inf"), float("-inf")]
    assert written(values, stringify_nan_and_infinity=True) == '["nan","inf","-inf"]'
    with pytest.raises(YtError, match="Unexpected NaN or infinity encountered during JSON writing"):
        written(values)
    with pytest.raises(YtError, match="cannot be specified simultaneously"):
        written(values, stringify_nan_and_infinity=True, support_infinity=True)


def test_infinities_stand_bare_if_they_are_supported() -> None:
    values = {"a": float("-inf"), "b": [float("inf"), float("nan"), 0.5], "c": "inf", "d": b"\xed\xa0\x80inf"}
    expected = '{"a":-inf,"b":[inf,nan,0.5],"c":"inf","d":"\xed\xa0\x80inf"}'
    assert written(values, support_infinity=True) == expected
    typed = written(float("inf"), support_infinity=True, annotate_with_types=True)
    assert typed == '{"$type":"double","$value":inf}'
    assert written(float("inf"), support_infinity=True, stringify=True) == '"inf"'


@pytest.mark.parametrize(
    "options",
    [
        {"stringify": "yes"},
        {"stringify": 2},
        {"attributes_mode": "sometimes"},
        {"string_length_limit": -1},
        {"string_length_limit": "many"},
        {"format": "binary"},
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(YtError, match=f'Format attribute "{next(iter(options))}"'):
        written(1, **options)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"$type":"int64","$value":"-5"}', -5),
        ('{"$type":"uint64","$value":5}', yson.Uint64(5)),
        ('{"$type":"double","$value":"0.5"}', 0.5),
        ('{"$type":"double","$value":1}', 1.0),
        ('{"$type":"boolean","$value":"true"}', True),
        ('{"$type":"string","$value":"x"}', "x"),
    ],
)
def test_types_are_understood_without_an_option(text: str, value: Any) -> None:
    found = read(text)
    assert found == value
    assert type(found) is type(value)


def test_what_was_written_with_types_is_read_again() -> None:
    value = {"a": yson.with_attributes([1, yson.Uint64(2), 0.5, True, None, "s"], {"b": 1})}
    found = read(written(value, **BOTH))
    assert yson.dumps(found) == yson.dumps(value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"$type":"integer","$value":5}', 'Unexpected "\\$type" value "integer"'),
        ('{"$type":"int64","$value":true}', 'is not of "\\$type" "int64"'),
        ('{"$type":"int64","$value":"many"}', "Error parsing JSON"),
        ('{"$attributes":{"a":1}}', 'Found key "\\$attributes" without key "\\$value"'),
        ('{"$a":1}', 'starts with a single "\\$"'),
    ],
)
def test_what_dollars_cannot_mean_is_refused(text: str, words: str) -> None:
    with pytest.raises(YtError, match=words):
        read(text)


def test_no_key_means_anything_in_plain_json() -> None:
    assert read('{"$value":1,"$$a":2}', plain=True) == {"$value": 1, "$$a": 2}


def test_nulls_are_left_out_of_rows_alone() -> None:
    without = parse_format(yson.with_attributes("json", {"skip_null_values": True}))
    rows = [{"a": None, "b": {"c": None}}, None]
    assert b"".join(without.encode_rows([rows], RowShape())) == b'{"b":{"c":null}}\nnull\n'
    assert without.write_node({"a": None}) == b'{"a":null}'


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (-0.0, "-0"),
        (123456.789, "123456.789"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (-1.5e300, "-1.5e+300"),
        (1e-10, "0.0000000001"),
        (1e-11, "1e-11"),
        (5e-324, "5e-324"),
    ],
)
def test_doubles_have_as_few_characters_as_needed(number: float, text: str) -> None:
    assert shortest(number) == text
    assert float(text) == number
