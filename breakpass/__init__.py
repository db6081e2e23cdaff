"""BreakPass: an AI agent reaches people by WhatsApp, SMS and phone call, until they say that they saw it."""
