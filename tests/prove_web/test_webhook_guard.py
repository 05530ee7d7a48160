"""Nothing is sent into the network, however its address is spelt; the client connects to the checked address."""

from __future__ import annotations

import ipaddress
import socket
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_servers.mcp.ssrf import is_public
from prove_web.alerts.ssrf import UrlRefusedError, address_of, client, parse_url

INSIDE = [
    *("127.0.0.1", "127.1", "2130706433", "0x7f000001", "017700000001", "0177.0.0.1", "0x7f.1", "127.0.0.1."),
    *("0.0.0.0", "0", "10.0.0.1", "10.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "2852039166"),
    *("100.64.0.1", "192.0.0.192", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255"),
    *("[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[fe80::1]", "[fc00::1]"),
    *("[fd00:ec2::254]", "[ff02::1]", "[64:ff9b::7f00:1]", "[64:ff9b:1::a00:1]", "[2002:7f00:1::]", "[2001:db8::1]"),
    *("[::ffff:a9fe:a9fe]", "[0:0:0:0:0:ffff:10.0.0.1]", "localhost", "localhost.", "LOCALHOST"),
    *("\uff11\uff12\uff17.\uff10.\uff10.\uff11", "127\u30020\u30020\u30021", "\u2460\u2461\u2466.0.0.1"),
]
ADDRESSES = [
    *(
        "ftp://example.com/",
        "file:///etc/passwd",
        "gopher://example.com",
        "//example.com/",
        "example.com",
        "",
        "https://",
    ),
    *("http://[::1", "http://a b/"),
    *("https://user@example.com/", "https://user:pass@example.com/", "https://example.com@127.0.0.1/"),
    *(
        "https://example.com:22/",
        "http://example.com:6379/",
        "https://example.com:99999/",
        "http://[::1",
        "http://a b/",
    ),
]


@pytest.mark.parametrize("host", INSIDE)
def test_a_host_inside_is_refused_in_every_spelling(host: str) -> None:
    """Its address is refused, or what it resolves to is refused, or it resolves to nothing."""
    with pytest.raises((UrlRefusedError, httpx2.ConnectError)), client(2) as http:
        parse_url(f"http://{host}/hook")
        http.post(f"http://{host}/hook", content=b"{}")


@pytest.mark.parametrize("text", ADDRESSES)
def test_an_address_that_is_not_a_plain_web_address_is_refused_before_any_lookup(text: str) -> None:
    with pytest.raises(UrlRefusedError):
        parse_url(text)


@given(st.ip_addresses(v=4))
def test_an_address_of_version_four_is_public_exactly_if_it_is_one_host_of_the_internet(
    address: ipaddress.IPv4Address,
) -> None:
    public = is_public(str(address))
    special = address.is_private or address.is_multicast or address.is_reserved or not address.is_global
    assert public is not (special or str(address).startswith(("192.0.0.", "192.88.99.")))
    assert is_public(f"::ffff:{address}") is public, "wrapped, it is the same host"
    assert not is_public(f"::{address}") and not is_public(f"64:ff9b::{address}")


@given(st.ip_addresses(v=6))
def test_an_address_of_version_six_is_public_only_among_those_of_the_internet(address: ipaddress.IPv6Address) -> None:
    if is_public(str(address)) and not address.ipv4_mapped:
        assert str(address)[0] in "23" and address.is_global
        assert not (address.is_private or address.is_multicast or address.is_link_local or address.is_reserved)


def resolving(monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> list[str]:
    """Make names resolve to these lists in turn; return the names that were looked up."""
    lookups: list[str] = []

    def getaddrinfo(host: Any, port: Any, *rest: Any, **more: Any) -> list[Any]:
        lookups.append(str(host))
        found = answers[min(len(lookups), len(answers)) - 1]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port)) for one in found]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return lookups


def test_one_address_inside_among_many_is_enough_to_refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    resolving(monkeypatch, ["93.184.215.14", "10.0.0.1"])
    with pytest.raises(UrlRefusedError, match="PROVE_WEBHOOK_HOSTS"):
        address_of(parse_url("https://example.com/"))


def test_a_name_that_rebinds_is_not_looked_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client connects to the checked address: rebinding the name to one inside comes too late."""
    lookups = resolving(monkeypatch, ["93.184.215.14"], ["127.0.0.1"])
    reached: list[tuple[str, int]] = []

    def connect(address: tuple[str, int], *rest: Any, **more: Any) -> socket.socket:
        reached.append(address)
        raise OSError("no network in this test")

    monkeypatch.setattr(socket, "create_connection", connect)
    with pytest.raises(httpx2.ConnectError), client(2) as http:
        http.post("http://rebinds.example/hook", content=b"{}")
    assert reached == [("93.184.215.14", 80)]
    assert lookups == ["rebinds.example"]


def test_an_internal_host_is_reached_once_the_operator_names_it(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    resolving(monkeypatch, ["10.0.0.9"])
    settings.WEBHOOK_HOSTS = frozenset({"hooks.internal", "chat.internal:9000"})
    assert address_of(parse_url("http://hooks.internal/")) == "10.0.0.9"
    assert address_of(parse_url("http://chat.internal:9000/")) == "10.0.0.9"
    for other in ("http://hooks.internal:9000/", "http://chat.internal:9001/"):
        with pytest.raises(UrlRefusedError, match="Port"):
            parse_url(other)
    for other in ("http://chat.internal/", "http://other.internal/"):
        with pytest.raises(UrlRefusedError, match="internal host"):
            address_of(parse_url(other))


def test_no_proxy_of_the_environment_comes_between(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    with client(1) as http:
        assert http._mounts == {} and http.trust_env is False
