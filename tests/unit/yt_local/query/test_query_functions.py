"""Functions of queries: values, null, types, refusals."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.yt_local.query.query_tables import Table, constant, error_of, evaluate, rows_of, values
from yt_local.query.patterns import escape, full_match
from yt_local.schema.keys import Value
from yt_local.schema.schema import Column
from yt_wire import yson
from yt_wire.error import YtError
from yt_wire.farm_hash import combine, fingerprint

DOCUMENT = yson.dumps(
    yson.loads(
        b"<attr=4>{key3=2;k={k2=<b=7>3;k3=10};lst=<a=[1;{a=3};{b=7u}]>[0;1;<a={b=4}>2];d=%true;e=#;f=1.5;s=text;u=5u}"
    )
)


def document(expression: str) -> Value:
    """The expression over a row whose column `c` holds `DOCUMENT`."""
    columns = (Column("k", "int64", sort_order="ascending"), Column("c", "any"), Column("n", "any"))
    return rows_of(f"{expression} as x from [//t]", Table(columns, [(1, DOCUMENT, None)]))[0][0]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("if_null(#, #)", None),
        ("greatest(1, 5, #, 3)", 5),
        ("greatest('a', 'b')", b"b"),
        ("'a' || 'b' || 'c'", b"abc"),
        ("lower('ÀБ')", "àб".encode()),
        ("upper('àб')", "ÀБ".encode()),
        (r"lower('\xffA')", b"\xffa"),
        ("is_valid_utf8('я')", True),
        (r"is_valid_utf8('\xff')", False),
        ("farm_hash()", combine([])),
        ("farm_hash('a', 'b')", combine([fingerprint(b"a"), fingerprint(b"b")])),
        ("farm_hash(456u)", 2044001940267648219),
        ("farm_hash(%true) = farm_hash(1)", True),
        ("transform(2, (1, 2), ('a', 'b'))", b"b"),
        ("transform(3, (1, 2), ('a', 'b'))", None),
        ("transform(3, (1, 2), ('a', 'b'), 'else')", b"else"),
        ("transform((1, 'x'), ((1, 'x'), (2, 'y')), (10u, 20u))", 10),
        ("case when 1 = 2 then 'a' when 1 = 1 then 'b' else 'c' end", b"b"),
        ("case when # = 1 then 1 end", None),
        ("case 5 when 4 then 'four' when 5 then 'five' end", b"five"),
        ("case 6u when 4 then 1 else 2.5 end", 2.5),
        ("'abcdef' like 'a_c_%f'", True),
        ("'abcdef' like 'a_c'", False),
        (r"'50%' like '50\\%'", True),
        (r"'50x' like '50\\%'", False),
        ("'q' not like 'x_' escape 'x'", True),
        ("'_' like 'x_' escape 'x'", True),
        ("'Abc' ilike 'aBC'", True),
        ("'Abc' like 'aBC'", False),
        ("'я' like '_'", True),
        (r"'a\nb' like 'a%b'", True),
        (r"'a b' rlike '\\w+ b'", True),
        ("'xa b' regexp 'a b'", False),
        ("regex_full_match('hel.*', 'hello')", True),
        ("regex_full_match('hel', 'hello')", False),
        ("regex_partial_match('l+', 'hello')", True),
        ("regex_replace_first('l', 'hello', 'L')", b"heLlo"),
        ("regex_replace_all('l', 'hello', 'L')", b"heLLo"),
        (r"""regex_extract("([a-z]*)@(.*)", "email foo@bar.com", "\\1 at \\2")""", b"foo at bar.com"),
        ("regex_extract('x', 'abc', 'y')", b""),
        # What a rewrite cannot mean changes nothing, as RE2 has it.
        (r"regex_replace_all('n', 'n', '\\1')", b"n"),
        (r"regex_replace_first('n', 'n', 'a\\x')", b"n"),
        (r"regex_extract('n', 'n', '\\1')", b""),
        (r"regex_replace_all('(b)|a', 'abc', '<\\1\\\\\\0>')", rb"<\a><b\b>c"),
        ("regex_replace_all('a*', 'baac', 'X')", b"XbXcX"),
        ("regex_replace_all('', 'яb', '-')", "-я-b-".encode()),
        (r"regex_replace_all('(?i)Я', 'яЯ', 'r')", b"rr"),
        (r"regex_partial_match('\\pL\\C', 'aя')", True),
        ("'Я%' ilike 'я!%' escape '!'", True),
        (r"'a\\%' like 'a\\%' escape ''", True),
        (r"'\xff' like '_'", False),
        ("regex_escape('1.5-2.0?')", rb"1\.5\-2\.0\?"),
        ("timestamp_floor_hour(1454284799)", 1454281200),
        ("timestamp_floor_day(1454284799)", 1454198400),
        ("timestamp_floor_week(1454284799)", 1453680000),
        ("timestamp_floor_month(1454284799)", 1451606400),
        ("timestamp_floor_quarter(1454284799)", 1451606400),
        ("timestamp_floor_year(1454284799)", 1451606400),
        ("timestamp_floor_day_tz(1454284799, 'Europe/Moscow')", 1454274000),
        ("format_timestamp(1454284800, '%Y-%m-%dT%H:%M:%S')", b"2016-02-01T00:00:00"),
        ("format_guid(1u, 4294967298u)", b"1-2-0-1"),
        ("abs(-5)", 5),
        ("abs(5u)", 5),
        ("floor(-1.5)", -2),
        ("ceil(-1.5)", -1),
        ("round(2.5)", 3),
        ("sqrt(4)", 2.0),
        ("ln(0)", -math.inf),
        ("pow(2, 10)", 1024.0),
        ("is_nan(sqrt(-1))", True),
        ("is_finite(1.0 / 0.0)", False),
        ("gcd(12, 18)", 6),
        ("int64(3.9)", 3),
        ("int64(-3.9)", -3),
        ("uint64(-1)", 2**64 - 1),
        ("int64(18446744073709551615u)", -1),
        ("double(1)", 1.0),
        ("boolean(0)", False),
        ("string('x')", b"x"),
        ("numeric_to_string(-5)", b"-5"),
        ("numeric_to_string(5u)", b"5u"),
        ("numeric_to_string(1.5)", b"1.5"),
        ("parse_int64('-42')", -42),
        ("parse_uint64('42')", 42),
        ("parse_double('1.5')", 1.5),
        ("any_to_yson_string(make_map('a', 1, 'b', 2u))", b'{"a"=1;"b"=2u;}'),
        ("any_to_yson_string(make_list('a', 1, #, %true, make_list()))", b'["a";1;#;%true;[];]'),
        ("any_to_yson_string(to_any('x'))", b'"x"'),
        ("yson_length(make_list(1, 2, 3))", 3),
        ("list_contains(make_list(1, 2u, 'x'), 2u)", True),
        ("list_contains(make_list(1, 2u, 'x'), 2)", False),
        ("list_has_intersection(make_list(1, 2), make_list(2, 3))", True),
        ("int64(to_any(5u))", 5),
        ("to_any(5) = 5", True),
        ("to_any('b') > to_any('a')", True),
        ("5 < to_any(6)", True),
        ("make_entity()", None),
    ],
)
def test_functions_of_constants(expression: str, expected: Value) -> None:
    value = constant(expression)
    assert value == expected
    assert type(value) is type(expected)


@pytest.mark.parametrize(
    "expression",
    [
        "lower(#)",
        "concat(s, 'x')",
        "s || 'x'",
        "length(s)",
        "s like 'a'",
        "is_substr('a', s)",
        "regex_full_match('a', s)",
        "timestamp_floor_day(i)",
        "int64(d)",
        "numeric_to_string(i)",
        "try_get_int64(a, '/x')",
        "list_contains(a, 1)",
        "to_any(i)",
        "abs(i)",
        "-i",
        "~u",
        "i & 1",
        "if(b, 1, 2)",
    ],
)
def test_most_functions_of_null_are_null(expression: str) -> None:
    # The last row has nothing but a key; only one of the expressions has another type in the others.
    assert rows_of(f"{expression} as x from [//t] where k = 3", values()) == [(None,)]


def test_hashes_and_cases_know_null() -> None:
    assert evaluate("farm_hash(s) = farm_hash(#)") == [False, False, True]
    assert evaluate("case when b then 1 else 2 end") == [1, 2, 2]
    assert evaluate("transform(i, (10, #), ('ten', 'none'))") == [b"ten", None, b"none"]
    assert evaluate("i between (-30 and -10, 5 and 15)") == [True, True, False]
    assert evaluate("i between (# and 0)") == [False, True, True]
    assert evaluate("(k, i) between ((1) and (1, 5), (2) and (2))") == [False, True, False]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('try_get_uint64(c, "/lst/@a/2/b")', 7),
        ('get_int64(c, "/k/k3")', 10),
        ('get_int64(c, "/k/k2")', 3),
        ('get_int64(c, "/lst/1")', 1),
        ('get_int64(c, "/@attr")', 4),
        ('get_double(c, "/f")', 1.5),
        ('get_boolean(c, "/d")', True),
        ('get_string(c, "/s")', b"text"),
        ('any_to_yson_string(get_any(c, "/k"))', b'{"k2"=<"b"=7;>3;"k3"=10;}'),
        ('try_get_int64(c, "/u")', None),
        ('try_get_int64(c, "/none/deeper")', None),
        ('try_get_int64(c, "/lst/7")', None),
        (f'try_get_int64(c, "/lst/{"1" * 5000}")', None),
        ('try_get_string(c, "/e")', None),
        ('int64(get_any(c, "/f"))', 1),
        ('get_any(c, "/u") = 5u', True),
        ('try_get_any(c, "/none") = #', True),
        ("yson_length(c)", 8),
        ('list_contains(get_any(c, "/lst"), 2)', True),
        ("n < 1", True),
    ],
)
def test_values_inside_of_yson(expression: str, expected: Value) -> None:
    assert document(expression) == expected


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ('get_int64(c, "/s")', 'Value of type "int64" is not found at YPath /s'),
        ("int64(c)", "Cannot convert value"),
        ('boolean(get_any(c, "/s"))', 'Cannot convert value ""text"" of type "any" to "boolean"'),
        ('get_any(c, "/s") = 1', 'Cannot compare values of types "string" and "int64"'),
        ("c = c", 'Values of type "map" are not comparable'),
        ('yson_length(get_any(c, "/s"))', "YSON List or Map expected, but got String"),
        ("list_contains(c, 1)", 'Invalid node type: expected "list", actual "map"'),
        ("make_map('a')", '"make_map" takes a even number of arguments'),
        ("make_map(1, 2)", "Invalid type of key in key-value pair #0"),
    ],
)
def test_what_yson_does_not_hold_is_an_error(expression: str, message: str) -> None:
    with pytest.raises(YtError) as caught:
        document(expression)
    assert caught.value.message.startswith(message)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("parse_int64('x')", 'Cannot convert value "x" of type "string" to "int64"'),
        ("parse_int64('')", 'Cannot convert value "" of type "string" to "int64"'),
        ("int64(1.0 / 0.0)", 'Cannot convert inf to "int64"'),
        ("farm_hash(1.5)", 'Wrong type for argument 1 to function "farm_hash"'),
        ("concat('a', 'b', 'c')", 'Wrong number of arguments to function "concat": expected 2, got 3'),
        ("if(1, 2, 3)", 'Wrong type for argument 1 to function "if"'),
        ("if(%true, 1, 'x')", 'Wrong type for argument 3 to function "if"'),
        ("s like 1", "Types mismatch in LIKE pattern"),
        ("s rlike 'a' escape 'b'", "ESCAPE should not be used together with REGEXP (RLIKE)"),
        ("s like 'a' escape 'bc'", "Escape string must be empty or one character"),
        ("s like 'a!' escape '!'", "Incomplete escape sequence at the end of LIKE pattern"),
        ("regex_full_match('(', s)", 'Error parsing regular expression "("'),
        ("regex_full_match('a(?=b)', s)", 'Error parsing regular expression "a(?=b)"'),
        (r"regex_full_match('(a)\\1', s)", r'Error parsing regular expression "(a)\1"'),
        ("regex_full_match('a*+', s)", 'Error parsing regular expression "a*+"'),
        (f"regex_full_match('{'[a-z]{0,1000}' * 40}', s)", "Error parsing regular expression"),
        (
            f"regex_full_match('[a-z]{{0,1000}}[0-9]{{0,1000}}', '{'a' * 300_000}')",
            "A regular expression of 4004 instructions is too much for 300000 bytes of text",
        ),
        (
            f"regex_replace_all('', '{'a' * 5_000}', '{'b' * 5_000}')",
            'Value of type "string" is too long: length 1677',
        ),
        ("transform(i, (1, 2), (1))", "Size mismatch for source and result arrays in TRANSFORM operator"),
        ("transform(i, (1, 2), (1, 'x'))", "Types mismatch in tuple"),
        ("transform(i, (1), (2), 'x')", "Types mismatch in tuple"),
        ("case when 1 then 2 end", "Expression inside CASE WHEN should be boolean"),
        ("case when b then 2 else 'x' end", "Types mismatch in CASE THEN expression"),
        ("case i when 'x' then 2 end", "Type mismatch in expression"),
        ("timestamp_floor_day(9223372036854775807)", "Timestamp 9223372036854775807 is out of range"),
        (r"format_timestamp(1, '\xff')", "Cannot format a timestamp by"),
        ("timestamp_floor_day_tz(1, 'Nowhere/Land')", 'Unknown time zone "Nowhere/Land"'),
    ],
)
def test_arguments_that_make_no_sense_are_refused(expression: str, message: str) -> None:
    assert error_of(f"{expression} as x from [//t]", values()).message.startswith(message)


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        (r"[[:alpha:]]+\d", "ab1", "ab"),
        (r"\Qa.b\E+", "a.b", "axb"),
        (r"(?P<name>a)|(?<other>b)", "b", "c"),
        (r"\x{41}", "A", "a"),
        (r"a\z", "a", "a\n"),
        ("[]a]", "]", "b"),
        ("[^]a]", "b", "]"),
        ("[[a&&b]", "&", "c"),
        (r"\w", "a", "я"),
        ("я.", "яж", "я"),
        ("(?i)aB", "Ab", "ac"),
        ("a$", "a", "b"),
        ("a}+", "a}}", "a"),
    ],
)
def test_regular_expressions_mean_what_they_mean_in_re2(pattern: str, matching: str, other: str) -> None:
    assert full_match(pattern.encode(), matching.encode())
    assert not full_match(pattern.encode(), other.encode())


@given(st.text(max_size=20))
def test_an_escaped_text_matches_itself(text: str) -> None:
    assert full_match(escape(text.encode()), text.encode())


@given(st.text(alphabet=r"ab[]^-\()*+?{}|$.:#&~QEPxz1<>=!", max_size=12))
def test_any_pattern_matches_or_is_refused(pattern: str) -> None:
    try:
        full_match(pattern.encode(), b"ab")
    except YtError as error:
        assert error.message.startswith("Error parsing regular expression")
