"""A small documentation agent that runs on any provider, or on a script, and records its own trajectory."""
