"""Readers of one item (a message, an event, a call) into steps; any container may hold them, mixed."""
