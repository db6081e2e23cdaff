"""A whole life on a running product, with everything that goes wrong in one; it notes every secret that comes up."""

import re
from collections.abc import Callable
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx

from accounts.management.commands.seed_demo import EMAIL, NUMBER
from tests.gateway.flow import pkce
from tests.house.running import Running
from tests.journeys.site import OverTheWire, Visitor
from tests.mcp_client import McpClient

ADA, NEW, FOREIGN = "+12025550171", "+12025550166", "+12025550199"
NEWCOMER = "newcomer.zebrano@example.com"
# A word that is in every text, and nowhere else.
WORD = "quaggazebra"
INBOUND = "/webhooks/twilio/inbound"


class Life:
    """What happens in it, and everything secret that came up."""

    def __init__(self, running: Running) -> None:
        self.running = running
        self.secrets: dict[str, str] = {"text": WORD, "newcomer": NEWCOMER, "demo": EMAIL}
        self._closing: list[Callable[[], None]] = []

    def begin(self) -> None:
        """Note what is secret from the first moment on."""
        for name, number in {"sam": NUMBER, "ada": ADA, "new": NEW, "foreign": FOREIGN}.items():
            self.secrets[f"number of {name}"] = number.removeprefix("+")
            self.secrets[f"end of the number of {name}"] = number[-7:]
            self.secrets[f"spaced number of {name}"] = f"{number[-7:-4]} {number[-4:]}"
            self.secrets[f"dashed number of {name}"] = f"{number[-7:-4]}-{number[-4:]}"
        for name in ("TWILIO_ACCOUNT_SID", "TWILIO_AUTH_TOKEN", "TWILIO_CONTENT_SID_ALERT"):
            self.secrets[name] = self.running.settings[name]
        self.secrets["demo token"] = parse_qs(urlsplit(self.running.sign_in_url).query)["token"][0]

    def visitor(self) -> Visitor:
        visitor = Visitor(self.running.site)
        self._closing.append(visitor.close)
        return visitor

    def agent(self, token: str) -> McpClient:
        wire = OverTheWire(self.running.site)
        self._closing.append(wire.close)
        return McpClient(wire, token)

    def close(self) -> None:
        while self._closing:
            self._closing.pop()()

    def secret(self, name: str, value: str) -> str:
        assert len(value) >= 6, f"{name} is too short to be searched for"
        self.secrets[f"{name} ({len(self.secrets)})"] = value
        return value

    def code(self, name: str, text: str) -> str:
        """The six digits in a text."""
        found = re.search(r"\b\d{6}\b", text)
        assert found is not None
        return self.secret(name, found[0])

    def mailed_code(self, email: str) -> str:
        letters = self.running.wait_for(lambda: self.running.phones(f"mail?to={email}"))
        return self.code("mailed code", letters[-1]["text"])

    def texted_code(self, number: str) -> str:
        sent = self.running.message(number, "sms", "code")
        return self.code("texted code", sent["body"])


def wrong(code: str) -> str:
    return f"{(int(code) + 1) % 1_000_000:06d}"


def sign_up(life: Life) -> None:
    """Somebody new: an e-mail code, mistyped once, and a number of their own."""
    page = life.visitor().open("/sign-up/").press("Send me a code", name="Newcomer", email=NEWCOMER)
    code = life.mailed_code(NEWCOMER)
    page.press("Open my account", code=wrong(code))
    page.press("Open my account", code=code)
    page.open("/settings/numbers/own/").press("Continue", number="(202) 555-0166")
    page.press("Send it by SMS")
    texted = life.texted_code(NEW)
    page.press("Verify", code=wrong(texted))
    page.press("Verify", code=texted)
    assert page.status == 200
    life.visitor().open("/sign-in/").press("Send me a code", email="nobody.zebrano@example.com")


def invite_ada(life: Life, sam: Visitor) -> str:
    """Ada agrees on her own page; the link to it."""
    sam.open("/settings/numbers/add/").press("Add", name="Ada", number="(202) 555-0171").press("Invite by SMS")
    code = life.texted_code(ADA)
    link = sam.open(sam.address).press("Make a link").link("/join/")
    life.secret("invite", link.rstrip("/").rpartition("/")[2])
    ada = life.visitor().open(link).press("I agree", code=wrong(code))
    assert ada.status == 422
    ada.press("I agree", code=code)
    assert "You get alerts from Sam" in ada.text
    return link


