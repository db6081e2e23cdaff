"""The words that number the repeated messages of one alert (seed 001, `message`: "Reminder 2 of 3: ")."""


def reminder_prefix(number: int, of: int) -> str:
    """What stands before message `number` of `of`; nothing before the first."""
    return f"Reminder {number} of {of}: " if number > 1 else ""


def reminders_for(message_steps: int, requires_ack: bool) -> list[str]:
    """One prefix per message step, in order. Only an acknowledging workflow repeats itself, so only it counts."""
    return [reminder_prefix(n, message_steps) if requires_ack else "" for n in range(1, message_steps + 1)]
