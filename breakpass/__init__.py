"""BreakPass: an agent reaches its person by phone, and its risky actions wait for a human yes."""
