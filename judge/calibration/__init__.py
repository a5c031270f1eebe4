"""Can this judge be trusted? Pure statistics, and the certificates that rest on them.

The functions below are loaded on first use, so that a program that only reads a certificate does not wait for numpy.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "agreement_coefficient": "kappa",
    "cohen_kappa": "kappa",
    "agreement_of_many": "multirater",
    "krippendorff_alpha": "alpha",
    "binary_agreement": "confusion",
    "share": "proportions",
    "wilson": "proportions",
    "clopper_pearson": "proportions",
    "icc_of": "icc",
    "cronbach_alpha": "icc",
    "rank_agreement": "rank_correlation",
    "kendall_w": "rank_correlation",
    "concordance_correlation": "concordance",
    "leniency": "concordance",
    "auroc": "discrimination",
    "brier": "probability_scores",
    "calibration_error": "probability_scores",
    "reliability_curve": "probability_scores",
    "ceiling_of": "ceiling",
    "alternative_annotator_test": "alternative_annotator",
    "wobble_of": "wobble",
    "rank_stability_of": "rank_stability",
    "leave_one_judge_out": "rank_stability",
    "pass_rate": "correction",
    "rogan_gladen": "correction",
    "prediction_powered_mean": "prediction_powered",
    "fit_score_curve": "calibrated_score",
    "fit_conformal": "conformal",
    "choose_band": "pass_mark",
    "band_on_test": "pass_mark",
    "guarded_threshold": "threshold",
    "labels_for_share": "label_budget",
    "more_labels_for_share": "label_budget",
    "anchor_drift": "drift",
    "forecast_gate": "forecast",
    "pass_hat_k": "pass_k",
    "pass_at_k": "pass_k",
}
# functions that bear the name of their module: a package attribute of that name is the module
_ATTRIBUTE = {"icc_of": "icc", "ceiling_of": "ceiling", "wobble_of": "wobble", "rank_stability_of": "rank_stability"}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'judge.calibration' has no attribute {name!r}")
    return getattr(import_module(f"judge.calibration.{home}"), _ATTRIBUTE.get(name, name))
