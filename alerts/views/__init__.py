"""The pages about alerts: the owner's list and timelines, and the pages that a recipient opens."""
