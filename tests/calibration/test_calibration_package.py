"""What the package offers, and that it costs nothing to import."""

from __future__ import annotations

import subprocess
import sys

import pytest

import judge.calibration


def test_every_name_offered_is_a_function() -> None:
    for name in judge.calibration.__all__:
        assert callable(getattr(judge.calibration, name)), name


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'kapa'"):
        _ = judge.calibration.kapa  # type: ignore[attr-defined]


def test_import_loads_no_numerical_library() -> None:
    script = "import sys, judge, judge.calibration; print(sorted({'numpy', 'scipy', 'sklearn'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_statistics_load_scipy_only_when_they_need_it() -> None:
    script = "import sys, judge.calibration.kappa, judge.calibration.wobble; print('scipy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
