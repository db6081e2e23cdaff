"""A newcomer's first minutes in a real browser: sign in, a test alert, the phone's button, the page that shows it."""

import io
import json
import re

import pytest
from django.core.management import call_command
from playwright.sync_api import Page, expect

from accounts.management.commands.seed_demo import NUMBER
from accounts.models import Account, Number
from alerts.models import Alert
from tests.browser.conftest import Product, wait_for

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def sign_in(product: Product, **options: object) -> Page:
    """The demo owner by their one-time link."""
    out = io.StringIO()
    call_command("seed_demo", stdout=out)
    return product.open(json.loads(out.getvalue())["sign_in_url"], **options)


def test_a_test_alert_is_acknowledged_on_the_phone_and_the_page_shows_it_live(product: Product) -> None:
    page = sign_in(product)
    expect(page.get_by_role("heading", name="Hello, Sam")).to_be_visible()

    page.get_by_role("button", name="Test by WhatsApp").click()
    expect(page.get_by_role("heading", name="Waiting for you to acknowledge")).to_be_visible(timeout=15_000)
    address = page.url

    phone = product.open(f"{product.sandbox.url}/phone/{NUMBER}")
    phone.get_by_role("button", name="Acknowledge").click()

    expect(page.get_by_role("heading", name="Acknowledged")).to_be_visible(timeout=15_000)
    expect(page.get_by_text("With the button in WhatsApp")).to_be_visible()
    expect(page.get_by_role("button", name="Acknowledge")).to_have_count(0)
    expect(page).to_have_title("Acknowledged · BreakPass")
    expect(page.locator("#said")).to_have_text("Acknowledged")
    assert page.url == address
    assert page.locator("#live[hx-get]").count() == 0
    alert = Alert.objects.get()
    assert (alert.status, alert.ack_via) == ("acknowledged", "whatsapp_button")
    account = Account.objects.get()
    assert (account.balance_cents, account.reserved_cents) == (5000, 0)


def test_times_are_the_readers_own_with_utc_on_hover(product: Product) -> None:
    page = sign_in(product, timezone_id="Asia/Tokyo", locale="en-GB")
    page.get_by_role("button", name="Test by SMS").click()

    accepted = page.locator(".timeline time").first
    expect(accepted).to_be_visible()
    utc = accepted.get_attribute("datetime") or ""
    hour, rest = int(utc[11:13]), utc[13:19]
    expect(accepted).to_have_text(f"{(hour + 9) % 24:02d}{rest}")
    expect(accepted).to_have_attribute("title", f"{utc[:10]} {utc[11:19]} UTC")


def test_the_link_in_a_text_acknowledges_without_a_login(product: Product) -> None:
    page = sign_in(product)
    page.get_by_role("button", name="Test by SMS").click()
    handset = product.sandbox.phone(NUMBER)
    text = wait_for(lambda: [each.body for each in handset.messages("sms") if "/a/" in each.body])[0]
    link = re.search(r"https?://\S+/a/\S+", text)
    assert link is not None

    outside = product.open(link[0])
    assert Alert.objects.get().acknowledged_at is None
    outside.get_by_role("button", name="Acknowledge").click()

    expect(outside.get_by_role("heading", name="Thank you. No more reminders come for this alert.")).to_be_visible()
    expect(page.get_by_role("heading", name="Acknowledged")).to_be_visible(timeout=15_000)
    assert Alert.objects.get().ack_via == "sms_link"


def test_everything_works_without_script(product: Product) -> None:
    page = sign_in(product, java_script_enabled=False)
    page.get_by_role("button", name="Test by SMS").click()
    page.get_by_role("button", name="Acknowledge").click()

    expect(page.get_by_text("Acknowledged. Nothing more is sent for this alert.")).to_be_visible()
    assert Alert.objects.get().ack_via == "portal"


def test_a_number_is_verified_with_the_code_from_the_phone(product: Product) -> None:
    page = sign_in(product)
    Number.objects.all().delete()
    page.goto(f"{product.url}/settings/numbers/own/")
    page.get_by_label("Phone number").fill("202 555 0110")
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("button", name="Send it by SMS").click()
    expect(page.get_by_text("Sent by SMS at")).to_be_visible(timeout=15_000)
    again = page.get_by_role("button", name=re.compile(r"New code by SMS \(\d+ s\)"))
    expect(again).to_be_disabled()

    messages = product.sandbox.phone(NUMBER).messages("sms")
    code = re.search(r"\b(\d{6})\b", messages[-1].body)
    assert code is not None
    page.get_by_label("The 6 digits").fill(code[1])
    page.get_by_role("button", name="Verify").click()

    expect(page.get_by_text("Sam is verified.")).to_be_visible()
    assert Number.objects.get().is_verified


def code_on(product: Product, number: str) -> str:
    """The six digits in the newest text on a phone."""
    texts = wait_for(lambda: product.sandbox.phone(number).messages("sms"))
    found = re.search(r"\b(\d{6})\b", texts[-1].body)
    assert found is not None
    return found[1]


def test_an_invited_person_agrees_on_their_own_page(product: Product) -> None:
    page = sign_in(product)
    page.goto(f"{product.url}/settings/numbers/add/")
    page.get_by_label("Name").fill("Ada")
    page.get_by_label("Phone number").fill("202 555 0171")
    page.get_by_role("button", name="Add").click()
    page.get_by_role("button", name="Make a link").click()
    link = page.locator("#link").inner_text().strip()

    outside = product.open(link)
    outside.get_by_role("button", name="Text me").click()
    outside.get_by_label("The 6 digits").fill(code_on(product, "+12025550171"))
    outside.get_by_role("button", name="I agree").click()

    expect(outside.get_by_role("heading", name="You get alerts from Sam")).to_be_visible()
    assert Number.objects.get(person__name="Ada").is_verified


def test_a_person_stops_everything_on_the_public_page(product: Product) -> None:
    sign_in(product)
    outside = product.open("/stop/")
    outside.get_by_label("Phone number").fill("202 555 0110")
    outside.get_by_role("button", name="Text me a code").click()
    outside.get_by_label("The 6 digits").fill(code_on(product, NUMBER))
    outside.get_by_role("button", name="Stop all alerts to this number").click()

    expect(outside.get_by_role("heading", name="No more alerts to this number")).to_be_visible()
    assert Number.objects.select_related("holder").get().is_opted_out()
