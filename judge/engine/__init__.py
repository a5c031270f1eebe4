"""The orchestrator: one trajectory, or a stream of them, through measure, render, draw, parse and vote."""
