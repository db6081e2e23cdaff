"""Where an agent's risky actions wait for a human yes: staged group sends, and writes by risk tier."""
