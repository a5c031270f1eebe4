"""Where the folder of real files stands, for tests that choose their parameters by it."""

from __future__ import annotations

from pathlib import Path

SHARED = Path(__file__).resolve().parents[2] / "shared"
