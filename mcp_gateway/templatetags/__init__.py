"""Template tags of the agents' edge."""
