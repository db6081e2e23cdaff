"""A real PostgreSQL and a real Redis for development and tests, and the record that lets commands find them."""

from breakpass.embedded.record import discover

__all__ = ["discover"]
