"""What keeps the development servers from starting, as one sentence for the person at the terminal."""


class CannotStart(Exception):
    """Its text is the sentence to print; the command ends with exit code 1 and no traceback."""
