"""Trace files of many formats into trajectories, losslessly. One file a format; `dialects` reads single items."""

from judge.importers.conversion import FileSummary, convert_files, summary
from judge.importers.detect import detect
from judge.importers.export import TARGETS, Target, write_jsonl
from judge.importers.exports import to_atif, to_openai
from judge.importers.load import load
from judge.importers.mapping import read_mapping

__all__ = [
    "TARGETS",
    "FileSummary",
    "Target",
    "convert_files",
    "detect",
    "load",
    "read_mapping",
    "summary",
    "to_atif",
    "to_openai",
    "write_jsonl",
]
