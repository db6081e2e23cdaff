"""The owner's pages about people, money and agents, and the way in."""