def connect(life: Life, sam: Visitor, *, twice: bool = False) -> str:
    """The official way to a token, with a client that registers itself. `twice`: its code is used again, ending it."""
    site, back = life.running.site, f"{life.running.sandbox}/callback"
    asked = {"client_name": "Monitor", "redirect_uris": [back], "token_endpoint_auth_method": "none"}
    client_id = httpx.post(f"{site}/register", json=asked).json()["client_id"]
    verifier, challenge = pkce()
    query = {
        "response_type": "code",
        "client_id": client_id,
        "redirect_uri": back,
        "state": "st",
        "scope": "alerts.read alerts.send",
        "code_challenge": challenge,
        "code_challenge_method": "S256",
        "resource": f"{site}/mcp",
    }
    sam.open(f"/authorize?{urlencode(query)}").press("Allow")
    code = parse_qs(urlsplit(sam.address).query)["code"][0]
    form = {
        "grant_type": "authorization_code",
        "code": life.secret("authorization code", code),
        "redirect_uri": back,
        "client_id": client_id,
        "code_verifier": life.secret("verifier", verifier),
        "resource": f"{site}/mcp",
    }
    tokens = httpx.post(f"{site}/token", data=form).json()
    life.secret("refresh token", tokens["refresh_token"])
    if twice:
        assert httpx.post(f"{site}/token", data=form).status_code == 400
    refresh = {"grant_type": "refresh_token", "client_id": client_id, "resource": f"{site}/mcp"}
    httpx.post(f"{site}/token", data={**refresh, "refresh_token": "x" + tokens["refresh_token"]})
    return life.secret("access token", tokens["access_token"])


def send_by_all_channels(life: Life, agent: McpClient) -> str:
    """Each channel, each way to acknowledge; faults on the wire between; the token of a link."""
    running = life.running
    agent.call("send_whatsapp", {"message": f"By WhatsApp {WORD}", "require_ack": True})
    sent = running.message(NUMBER, "whatsapp", WORD)
    life.secret("SID", sent["sid"])
    running.phones(f"phones/{NUMBER}/press_button", {})

    agent.call("send_sms", {"message": f"By SMS {WORD}", "require_ack": True})
    text = running.message(NUMBER, "sms", WORD)
    life.secret("SID", text["sid"])
    link = re.search(r"http://\S+", text["body"])
    assert link is not None
    token = life.secret("token of a link", link[0].rpartition("/")[2])
    page = life.visitor().open(link[0]).press("Acknowledge")
    assert "Thank you" in page.text

    called = agent.call("make_call", {"message": f"By call {WORD}", "require_ack": True})
    ringing = running.wait_for(lambda: [call for call in running.calls(NUMBER) if call["status"] == "ringing"])
    life.secret("SID", ringing[0]["sid"])
    running.phones(f"phones/{NUMBER}/answer", {})
    running.wait_for(lambda: running.calls(NUMBER)[-1]["said"])
    running.phones(f"phones/{NUMBER}/press", {"keys": "1"})
    running.wait_for(lambda: status_of(agent, called["alert_id"]) == "acknowledged")

    for faults in (["drop_answer", "lose"], ["error_after_accepting", "bad_signature"], ["server_error"], ["throttle"]):
        for fault in faults:
            running.phones("faults", {"kind": fault, "to": NUMBER})
        agent.call("send_sms", {"message": f"With {faults[0]} {WORD}"})
        running.wait_for(lambda: all(order["used"] for order in running.phones("faults")["orders"]))
    running.phones("faults", {"kind": "reject", "to": NUMBER, "code": 21211})
    refused = agent.call("send_sms", {"message": f"Refused {WORD}"})
    running.wait_for(lambda: status_of(agent, refused["alert_id"]) == "failed")
    return token


def status_of(agent: McpClient, alert_id: str) -> str:
    [alert] = agent.call("get_alert_status", {"alert_ids": [alert_id]})["alerts"]
    return str(alert["status"])


def stop_by_sms(life: Life, agent: McpClient) -> None:
    """Ada writes STOP in the middle of an alert, and the owner gets a letter."""
    started = {"workflow_id": "acknowledge", "message": f"For Ada {WORD}", "recipient": "Ada", "idempotency_key": "a"}
    alert_id = agent.call("start_workflow", started)["alert_id"]
    life.running.message(ADA, "whatsapp", WORD)
    life.running.phones(f"phones/{ADA}/reply", {"text": f"STOP. {WORD}"})
    life.running.wait_for(lambda: status_of(agent, alert_id) == "failed")
    assert agent.refusal("send_sms", {"message": WORD, "recipient": "Ada"})["code"] == "RECIPIENT_OPTED_OUT"
    life.running.wait_for(
        lambda: [one for one in life.running.phones(f"mail?to={EMAIL}") if "stopped" in one["subject"]]
    )


