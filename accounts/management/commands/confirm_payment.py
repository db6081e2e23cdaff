"""`manage.py confirm_payment`: the money arrived; the account is topped up."""

from argparse import ArgumentParser
from datetime import datetime
from typing import Any

from accounts import payments
from accounts.locking import locked
from accounts.management.answering import AnsweringCommand, account_by_email, cents
from accounts.models import Account, Payment
from breakpass.errors import Refusal


class Command(AnsweringCommand):
    """Repeatable: what was confirmed before is not added again."""

    help = "Confirm an account's waiting payment, or one that came by itself (JSON)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Whose payment, and which one."""
        parser.add_argument("email")
        parser.add_argument("--payment", type=int, metavar="ID", help="needed when several wait")
        parser.add_argument("--amount-cents", type=cents, help="a payment that was not asked for; needs --reference")
        parser.add_argument("--reference", help="the bank's or provider's own id of the payment")

    def answer(self, options: dict[str, Any], now: datetime) -> dict[str, Any]:
        """The payment, and what can be spent now."""
        if (options["amount_cents"] is None) != (options["reference"] is None):
            raise ValueError("--amount-cents and --reference go together.")
        with locked(account_by_email(options["email"]).pk) as account:
            if options["amount_cents"] is not None:
                payment = payments.record(
                    account,
                    amount_cents=options["amount_cents"],
                    method="manual",
                    external_ref=options["reference"],
                    now=now,
                )
            else:
                payment = chosen(account, options["payment"])
            changed = payments.confirm(account, payment, by=None, now=now)
            return {"payment_id": payment.pk, "changed": changed, "balance_cents": account.available_cents}


def chosen(account: Account, pk: int | None) -> Payment:
    """The payment of that id, or the only one that waits."""
    if pk is not None:
        found = account.payments.filter(pk=pk).first()
        if found is None:
            raise Refusal("PAYMENT_NOT_FOUND", "This account has no payment of that id.")
        return found
    waiting = list(account.payments.filter(status=Payment.Status.PENDING).order_by("pk"))
    if not waiting:
        raise Refusal("PAYMENT_NOT_FOUND", "No payment of this account waits to be confirmed.")
    if len(waiting) > 1:
        listed = ", ".join(str(payment.pk) for payment in waiting)
        raise Refusal("PAYMENT_NOT_FOUND", f"Several payments wait: name one with --payment ({listed}).")
    return waiting[0]
