"""The addresses we give the carrier with each request; our own id stands in every one (architecture, rule 4)."""

from django.conf import settings
from django.core.signing import BadSignature, Signer

# Up to three more tries on any failure: a report that meets a restart comes again (twilio.md, B2).
# A fragment: neither sent nor signed.
RETRY = "#rc=3&rp=all"
PREFIX = "webhooks/twilio"


def status_url(ref: str) -> str:
    """Where reports about an attempt go."""
    return f"{settings.BASE_URL}/{PREFIX}/status/{ref}{RETRY}"


def voice_url(ref: str) -> str:
    """Where a call gets its words, and where its keys go."""
    return f"{settings.BASE_URL}/{PREFIX}/voice/{ref}{RETRY}"


def code_url(token: str) -> str:
    """Where reports about a verification code go."""
    return f"{settings.BASE_URL}/{PREFIX}/code/{token}{RETRY}"


def code_voice_url(token: str) -> str:
    """Where a call that reads a code out gets its words."""
    return f"{settings.BASE_URL}/{PREFIX}/code-voice/{token}{RETRY}"


def code_token(code_id: int) -> str:
    """The id of a verification code as it stands in an address."""
    return _codes().sign(str(code_id))


def code_of(token: str) -> int | None:
    """The id behind a token; None when it is not ours."""
    try:
        return int(_codes().unsign(token))
    except (BadSignature, ValueError):
        return None


def _codes() -> Signer:
    # Made when it is used: without a SECRET_KEY the system checks still have to run, and say so.
    return Signer(sep=".", salt="verification-code")
