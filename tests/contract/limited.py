"""What tests of limits share: the refusal, sends that fill a window, and waiting exactly as long as told."""

from datetime import timedelta
from typing import Any

from time_machine import TimeMachineFixture

from alerts.models import Alert
from tests.contract.sends import Sender


def limited(reason: str, message: str, wait: int, **details: Any) -> dict[str, Any]:
    """A RATE_LIMITED error."""
    return {
        "code": "RATE_LIMITED",
        "message": message,
        "retry_after_s": wait,
        "details": {"reason": reason, **details},
    }


def send_many(sender: Sender, count: int, tool: str = "send_sms", **more: Any) -> None:
    """So many different sends that arrive."""
    for _ in range(count):
        sender.deliver(tool, message=f"Number {Alert.objects.count()}.", **more)


def moved(sender: Sender, count: int, *, by: timedelta) -> None:
    """Make the newest alerts of the account so much older, as if they had been sent then."""
    for alert in Alert.objects.filter(account=sender.account).order_by("-pk")[:count]:
        Alert.objects.filter(pk=alert.pk).update(created_at=alert.created_at - by)


def refused_until(
    sender: Sender, clock: TimeMachineFixture, error: dict[str, Any], tool: str = "send_sms", **more: Any
) -> None:
    """The send is refused so until the very second that the refusal names."""
    assert sender.refused(tool, **more) == error
    clock.shift(timedelta(seconds=error["retry_after_s"] - 1))
    assert sender.refused(tool, **more)["retry_after_s"] == 1
    clock.shift(timedelta(seconds=1))
    assert sender.send(tool, **more)["status"] == "queued"
