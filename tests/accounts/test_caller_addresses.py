"""From where a request comes, as far as caps per address are concerned: nobody picks their own."""

import pytest
from django.test import RequestFactory
from pytest_django import Settings

from accounts.access import client_ip


def address_of(*, remote: str = "10.0.0.1", forwarded: str | None = None) -> str:
    headers = {} if forwarded is None else {"x-forwarded-for": forwarded}
    return client_ip(RequestFactory().get("/", REMOTE_ADDR=remote, headers=headers))


def test_without_trusted_proxies_nobody_s_word_counts(settings: Settings) -> None:
    settings.TRUSTED_PROXY_COUNT = 0
    assert address_of(forwarded="198.51.100.7") == "10.0.0.1"


@pytest.mark.parametrize(
    ("count", "forwarded", "expected"),
    [
        (1, "198.51.100.7", "198.51.100.7"),
        (1, "1.1.1.1, 198.51.100.7", "198.51.100.7"),
        (2, "1.1.1.1, 198.51.100.7, 10.0.0.2", "198.51.100.7"),
        (2, "198.51.100.7", "10.0.0.1"),
        (1, "198.51.100.7:51234", "198.51.100.7"),
        (1, "[2001:db8:1:2:3:4:5:6]:443", "2001:db8:1:2::"),
        (1, " , ,", "10.0.0.1"),
        (1, "unknown", "unknown"),
    ],
)
def test_the_nearest_trusted_proxy_s_word_counts_and_what_stands_before_it_does_not(
    settings: Settings, count: int, forwarded: str, expected: str
) -> None:
    settings.TRUSTED_PROXY_COUNT = count
    assert address_of(forwarded=forwarded) == expected


def test_one_household_s_ipv6_addresses_are_one_caller() -> None:
    assert address_of(remote="2001:db8:1:2::1") == address_of(remote="2001:db8:1:2:ffff::9") == "2001:db8:1:2::"
    assert address_of(remote="2001:db8:1:3::1") == "2001:db8:1:3::"


def test_an_ipv4_address_that_is_written_as_ipv6_is_itself() -> None:
    assert address_of(remote="::ffff:198.51.100.7") == "198.51.100.7"
