"""The rows of accounts: who signs in, whom they reach, at which numbers, and what it costs."""

from accounts.models.account import Account, Member, Pause, Plan
from accounts.models.connection import CapHit, Connection
from accounts.models.money import LedgerEntry, Payment
from accounts.models.people import Holder, Number, Person, VerificationCode
from accounts.models.rates import Country, Rate
from accounts.models.user import Letter, User

__all__ = [
    "Account",
    "CapHit",
    "Connection",
    "Country",
    "Holder",
    "LedgerEntry",
    "Letter",
    "Member",
    "Number",
    "Pause",
    "Payment",
    "Person",
    "Plan",
    "Rate",
    "User",
    "VerificationCode",
]
