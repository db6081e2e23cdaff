"""The mailbox: what arrives over SMTP, and how it is shown."""

import smtplib
import socket
from collections.abc import Iterator
from email.message import EmailMessage

import httpx
import pytest

from sandbox import Sandbox, smtp


@pytest.fixture
def mailer(sandbox: Sandbox) -> Iterator[smtplib.SMTP]:
    with smtplib.SMTP("127.0.0.1", sandbox.smtp_port, timeout=5) as found:
        yield found


def _letter(text: str = "Your code is 123456.\n", subject: str = "Your code") -> EmailMessage:
    letter = EmailMessage()
    letter["From"] = "BreakPass <support@breakpass.example>"
    letter["To"] = "ada@example.com"
    letter["Subject"] = subject
    letter.set_content(text)
    return letter


def test_a_letter_arrives_with_its_words(sandbox: Sandbox, mailer: smtplib.SMTP) -> None:
    text = "Zoë, see https://a.example/in?x=1\n.\n..dots\nend\n"
    mailer.send_message(_letter(text, "Déjà vu"))
    (mail,) = sandbox.mail("ADA@example.com")
    assert (mail.sender, mail.recipients) == ("BreakPass <support@breakpass.example>", ("ada@example.com",))
    assert (mail.subject, mail.text) == ("Déjà vu", text.strip())
    assert sandbox.mail("noah@example.com") == []


def test_of_two_versions_the_plain_one_is_shown_and_html_alone_is_read_as_words(
    sandbox: Sandbox, mailer: smtplib.SMTP
) -> None:
    both = _letter("Plain words")
    both.add_alternative("<p>HTML words</p>", subtype="html")
    mailer.send_message(both)
    html = _letter()
    html.set_content(
        '<style>p{color:red}</style><p>Hello &amp; <a href="https://a.example/">welcome</a></p>', subtype="html"
    )
    mailer.send_message(html)
    assert [mail.text for mail in sandbox.mail()] == ["Plain words", "Hello & welcome https://a.example/"]


def test_the_mailbox_shows_the_newest_first_with_safe_links(sandbox: Sandbox, mailer: smtplib.SMTP) -> None:
    mailer.send_message(_letter(subject="First"))
    mailer.send_message(_letter("<script>x</script> https://a.example/in", subject="Second"))
    with httpx.Client(base_url=sandbox.url, trust_env=False) as http:
        page = http.get("/mail").text
        assert page.index("Second") < page.index("First")
        one = http.get(f"/mail/{sandbox.mail()[1].id}").text
        assert "&lt;script&gt;" in one
        assert '<a href="https://a.example/in" rel="noopener noreferrer" target="_blank">' in one
        assert http.get("/mail/none").status_code == 404
        listed = http.get("/sandbox/api/mail?to=ada@example.com").json()
    assert [mail["subject"] for mail in listed] == ["First", "Second"]
    assert "raw" not in listed[0]


def test_one_connection_takes_many_letters_and_a_reset(sandbox: Sandbox, mailer: smtplib.SMTP) -> None:
    assert mailer.ehlo()[0] == 250
    assert mailer.mail("a@b.example")[0] == 250
    assert mailer.rset()[0] == 250
    assert mailer.noop()[0] == 250
    for number in range(3):
        mailer.send_message(_letter(subject=str(number)))
    assert [mail.subject for mail in sandbox.mail()] == ["0", "1", "2"]


def test_commands_out_of_order_and_unknown_ones_are_refused(sandbox: Sandbox, mailer: smtplib.SMTP) -> None:
    assert mailer.docmd("MAIL", "FROM:<a@b.example>")[0] == 503
    assert mailer.docmd("HELO", "me")[0] == 250
    assert mailer.docmd("RCPT", "TO:<a@b.example>")[0] == 503
    assert mailer.docmd("DATA")[0] == 503
    assert mailer.docmd("MAIL", "a@b.example")[0] == 501
    assert mailer.docmd("MAIL", "FROM:<>")[0] == 250
    assert mailer.docmd("RCPT", "TO:<>")[0] == 501
    assert mailer.docmd("STARTTLS")[0] == 500
    assert sandbox.mail() == []


def test_a_letter_that_is_too_large_is_refused_and_the_next_one_taken(
    sandbox: Sandbox, mailer: smtplib.SMTP, monkeypatch: pytest.MonkeyPatch
) -> None:
    mailer.ehlo()
    assert mailer.docmd("MAIL", f"FROM:<a@b.example> SIZE={smtp.MAX_BYTES + 1}")[0] == 552
    monkeypatch.setattr(smtp, "MAX_BYTES", 20_000)
    # Without the announcement, the letter itself is counted.
    mailer.esmtp_features.pop("size")
    with pytest.raises(smtplib.SMTPDataError) as refused:
        mailer.sendmail("a@b.example", ["c@d.example"], b"Subject: x\r\n\r\n" + b"y" * 50_000)
    assert refused.value.smtp_code == 552
    mailer.send_message(_letter("z" * 9000 + "\n"))
    assert [len(mail.text) for mail in sandbox.mail()] == [9000]


def test_a_connection_that_breaks_off_leaves_nothing(sandbox: Sandbox) -> None:
    with socket.create_connection(("127.0.0.1", sandbox.smtp_port), timeout=5) as sock:
        assert sock.recv(100).startswith(b"220 ")
        sock.sendall(b"HELO me\r\nMAIL FROM:<a@b.example>\r\nRCPT TO:<c@d.example>\r\nDATA\r\nhalf a let")
    assert sandbox.mail() == []
