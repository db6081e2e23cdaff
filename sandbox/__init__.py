"""A stand-in for Twilio: its REST API and webhooks, with phones in the browser and a mailbox. See README.md."""

from sandbox.box import Sandbox
from sandbox.config import Config, Timings
from sandbox.handset import Handset

__all__ = ["Config", "Handset", "Sandbox", "Timings"]
