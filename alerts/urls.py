"""The addresses of alerts: where the carrier calls back, with and without a slash at the end (cases, 7)."""

from django.urls import URLPattern, URLResolver, include, path, re_path

from alerts import webhooks

REF = r"(?P<ref>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"
TOKEN = r"(?P<token>[A-Za-z0-9._~-]{1,100})"

urlpatterns: list[URLPattern | URLResolver] = [
    re_path(r"^webhooks/twilio/inbound/?$", webhooks.inbound, name="twilio-inbound"),
    re_path(rf"^webhooks/twilio/status/{REF}/?$", webhooks.status, name="twilio-status"),
    re_path(rf"^webhooks/twilio/voice/{REF}/?$", webhooks.voice, name="twilio-voice"),
    re_path(rf"^webhooks/twilio/code/{TOKEN}/?$", webhooks.code, name="twilio-code"),
    re_path(rf"^webhooks/twilio/code-voice/{TOKEN}/?$", webhooks.code_voice, name="twilio-code-voice"),
    path("", include("alerts.page_urls")),
]
