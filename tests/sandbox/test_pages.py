"""The phones in the browser and the mailbox, as plain pages and forms."""

import re
from collections.abc import Callable, Iterator

import httpx
import pytest

from sandbox import Sandbox
from sandbox.pages import linkify, spaced
from tests.sandbox.conftest import MAYA, Receiver

Send = Callable[..., str]


@pytest.fixture
def browser(sandbox: Sandbox) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=sandbox.url, trust_env=False) as http:
        yield http


def test_the_front_page_starts_empty_and_shows_each_phone_with_its_latest(
    sandbox: Sandbox, browser: httpx.Client, text: Send
) -> None:
    assert "No phone yet." in browser.get("/").text
    text(body="Disk full & <b>hot</b>")
    page = browser.get("/").text
    assert f'href="/phone/{MAYA}"' in page
    assert "Disk full &amp; &lt;b&gt;hot&lt;/b&gt;" in page
    assert "<b>hot</b>" not in page


def test_a_phone_can_be_added_and_a_bad_number_is_explained(sandbox: Sandbox, browser: httpx.Client) -> None:
    added = browser.post("/phones", data={"number": "+1 (202) 555-0177", "name": "Ada"})
    assert (added.status_code, added.headers["location"]) == (303, "/phone/+12025550177")
    assert "Ada" in browser.get("/phone/+12025550177").text
    refused = browser.post("/phones", data={"number": "12"})
    assert refused.status_code == 422
    assert "Write the number with +" in refused.text
    assert list(sandbox.exchange.phones) == ["+12025550177"]
    assert browser.get("/phone/12").status_code == 404


def test_looking_at_a_phone_reads_its_chat_and_its_button_acknowledges(
    sandbox: Sandbox, browser: httpx.Client, receiver: Receiver, chat: Send
) -> None:
    sid = chat(token="tok-9")
    sandbox.advance(5)
    page = browser.get(f"/phone/{MAYA}").text
    assert ">Acknowledge\n" in page
    sandbox.settle()
    assert receiver.statuses()[-1] == "read"
    pressed = browser.post(f"/phone/{MAYA}/button", data={"sid": sid, "title": "Acknowledge"})
    assert (pressed.status_code, pressed.headers["location"]) == (303, f"/phone/{MAYA}")
    sandbox.settle()
    assert receiver.params("/inbound")[0]["ButtonPayload"] == "tok-9"
    assert re.search(r'<button class="reply-button" type="submit" disabled>', browser.get(f"/phone/{MAYA}").text)


def test_texts_are_answered_by_a_form(sandbox: Sandbox, browser: httpx.Client, receiver: Receiver, text: Send) -> None:
    text()
    sandbox.advance(5)
    browser.post(f"/phone/{MAYA}/write", data={"channel": "sms", "text": "STOP"})
    browser.post(f"/phone/{MAYA}/write", data={"channel": "sms", "text": "   "})
    sandbox.settle()
    assert [each["Body"] for each in receiver.params("/inbound")] == ["STOP"]
    assert "Unsubscribed." in browser.get(f"/phone/{MAYA}").text


def test_a_call_is_picked_up_heard_and_answered_with_keys_by_forms(
    sandbox: Sandbox, browser: httpx.Client, receiver: Receiver, ring: Send
) -> None:
    document = '<Response><Gather numDigits="1" action="/voice/one"><Say>Disk is full.</Say></Gather></Response>'
    receiver.answer = lambda each: (200, "text/xml", document) if each.path == "/voice" else (204, "", "")
    ring()
    sandbox.advance(3)
    page = browser.get(f"/phone/{MAYA}").text
    assert "Calling you" in page
    assert all(word in page for word in ("Pick up", "Decline", "Busy"))
    browser.post(f"/phone/{MAYA}/answer")
    sandbox.settle()
    page = browser.get(f"/phone/{MAYA}").text
    assert "Disk is full." in page
    assert all(f'value="{key}"' in page for key in "1234567890*#")
    browser.post(f"/phone/{MAYA}/press", data={"key": "1"})
    sandbox.settle()
    assert receiver.params("/voice/one")[0]["Digits"] == "1"
    # Too late: the call has ended. The page just shows how things are.
    assert browser.post(f"/phone/{MAYA}/hang-up").status_code == 303
    page = browser.get(f"/phone/{MAYA}").text
    assert "No call right now." in page
    assert "You pressed 1" in page


def test_declining_and_busy_have_their_own_buttons(
    sandbox: Sandbox, browser: httpx.Client, receiver: Receiver, ring: Send
) -> None:
    for action, status in (("decline", "failed"), ("busy", "busy")):
        ring()
        sandbox.advance(3)
        browser.post(f"/phone/{MAYA}/{action}")
        sandbox.settle()
        assert receiver.statuses()[-1] == status


def test_what_a_phone_does_by_itself_is_set_by_a_form(sandbox: Sandbox, browser: httpx.Client) -> None:
    form = {"name": "Ada", "whatsapp": "no", "sms": "landline", "call": "answer", "press": "1x9"}
    assert browser.post(f"/phone/{MAYA}/behave", data=form).status_code == 303
    behaviour = sandbox.phone(MAYA).behaviour
    assert (behaviour.online, behaviour.whatsapp, behaviour.sms, behaviour.call, behaviour.press) == (
        False,
        "no",
        "landline",
        "answer",
        "19",
    )
    page = browser.get(f"/phone/{MAYA}").text
    assert "This phone is not on WhatsApp." in page
    assert browser.post(f"/phone/{MAYA}/dance").status_code == 404


def test_an_unchanged_page_is_not_sent_again(sandbox: Sandbox, browser: httpx.Client, text: Send) -> None:
    first = browser.get("/")
    again = browser.get("/", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    text()
    assert browser.get("/", headers={"If-None-Match": first.headers["etag"]}).status_code == 200


def test_pages_load_nothing_foreign_and_run_nothing_inline(sandbox: Sandbox, browser: httpx.Client, chat: Send) -> None:
    chat()
    sandbox.advance(5)
    for path in ("/", f"/phone/{MAYA}", "/mail"):
        answer = browser.get(path)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert not re.search(r"<script(?![^>]*\bsrc=\"/static/)|\son\w+=|\sstyle=|<style", answer.text)
        assert not re.search(r"(src|href)=\"(https?:)?//", answer.text)


def test_links_are_links_and_nothing_else_is_markup() -> None:
    assert linkify("See https://a.example/x?y=1&z=2.") == (
        'See <a href="https://a.example/x?y=1&amp;z=2" rel="noopener noreferrer" target="_blank">'
        "https://a.example/x?y=1&amp;z=2</a>."
    )
    assert linkify('<script>alert(1)</script> javascript:x "q"') == (
        "&lt;script&gt;alert(1)&lt;/script&gt; javascript:x &#34;q&#34;"
    )


def test_numbers_are_grouped_for_the_eye() -> None:
    assert spaced("+12025550101") == "+1 202-555-0101"
    assert spaced("+4915112345678") == "+49 1511 2345678"
    assert spaced("BreakPass") == "BreakPass"
