"""Addresses that nobody was given: whatever stands in them, the answer is that there is no such page."""

import pytest
from django.test import Client

from accounts.models import Account

ODD = ["%00", "abc%00", "%ff%fe", "%E2%80%AE", "%F0%9F%92%A9", "..%2F..", "%27%20OR%201=1--", "a" * 5000]


@pytest.mark.parametrize("odd", ODD, ids=range(len(ODD)))
@pytest.mark.parametrize("page", ["/a/{}", "/join/{}/", "/register/{}"])
def test_a_stranger_gets_no_page_and_no_fault(owner: Account, page: str, odd: str) -> None:
    for method in ("get", "post"):
        response = getattr(Client(), method)(page.format(odd))
        assert response.status_code in {401, 404, 405}


@pytest.mark.parametrize("odd", ODD, ids=range(len(ODD)))
@pytest.mark.parametrize("page", ["/alerts/{}/", "/alerts/{}/cancel/", "/alerts/{}/acknowledge/"])
def test_an_owner_gets_no_page_and_no_fault(browser: Client, owner: Account, page: str, odd: str) -> None:
    assert browser.post(page.format(odd)).status_code in {404, 405}
    assert browser.get(page.format(odd)).status_code in {404, 405}


@pytest.mark.parametrize("position", ["%00_1", "9999-12-31T23:59:59%2B00:00_1", "0001-01-01T00:00:00%2B14:00_5", "_"])
def test_a_place_in_the_list_that_nobody_gave_out_is_its_beginning_or_its_end(
    browser: Client, owner: Account, position: str
) -> None:
    assert browser.get(f"/alerts/?show=%00&before={position}").status_code == 200
