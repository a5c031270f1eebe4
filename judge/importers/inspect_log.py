"""Inspect logs (.json, .eval). See `judge.importers.dialects`."""

from __future__ import annotations

from judge.importers.format import Format

importer = Format(
    "inspect",
    "Inspect logs (.json, .eval)",
    versions="2 (inspect-ai 0.3)",
    reads="samples with messages, calls, errors, approvals, compactions, limits; scores as labels; "
    "attachments and input_refs resolved; deflate and zstd archives",
    unknowable=("the arguments of a call that did not parse, beyond the error's text",),
)
