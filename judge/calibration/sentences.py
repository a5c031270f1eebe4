"""A calibration in plain words: what the judge is good for, and what it is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from judge.calibration.dataset import drawn_unequally
from judge.types.estimate import Statistic

if TYPE_CHECKING:
    from judge.calibration.findings import CalibrationReport

GOOD = 0.80
"""A rate that a judge has to reach before a sentence recommends it; the certificate has its own thresholds."""


def plain_words(report: CalibrationReport) -> tuple[str, ...]:
    """Sentences, most important first. Each number in them stands in the report with its interval."""
    said = [
        _rates(report),
        _against_baseline(report),
        _beyond_chance(report),
        _shift(report),
        _failures(report),
        _wobble(report),
        _ceiling(report),
        _ranking(report),
        _rate(report),
        _automation(report),
        _forecast(report),
        _health(report),
        drawn_unequally(report.chances, weighted=bool(report.weighted)),
        _kinds(report),
    ]
    return tuple(sentence for sentence in said if sentence)


def percent(value: float) -> str:
    """97 %"""
    return f"{100 * value:.0f} %"


def between(statistic: Statistic) -> str:
    """(between 38 % and 74 %)"""
    if statistic.low is None or statistic.high is None:
        return ""
    return f" (95 % interval {percent(statistic.low)} to {percent(statistic.high)})"


def _rates(report: CalibrationReport) -> str:
    tpr, tnr = report.statistics.get("tpr"), report.statistics.get("tnr")
    if tpr is None or tnr is None:
        return ""
    if tpr.value is None and tnr.value is None:
        return "No run was labelled, so nothing is known of this judge."
    if tnr.value is None:
        return (
            f"Of the runs people passed, the judge passed {percent(tpr.value or 0.0)}{between(tpr)}. No run was failed "
            "by people, so whether it catches failures is unknown."
        )
    if tpr.value is None:
        return (
            f"Of the failed runs it caught {percent(tnr.value)}{between(tnr)}. No run was passed by people, so whether "
            "it passes good runs is unknown."
        )
    text = (
        f"Of the runs people passed, the judge passed {percent(tpr.value)}{between(tpr)}; of the failed runs it caught "
        f"{percent(tnr.value)}{between(tnr)}"
    )
    bad_at = []
    if tnr.value < GOOD:
        bad_at.append("to find failures")
    if tpr.value < GOOD:
        bad_at.append("to clear good runs")
    if bad_at:
        return f"{text}, so do not use it {' or '.join(bad_at)}."
    unsure = [
        name for name, s in (("failures", tnr), ("good runs", tpr)) if (s.lower if s.lower is not None else 0) < GOOD
    ]
    if unsure:
        return f"{text}; on {' and '.join(unsure)} the labels are too few to be sure of it."
    return f"{text}."


def _against_baseline(report: CalibrationReport) -> str:
    agreement = report.statistics["agreement"]
    known = [(values.get("agreement"), name) for name, values in report.baselines.items()]
    best = max(((value, name) for value, name in known if value is not None), default=None)
    if agreement.value is None or best is None:
        return ""
    verb = "more than" if agreement.value > best[0] else "no more than"
    return (
        f"It agrees with people on {percent(agreement.value)} of the runs{between(agreement)}, {verb} the "
        f"{percent(best[0])} of a judge that does not look ({best[1]})."
    )


def _beyond_chance(report: CalibrationReport) -> str:
    name = "kappa" if "kappa" in report.statistics else "kappa_quadratic"
    kappa = report.statistics.get(name)
    if kappa is None:
        return ""
    if kappa.value is None:
        return f"Agreement beyond chance is undefined: {kappa.reason}."
    interval = f" [{kappa.low:.2f}, {kappa.high:.2f}]" if kappa.low is not None and kappa.high is not None else ""
    text = f"Agreement beyond chance ({name.replace('_', ' ')}) is {kappa.value:.2f}{interval}."
    ac1 = report.statistics.get("ac1")
    if ac1 is not None and ac1.value is not None and ac1.value - kappa.value > 0.2:
        text += (
            f" AC1 is {ac1.value:.2f}: one answer is rare here, by people or by the judge; look at the two rates above."
        )
    return text


def _shift(report: CalibrationReport) -> str:
    shift = report.statistics["leniency"]
    if shift.value is None or shift.low is None or shift.high is None or shift.low <= 0 <= shift.high:
        return ""
    word = "more lenient" if shift.value > 0 else "stricter"
    return f"It is {word} than people, by {percent(abs(shift.value))} of the scale on average."


def _failures(report: CalibrationReport) -> str:
    failed = sum(report.failures.values())
    if not failed:
        return ""
    return f"{failed} of {report.n} verdicts have no score; they are counted as wrong, not left out."


def _wobble(report: CalibrationReport) -> str:
    wobble = next((entry for entry in report.wobble if entry.cause == "sampling"), None)
    if wobble is None:
        return "Whether it says the same twice is unknown: there are no repeats."
    found = wobble.found
    if found.flip_rate.value is None:
        return f"Whether it says the same twice is unknown: {found.flip_rate.reason}."
    text = f"Asked twice about the same run, it gives another verdict {percent(found.flip_rate.value)} of the time"
    if found.votes_needed is None:
        return f"{text}; no number of votes up to 51 is known to bring that to {percent(wobble.target)}."
    if found.votes_needed == 1:
        return f"{text}."
    return f"{text}; {found.votes_needed} votes bring that to {percent(wobble.target)}."


def _ceiling(report: CalibrationReport) -> str:
    people = report.ceiling.get("human_human")
    difference = report.ceiling.get("difference")
    if people is None or difference is None or people.value is None or difference.value is None:
        return ""
    if report.labels_usable is False:
        return f"People hardly agree with each other ({people.value:.2f}): these labels cannot judge a judge."
    word = (
        "as well as"
        if difference.low is not None and difference.low >= -0.1
        else "less well than, or not clearly as well as,"
    )
    return f"People agree with each other to {people.value:.2f}; the judge agrees with them {word} they do."


def _ranking(report: CalibrationReport) -> str:
    ranking = report.ranking
    if ranking is None or ranking.top_stays is None or not ranking.agents:
        return ""
    first, *rest = ranking.agents
    if rest and rest[0].mean == first.mean:
        level = sum(agent.mean == first.mean for agent in ranking.agents)
        return f"It ranks no agent first: {level} of {len(ranking.agents)} agents have the same mean."
    return (
        f"It ranks {first.agent} first of {len(ranking.agents)} agents; drawn on other tasks, "
        f"that would stay so with a chance of {percent(ranking.top_stays)}."
    )


def _rate(report: CalibrationReport) -> str:
    rate = report.pass_rate
    if rate is None or rate.judge_rate.value is None:
        return ""
    if rate.corrected.value is None:
        return (
            f"The judge passes {percent(rate.judge_rate.value)} of the runs; that is not the true pass rate, and no "
            f"corrected one is given: {rate.corrected.reason}."
        )
    wider = " It is wider than from the labels alone." if rate.wider_than_labels else ""
    return (
        f"The judge passes {percent(rate.judge_rate.value)} of the runs; corrected for its errors the true pass rate "
        f"is {percent(rate.corrected.value)}{between(rate.corrected)}.{wider}"
    )


def _automation(report: CalibrationReport) -> str:
    if report.automation is None or report.automation.on_test.coverage.value is None:
        return ""
    test = report.automation.on_test
    agreement = "unknown" if test.agreement.value is None else percent(test.agreement.value)
    return (
        f"With the given costs it would decide {percent(test.coverage.value or 0.0)} of the runs by itself, right in "
        f"{agreement} of them, and send the rest to a person."
    )


def _forecast(report: CalibrationReport) -> str:
    found = report.forecast
    if found is None:
        return ""
    drop = (
        "no drop at all can be seen" if found.least_drop is None else f"a drop of {percent(found.least_drop)} is seen"
    )
    return (
        f"A gate that asks for {percent(found.bar)} passing runs of {found.n} would be red with a chance of "
        f"{percent(found.red)} though nothing changed; {drop} with a chance of {percent(found.power)}."
    )


def _health(report: CalibrationReport) -> str:
    health = report.health
    if health is None:
        return ""
    if health.constant:
        return "It gives every run the same score: the criterion tells nothing apart."
    if health.saturation is not None and health.saturation > 0.9:
        return (
            f"{percent(health.saturation)} of its scores are at the top of the scale: the criterion hardly separates."
        )
    return ""


def _kinds(report: CalibrationReport) -> str:
    if not report.label_kinds or report.label_kinds == ("human",):
        return ""
    if report.label_kinds == ("unstated",):
        return "The label file does not say who labelled."
    if "human" not in report.label_kinds:
        return f"None of these labels is human ({', '.join(report.label_kinds)})."
    return f"Some of these labels are not human ({', '.join(report.label_kinds)})."