def knock_at_every_door(life: Life, agent: McpClient, invite: str, token: str) -> set[int]:
    """Requests that are forged, broken or curious; the answers' statuses."""
    running, site = life.running, life.running.site
    seen: set[int] = set()

    def ask(method: str, path: str, **options: object) -> None:
        answer = httpx.request(method, f"{site}{path}", timeout=30, **options)  # type: ignore[arg-type]
        seen.add(answer.status_code)

    inbound = {"From": FOREIGN, "Body": f"{WORD} \x00", "MessageSid": "SM" + "f" * 32}
    for signature in ("", "bm9uZQ==", "\x7f"):
        for path in (INBOUND, f"{INBOUND}/", f"/webhooks/twilio/status/{FOREIGN}", f"/webhooks/twilio/voice/{WORD}"):
            ask("POST", path, data=inbound, headers={"X-Twilio-Signature": signature})
    ask(
        "POST",
        INBOUND,
        content=b"\xff\xfe" + WORD.encode(),
        headers={"Content-Type": "multipart/form-data; boundary=x"},
    )
    ask("POST", INBOUND, data={"Body": WORD * 20_000, "From": FOREIGN})
    for params in (
        {"Body": f"{WORD}\ud83d".encode("utf-16", "surrogatepass").decode("utf-16", "replace")},
        {"Body": ""},
    ):
        running.phones(f"phones/{FOREIGN}/send_raw", {"params": {"ButtonPayload": WORD, "MediaUrl0": WORD, **params}})
    for path in (
        f"/{FOREIGN}",
        f"/join/{WORD}/",
        f"/a/{token}/{FOREIGN}",
        f"/a/{WORD}",
        f"/alerts/{WORD}/",
        f"/settings/numbers/{FOREIGN}/",
        f"/admin/{FOREIGN}/",
        f"/static/{WORD}",
        f"/docs/mcp/{WORD}",
        f"/authorize?client_id={FOREIGN}&redirect_uri=https://{WORD}.example/&state={WORD}",
        f"/demo-sign-in/?token={life.secrets['demo token']}",
        f"/sign-in/?next=https://{WORD}.example/{FOREIGN}",
        "/%ff%fe" + WORD,
    ):
        ask("GET", path)
        ask("PUT", path, content=WORD)
    ask("GET", "/", headers={"Host": f"{WORD}.example"})
    ask("GET", f"/?{'&'.join(f'{WORD}{i}=1' for i in range(1200))}")
    ask("POST", "/stop/", data={"number": FOREIGN})  # without a CSRF token
    ask("POST", "/stop/", data={f"{WORD}{i}": "1" for i in range(1200)})
    ask("POST", f"{urlsplit(invite).path}code/", data={"code": "000000"}, headers={"Origin": f"https://{WORD}.example"})
    for number in (ADA, FOREIGN, f"{WORD}"):
        life.visitor().open("/stop/").press("Text me a code", number=number)

    call = {"jsonrpc": "2.0", "id": FOREIGN, "method": "tools/call", "params": {"name": WORD, "arguments": {}}}
    for headers in (
        {},
        {"Authorization": f"Bearer x{agent.token}"},
        {"Authorization": f"Basic {WORD}"},
        {"Authorization": f"Bearer {agent.token}"},
        {"Authorization": f"Bearer {agent.token}", "MCP-Protocol-Version": WORD, "Mcp-Method": WORD, "Mcp-Name": WORD},
        {"Authorization": f"Bearer {agent.token}", "Mcp-Session-Id": WORD, "Origin": f"https://{WORD}.example"},
    ):
        ask("POST", "/mcp", json=call, headers=headers)
        ask("POST", "/mcp", content=f'{{"{WORD}": "{FOREIGN}"', headers=headers | {"Content-Type": "application/json"})
        ask("GET", "/mcp", headers=headers)
        ask("DELETE", "/mcp", headers=headers)
    assert agent.post("tools/call", {"name": WORD, "arguments": {WORD: FOREIGN}}).status_code < 500
    assert agent.post(WORD, {"name": FOREIGN}).status_code < 500
    for arguments in (
        {"message": f"{WORD} https://bit.ly/{WORD}"},
        {"message": WORD, "recipient": FOREIGN},
        {"message": WORD * 100},
        {"message": WORD, FOREIGN: WORD},
        {"message": {WORD: FOREIGN}},
        {"message": f"{WORD}\x00\ud800".encode("utf-8", "surrogatepass").decode("utf-8", "replace")},
    ):
        assert agent.refusal("send_sms", arguments)["code"] in ("CONTENT_REJECTED", "RECIPIENT_NOT_FOUND")
    for body in ({"redirect_uris": [FOREIGN], "client_name": WORD}, {WORD: FOREIGN}, {"client_name": WORD * 500}):
        ask("POST", "/register", json=body)
    ask("POST", "/token", data={"grant_type": WORD, "code": agent.token, "client_id": FOREIGN})
    ask("POST", "/token", data={"token": agent.token, "token_type_hint": WORD})
    return seen
