"""The portal's forms: they read what was typed; the domain decides and its refusals land beside the field."""

from decimal import Decimal
from typing import Any
from zoneinfo import available_timezones

from django import forms

from accounts.access import refusal_text
from accounts.countries import calling_choices, country_names
from accounts.models import Account, Connection, Person
from breakpass.errors import Refusal

LANGUAGES = [
    ("en", "English"),
    ("ar", "Arabic"),
    ("zh", "Chinese"),
    ("nl", "Dutch"),
    ("fr", "French"),
    ("de", "German"),
    ("hi", "Hindi"),
    ("id", "Indonesian"),
    ("it", "Italian"),
    ("ja", "Japanese"),
    ("ko", "Korean"),
    ("pl", "Polish"),
    ("pt", "Portuguese"),
    ("ru", "Russian"),
    ("es", "Spanish"),
    ("sv", "Swedish"),
    ("tr", "Turkish"),
    ("uk", "Ukrainian"),
]


class PageForm(forms.Form):
    """A form without a colon after its labels, which can take a refusal."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("label_suffix", "")
        super().__init__(*args, **kwargs)

    def take_refusal(self, refusal: Refusal, *, field: str | None = None) -> None:
        """Show a refusal beside the field it names (or `field`), else above the form."""
        named = str(refusal.details.get("field", "")) if refusal.details else ""
        target = named if named in self.fields else field
        labels = {name: str(each.label) for name, each in self.fields.items()}
        self.add_error(target, refusal_text(refusal, labels))


class NumberForm(PageForm):
    """A phone number: with its country code, or as it is dialled in the chosen country."""

    country = forms.ChoiceField(choices=calling_choices, initial="US", label="Country of the number")
    number = forms.CharField(
        max_length=40,
        label="Phone number",
        help_text="As you dial it, or with + and the country code.",
        error_messages={"required": "Enter a phone number."},
        widget=forms.TextInput(attrs={"type": "tel", "autocomplete": "tel", "inputmode": "tel"}),
    )


class StopForm(NumberForm):
    """The number that shall get no more alerts, and how its code should come."""

    channel = forms.ChoiceField(
        choices=[("sms", "Text message"), ("whatsapp", "WhatsApp")], initial="sms", required=False
    )

    def clean_channel(self) -> str:
        """A text message unless WhatsApp was asked for."""
        return str(self.cleaned_data["channel"]) or "sms"


class NewPersonForm(NumberForm):
    """Someone else to reach, by name."""

    name = forms.CharField(
        max_length=30,
        label="Name",
        help_text="Your agent uses this name, so pick one you would say. Agents never see the number.",
        error_messages={"required": "Enter a name."},
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    language = forms.ChoiceField(choices=LANGUAGES, label="Language", help_text="For messages that come in several.")
    field_order = ("name", "country", "number", "language")


class PersonForm(PageForm):
    """A person's name and language."""

    name = forms.CharField(max_length=30, label="Name", error_messages={"required": "Enter a name."})
    language = forms.ChoiceField(choices=LANGUAGES, label="Language")

    @classmethod
    def of(cls, person: Person, shown: str) -> "PersonForm":
        """The form as it is before anything is typed."""
        return cls(initial={"name": person.name or shown, "language": person.language})


class CodeForm(PageForm):
    """The six digits that came by message or call; spaces and dashes don't matter."""

    code = forms.CharField(
        max_length=20,
        label="The 6 digits",
        error_messages={"required": "Enter the 6 digits."},
        widget=forms.TextInput(
            attrs={
                "class": "code-input",
                "autocomplete": "one-time-code",
                "inputmode": "numeric",
                "spellcheck": "false",
            }
        ),
    )

    def clean_code(self) -> str:
        """Digits only, exactly six."""
        code = "".join(c for c in str(self.cleaned_data["code"]) if c not in " -")
        if len(code) != 6 or not code.isascii() or not code.isdigit():
            raise forms.ValidationError("The code has 6 digits.")
        return code


class CodeChannelForm(PageForm):
    """How the code should come. A call only when the holder asks on their own page."""

    channel = forms.ChoiceField(choices=[("sms", "Text message"), ("whatsapp", "WhatsApp"), ("call", "Phone call")])


class OwnerPersonForm(PageForm):
    """Settings > Your number: whom an alert reaches when the agent names nobody."""

    person = forms.ModelChoiceField(queryset=Person.objects.none())

    def __init__(self, account: Account, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        people = Person.objects.filter(account=account, removed_at=None, number__isnull=False)
        choice = self.fields["person"]
        assert isinstance(choice, forms.ModelChoiceField)
        choice.queryset = people


class ResidenceForm(PageForm):
    """The owner's country of residence, confirmed by a tick."""

    residence = forms.ChoiceField(
        choices=lambda: [("", "Choose a country"), *country_names().items()],
        label="Country of residence",
        error_messages={
            "required": "Choose your country of residence.",
            "invalid_choice": "Choose a country from the list.",
        },
    )
    is_confirmed = forms.BooleanField(
        label="I live in this country.",
        error_messages={"required": "Tick the box to confirm that you live there."},
    )


class SettingsForm(PageForm):
    """What the owner sets for the whole account."""

    owner_name = forms.CharField(
        max_length=30,
        required=False,
        label="Your name",
        help_text="How agents greet you and what your own number is called. Empty: Owner.",
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
    )
    timezone = forms.ChoiceField(
        choices=lambda: [("UTC", "UTC"), *((zone, zone.replace("_", " ")) for zone in zones())],
        label="Time zone",
        error_messages={"invalid_choice": "Choose a time zone from the list."},
        help_text="For times in pages when your browser does not say its own.",
    )
    max_price = forms.DecimalField(
        required=False,
        min_value=Decimal("0.01"),
        max_value=Decimal("1000"),
        max_digits=6,
        decimal_places=2,
        label="Highest price of one alert on one channel, in US dollars",
        help_text="A channel that costs more is not used. Empty: no limit.",
        error_messages={"invalid": "Enter an amount such as 0.50.", "min_value": "The lowest limit is $0.01."},
        widget=forms.TextInput(attrs={"inputmode": "decimal"}),
    )

    @classmethod
    def of(cls, account: Account) -> "SettingsForm":
        """The form as it is before anything is typed."""
        cap = account.max_price_cents
        return cls(
            initial={
                "owner_name": account.owner_name,
                "timezone": account.timezone,
                "max_price": None if cap is None else f"{Decimal(cap) / 100:.2f}",
            }
        )

    def max_price_cents(self) -> int | None:
        """The limit in US cents, or None for no limit."""
        price: Decimal | None = self.cleaned_data["max_price"]
        return None if price is None else int(price * 100)


class ConnectionForm(PageForm):
    """What the owner calls a connected agent."""

    name = forms.CharField(max_length=80, label="Name", error_messages={"required": "Enter a name."})

    @classmethod
    def of(cls, connection: Connection) -> "ConnectionForm":
        """The form as it is before anything is typed."""
        return cls(initial={"name": connection.name})


def zones() -> list[str]:
    """The time zones that are named after a place."""
    areas = ("Africa/", "America/", "Antarctica/", "Asia/", "Atlantic/", "Australia/", "Europe/", "Indian/", "Pacific/")
    return sorted(zone for zone in available_timezones() if zone.startswith(areas))


class TopUpForm(PageForm):
    """How much balance the owner wants to add."""

    amount_cents = forms.TypedChoiceField(
        choices=[(1000, "$10.00"), (2500, "$25.00"), (5000, "$50.00"), (10000, "$100.00")],
        coerce=int,
        initial=2500,
        label="Amount",
    )
