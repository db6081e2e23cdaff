"""What the sandbox answers to: credentials, senders, templates and where inbound messages go."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace

ALERT_BODY = "BreakPass alert from {{1}}: {{2}} — sent by BreakPass."
CODE_BODY = "BreakPass: {{1}} Your code is {{2}}. Enter it on the BreakPass page within 10 minutes."

# Config field -> environment variable.
VARIABLES = {
    "account_sid": "TWILIO_ACCOUNT_SID",
    "auth_token": "TWILIO_AUTH_TOKEN",
    "sms_from": "TWILIO_SMS_FROM",
    "whatsapp_from": "TWILIO_WHATSAPP_FROM",
    "voice_from": "TWILIO_VOICE_FROM",
    "template_alert": "TWILIO_CONTENT_SID_ALERT",
    "template_alert_ack": "TWILIO_CONTENT_SID_ALERT_ACK",
    "template_code": "TWILIO_CONTENT_SID_CODE",
    "body_alert": "SANDBOX_BODY_ALERT",
    "body_alert_ack": "SANDBOX_BODY_ALERT_ACK",
    "body_code": "SANDBOX_BODY_CODE",
    "inbound_url": "INBOUND_URL",
}
INBOUND_PATH = "/webhooks/twilio/inbound"


@dataclass(frozen=True, slots=True)
class Timings:
    """How long things take, in seconds of the sandbox's clock."""

    sent_s: float = 0.4
    delivered_s: float = 1.0
    failed_s: float = 0.4
    initiated_s: float = 0.2
    ringing_s: float = 1.0
    # A text to a phone that is off fails after this long.
    unreachable_s: float = 60.0


@dataclass(frozen=True, slots=True)
class Config:
    """One Twilio account. Numbers are E.164; the defaults are fictional."""

    account_sid: str = "AC5a6d0c1e5a6d0c1e5a6d0c1e5a6d0c1e"
    auth_token: str = "sandbox-auth-token"
    sms_from: str = "+12025550142"
    whatsapp_from: str = "+12025550143"
    voice_from: str = "+12025550144"
    template_alert: str = "HX00000000000000000000000000000a1e"
    template_alert_ack: str = "HX0000000000000000000000000000a1ec"
    template_code: str = "HX000000000000000000000000000c0de0"
    body_alert: str = ALERT_BODY
    body_alert_ack: str = ALERT_BODY
    body_code: str = CODE_BODY
    # Empty: inbound messages are shown on the phone and posted nowhere.
    inbound_url: str = ""
    # With Advanced Opt-Out the inbound webhook carries OptOutType.
    advanced_opt_out: bool = False
    timings: Timings = field(default_factory=Timings)

    @classmethod
    def from_environment(cls, environ: Mapping[str, str], *, app_url: str) -> "Config":
        """Read the product's own variables; what is not set keeps its default."""
        found = {name: environ[variable] for name, variable in VARIABLES.items() if environ.get(variable)}
        found.setdefault("inbound_url", app_url.rstrip("/") + INBOUND_PATH)
        for name in ("sms_from", "whatsapp_from", "voice_from"):
            if name in found:
                found[name] = found[name].removeprefix("whatsapp:")
        return replace(cls(), **found)  # type: ignore[arg-type]  # strings, for the fields that are strings

    def environment(self, api_url: str) -> dict[str, str]:
        """The product's settings that make it speak to this sandbox at `api_url`."""
        named = {f.name: getattr(self, f.name) for f in fields(self) if f.name in VARIABLES}
        env = {VARIABLES[name]: str(value) for name, value in named.items() if VARIABLES[name].startswith("TWILIO")}
        return env | {"TWILIO_API_URL": api_url, "TWILIO_CONTENT_API_URL": api_url}
