"""Trajectories written in formats of others; what those cannot hold is counted and named."""

from judge.importers.exports.atif import to_atif
from judge.importers.exports.exported import Exported
from judge.importers.exports.openai import to_openai

__all__ = ["Exported", "to_atif", "to_openai"]
