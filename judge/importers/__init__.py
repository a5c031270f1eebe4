"""Trace files of many formats into trajectories, losslessly. One file a format; `dialects` reads single items."""

from judge.importers.conversion import FileSummary, convert_files, summary
from judge.importers.detect import detect
from judge.importers.export import write_jsonl
from judge.importers.load import load
from judge.importers.mapping import read_mapping

__all__ = ["FileSummary", "convert_files", "detect", "load", "read_mapping", "summary", "write_jsonl"]
