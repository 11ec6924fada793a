"""Requests that a web page may have made are refused, those of clients are not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yt_wire.http_guard import find_refusal, host_name, origin_name

_HOSTS = ("files.example.org",)
_ORIGINS = ("http://localhost:3000",)


def _refusal(*headers: tuple[str, str]) -> str | None:
    return find_refusal(headers, hosts=_HOSTS, origins=_ORIGINS)


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LocalHost:9870",
        "localhost.:9870",
        "127.0.0.1:9870",
        "10.1.2.3",
        "[::1]:9870",
        "files.example.org",
        "Files.Example.ORG:443",
    ],
)
def test_addresses_localhost_and_allowed_names_are_served(host: str) -> None:
    assert _refusal(("Host", host)) is None


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example.net",
        "evil.example.net:9870",
        "files.example.org.evil.net",
        "evil.files.example.org",
        "localhost.evil.net",
        "evil.localhost",
        "127.0.0.1.evil.net",
        "127.1",
        "2130706433",
        "localhost@evil.net",
        "localhost/",
        "localhost:9870:1",
        "localhost evil.net",
        "[::1",
        "[localhost]",
    ],
)
def test_a_name_that_somebody_had_resolved_to_this_address_is_refused(host: str) -> None:
    refusal = _refusal(("Host", host))
    assert refusal is not None
    assert refusal.isprintable()


def test_a_request_has_to_name_one_host() -> None:
    assert _refusal() is not None
    assert _refusal(("Host", "localhost"), ("host", "localhost")) is not None


@pytest.mark.parametrize("origin", ["http://evil.example.net", "null", "", "http://localhost:3001", "file://"])
def test_pages_of_other_origins_are_refused_on_any_host(origin: str) -> None:
    assert _refusal(("Host", "localhost:9870"), ("Origin", origin)) is not None
    # An allowed origin beside it does not help.
    assert _refusal(("Host", "localhost:9870"), ("Origin", _ORIGINS[0]), ("origin", origin)) is not None


def test_own_and_allowed_pages_are_served() -> None:
    host = ("Host", "localhost:9870")
    assert _refusal(host, ("Origin", "http://localhost:9870"), ("Sec-Fetch-Site", "same-origin")) is None
    assert _refusal(host, ("Origin", "https://localhost:9870")) is None  # something before the server spoke TLS
    assert _refusal(host, ("Origin", "http://localhost:3000"), ("Sec-Fetch-Site", "same-site")) is None
    assert _refusal(host, ("Sec-Fetch-Site", "none")) is None


@pytest.mark.parametrize("site", ["cross-site", "same-site", "Cross-Site"])
def test_what_a_page_embeds_without_an_origin_is_refused(site: str) -> None:
    assert _refusal(("Host", "127.0.0.1:9870"), ("Sec-Fetch-Site", site)) is not None


def test_own_pages_of_a_name_that_is_not_served_are_refused() -> None:
    # DNS rebinding: to the browser the page and the server are one.
    headers = (("Host", "evil.net"), ("Origin", "http://evil.net"), ("Sec-Fetch-Site", "same-origin"))
    assert _refusal(*headers) is not None


@given(st.lists(st.tuples(st.sampled_from(["Host", "Origin", "Sec-Fetch-Site"]), st.text()), max_size=5))
def test_any_headers_are_decided_on(headers: list[tuple[str, str]]) -> None:
    refusal = _refusal(*headers)
    assert refusal is None or refusal.isprintable()


@pytest.mark.parametrize("text", ["", "a.b:80", "http://a.b", "a/b", "*.a.b", "a..b", "a b"])
def test_a_name_to_allow_has_neither_port_nor_protocol(text: str) -> None:
    with pytest.raises(ValueError, match="not the name of a host"):
        host_name(text)


def test_names_to_allow_are_compared_in_lower_case() -> None:
    assert host_name(" Files.Example.org. ") == "files.example.org"


@pytest.mark.parametrize("text", ["http://localhost:3000", "HTTPS://UI.example/", " http://[::1]:80 "])
def test_the_origin_of_pages_is_named_as_browsers_write_it(text: str) -> None:
    origin = origin_name(text)
    headers = [("Host", "localhost"), ("Origin", origin)]
    assert find_refusal(headers, hosts=(), origins=[origin]) is None


@pytest.mark.parametrize("text", ["localhost:3000", "http://localhost/page", "*", "null", "file://x", ""])
def test_what_is_no_origin_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not the origin of pages"):
        origin_name(text)


def test_what_a_page_asks_its_own_server_may_be_handed_on() -> None:
    """The web UI's server sends the headers of the browser along; no script can change `Sec-Fetch-Site`."""
    page = ("Origin", "http://127.0.0.1:8080")
    assert _refusal(("Host", "127.0.0.1:8001"), page, ("Sec-Fetch-Site", "same-origin")) is None
    for sites in (["cross-site"], ["same-site"], ["same-origin", "cross-site"], []):
        assert _refusal(("Host", "127.0.0.1:8001"), page, *(("Sec-Fetch-Site", site) for site in sites)) is not None
    assert _refusal(("Host", "evil.net"), page, ("Sec-Fetch-Site", "same-origin")) is not None
