"""Runs with one known change, and what a judge made of them: mutators, pairs, tables, claims."""
