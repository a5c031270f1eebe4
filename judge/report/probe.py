"""A probe report as text: tables first, then what they mean in plain words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from judge.calibration.probes.findings import attacked, has_risen, is_noticed
from judge.report.calibration import STATE_WORDS, decimals, statistic_text
from judge.report.numbers import plural
from judge.types.estimate import Statistic
from judge.types.probe import AttackRow, BiasRow, FaultRow, NullRow, Probed, ProbeReport

CHANCE = 0.05
"""Share of pairs with a rise above which the report speaks of chance."""
DECISIONS = {
    "certified": "PASSED.",
    "refused": "NOT PASSED: shown to miss a required claim.",
    "undecided": "UNDECIDED: too few runs, or no room, to show a required claim.",
}


def probe_text(report: ProbeReport) -> str:
    """The whole report as text."""
    lines = [
        f"== {report.judge} under rubric {report.rubric}, probed with runs of {report.source}",
        f"{plural(report.parents, 'good run')}"
        + (f", {plural(report.attacked, 'run')} to attack" if report.attacked else "")
        + f"; a run passes from {report.pass_mark:.0%} of the scale; seed {report.seed}.",
        "",
        DECISIONS[report.decision],
        *(f"  {reason}" for reason in report.reasons),
    ]
    for table in tables(report):
        lines += ["", f"{table.title} ({table.legend}):"]
        lines += table_lines(table.header, table.rows, before_last=3 if table.key == "faults" else 0)
        lines += table.below
    lines += ["", "Claims (* is required):"]
    lines += [
        f"  {'*' if claim.required else ' '} {STATE_WORDS[claim.state]:<11}{claim.title}: {claim.reason}"
        for claim in report.claims
    ]
    said = sentences(report)
    if said:
        lines += ["", "In plain words:", *(f"- {sentence}" for sentence in said)]
    return "\n".join(lines)


@dataclass(frozen=True)
class Table:
    """One table of a report, as words.

    Attributes:
        below: Sentences that stand under it.
    """

    key: str
    title: str
    legend: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    below: Sequence[str] = ()


def tables(report: ProbeReport) -> list[Table]:
    """The tables of what was probed; of faults, the last three rows are silent, loud and all."""
    out = []
    if report.all_faults is not None and report.silent is not None and report.loud is not None:
        rows = [*report.faults, report.silent, report.loud, report.all_faults]
        below = [
            "sensitivity: the score fell below that of the same run without the fault; rose: it rose, which is chance "
            "or a mistake; caught: a run that had passed no longer does; fall: how far, in shares of the scale; cited "
            "the fault: of the noticed ones, the judge names a step of it.",
            "silent: the outcome survived, only the path shows the fault; loud: it did not.",
        ]
        absent = [type for type, runs in report.no_place.items() if runs >= report.parents]
        if absent:
            below.append(f"Not tried, since no run has a place for them: {', '.join(absent)}.")
        if report.specificity is not None:
            below.append(f"Specificity: {statistic_text(report.specificity)} of the unchanged runs pass.")
        legend = "shares of pairs of a run with and without the fault, with 95 % intervals over tasks"
        out.append(Table("faults", "Implanted faults", legend, FAULT_HEADER, [_fault(row) for row in rows], below))
        unseen = [p for p in report.probed if p.mutation.kind == "fault" and p.passed_before and not is_noticed(p)]
        if unseen:
            legend = "one of each type, in a run that passed; all are in probe.json"
            title = "Faults that were not noticed"
            out.append(Table("unseen", title, legend, EXAMPLE_HEADER, _examples(unseen)))
    if report.attacks and report.attack_rate is not None:
        legend = "held: the score did not rise; broken: it rose; no room: it was the highest already"
        below = [f"All attacks, share broken: {statistic_text(report.attack_rate)}."]
        out.append(Table("attacks", "Attacks", legend, ATTACK_HEADER, [_attack(row) for row in report.attacks], below))
        if report.attack_places:
            header = ("place or strength", *ATTACK_HEADER[1:])
            rows_ = [_attack(row) for row in report.attack_places]
            legend = "all types of attack together, without the neutral text"
            out.append(Table("places", "Attacks by place and by strength", legend, header, rows_))
        worked = [p for p in attacked(report.probed) if p.mutation.kind == "attack" and has_risen(p)]
        if worked:
            legend = "one of each type; all are in probe.json"
            out.append(Table("worked", "Attacks that worked", legend, EXAMPLE_HEADER, _examples(worked)))
    if report.nulls and report.null_rate is not None:
        below = [
            f"All constant answers, share passed: {statistic_text(report.null_rate)}; at most "
            f"{report.null_limit:.0%} may."
        ]
        rows_ = [_null(row) for row in report.nulls]
        out.append(Table("nulls", "Constant answers without any work", "share that passed", NULL_HEADER, rows_, below))
    if report.biases:
        legend = "flagged only when the whole interval leaves the innocent band"
        out.append(Table("biases", "Biases", legend, BIAS_HEADER, [_bias(row) for row in report.biases]))
    return out


def sentences(report: ProbeReport) -> tuple[str, ...]:
    """What the numbers mean; only what they show."""
    out = []
    if report.all_faults is not None:
        unseen = [row.type for row in report.faults if row.sensitivity.value == 0]
        if len(unseen) == len(report.faults) > 0:
            out.append("This judge noticed no implanted fault of any type.")
        elif unseen:
            out.append(f"This judge noticed none of the implanted faults of these types: {', '.join(unseen)}.")
        if report.all_faults.no_score:
            out.append(
                f"{plural(report.all_faults.no_score, 'pair')} of {report.all_faults.planted} had a side without a "
                "score; they are in no rate."
            )
        rose = _value(report.all_faults.rise)
        if rose is not None and rose > CHANCE:
            out.append(
                f"The score rose in {rose:.0%} of pairs, for which no fault is a reason: about as many falls may be "
                "chance too. More votes for one verdict (--samples) cure that."
            )
    passes, constant = _value(report.specificity), _value(report.null_rate)
    if passes is not None and passes < 0.5:
        word = "useless" if constant else "useless, not unsafe"
        if constant is None:
            word = "useless; no constant answer was scored, so whether it passes those too is not known"
        out.append(
            f"It passes {passes:.0%} of good runs: a judge that fails both sides detected nothing. It is {word}."
        )
    if constant is not None and constant > report.null_limit:
        worst = max(report.nulls, key=lambda row: _value(row.rate) or 0.0)
        out.append(f"It passes answers that no work was done for, most often {worst.type!r}: {_answer(worst)}.")
    elif constant == 0.0 and report.kinds == ("null",):
        out.append(
            "It passed no constant answer. That alone does not make it useful: a judge that fails everything does so "
            "as well (useless, not unsafe). Probe it with faults to know."
        )
    broken = [row for row in report.attacks if row.broken and not row.control]
    if broken:
        out.append(
            f"Its score rose after attacks of {plural(len(broken), 'type')}: {', '.join(r.type for r in broken)}."
        )
    control = next((row for row in report.attacks if row.control), None)
    if control is not None and control.broken:
        out.append(
            f"Inert text in the same places raised the score {plural(control.broken, 'time')}: part of what attacks do "
            "is wobble, or the length."
        )
    if report.attacks and not any(row.held or row.broken for row in report.attacks):
        out.append("No attack could be tried: the runs to attack have the highest score already, or none.")
    flagged = [row.type for row in report.biases if row.state == "flagged"]
    if flagged:
        out.append(f"Outside the innocent band: {', '.join(flagged)}.")
    return tuple(out)


FAULT_HEADER = ("fault", "planted", "no score", "sensitivity", "rose", "caught", "fall", "cited the fault")
ATTACK_HEADER = ("attack", "held", "broken", "grader error", "no room", "broken of tried")
EXAMPLE_HEADER = ("type", "made from run", "step", "score", "what was changed")
NOTE = 100
"""Most characters of what was changed in an example."""
NULL_HEADER = ("answer", "tasks", "passed", "no score", "pass rate", "text")
BIAS_HEADER = ("bias", "state", "pairs", "no score", "effect", "innocent band", "what differs")


def _examples(probed: Sequence[Probed]) -> list[tuple[str, ...]]:
    """The first of each type."""
    first: dict[str, Probed] = {}
    for one in probed:
        first.setdefault(one.mutation.type, one)
    return [
        (
            type,
            one.mutation.parent,
            ", ".join(str(step) for step in one.mutation.steps),
            f"{_share(one.before)} → {_share(one.after)}",
            _clipped(one.mutation.note),
        )
        for type, one in first.items()
    ]


def _share(score: float | None) -> str:
    return "-" if score is None else f"{score:.0%}"


def _clipped(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= NOTE else f"{flat[: NOTE - 1]}…"


def _fault(row: FaultRow) -> tuple[str, ...]:
    rose = decimals(row.rise.value) if row.rise is not None and row.rise.value is not None else "-"
    rates = (_short(rate) for rate in (row.caught, row.fall, row.localisation))
    return (row.type, str(row.planted), str(row.no_score), _short(row.sensitivity), rose, *rates)


def _attack(row: AttackRow) -> tuple[str, ...]:
    name = f"({row.type}, no attack)" if row.control else row.type
    return (name, str(row.held), str(row.broken), str(row.grader_errors), str(row.no_room), _short(row.rate))


def _null(row: NullRow) -> tuple[str, ...]:
    counts = (str(row.tasks), str(row.passed), str(row.no_score))
    return (row.type, *counts, _short(row.rate), _answer(row))


def _answer(row: NullRow) -> str:
    return repr(row.text) if row.text else "(empty, shown to the judge as such)"


def _bias(row: BiasRow) -> tuple[str, ...]:
    band = f"{row.low:+.2f} to {row.high:+.2f}"
    effect = _short(row.effect)
    return (row.type, row.state.replace("_", " "), str(row.pairs), str(row.no_score), effect, band, row.note)


def _short(statistic: Statistic) -> str:
    """As `statistic_text`, without the reason of an absent value or interval."""
    if statistic.value is None:
        return "-"
    return statistic_text(statistic) if statistic.low is not None else f"{decimals(statistic.value)} [no interval]"


def _value(statistic: Statistic | None) -> float | None:
    return statistic.value if statistic is not None else None


def table_lines(header: Sequence[str], rows: Sequence[Sequence[str]], *, before_last: int = 0) -> list[str]:
    """Aligned columns, indented; a rule stands before the last `before_last` rows."""
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]
    lines = [
        "  " + "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in (header, *rows)
    ]
    rule = "  " + "  ".join("-" * width for width in widths)
    lines.insert(1, rule)
    if before_last:
        lines.insert(len(lines) - before_last, rule)
    return lines
