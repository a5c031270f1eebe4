"""Trajectories as requests bring them: decoded, of any known format, within limits, without the answer in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

from pydantic import JsonValue, WithJsonSchema

from judge.engine.intake import as_trajectory
from judge.errors import JudgeError, TraceError
from judge.server.problems import Problem
from judge.types.trajectory import Trajectory

LONGEST_ID = 500
TrajectoryIn = Annotated[
    JsonValue,
    WithJsonSchema({
        "description": "One run, decoded: native, chat messages, or any other format that `judge convert` reads. "
        "A string is never taken for a path or an address.",
        "anyOf": [
            {
                "title": "Chat messages",
                "type": "array",
                "minItems": 1,
                "items": {
                    "type": "object",
                    "required": ["role", "content"],
                    "properties": {
                        "role": {"enum": ["system", "user", "assistant"]},
                        "content": {"type": "string", "minLength": 1},
                    },
                },
            },
            {
                "title": "Native",
                "type": "object",
                "required": ["schema", "id", "source", "steps"],
                "properties": {
                    "schema": {"const": "judge.trajectory/1"},
                    "id": {"type": "string", "minLength": 1, "maxLength": LONGEST_ID},
                    "source": {"type": "object", "required": ["format"]},
                    "steps": {"type": "array", "items": {"type": "object", "required": ["index", "kind"]}},
                },
            },
            {"title": "Any other format", "type": ["object", "array"]},
        ],
    }),
]  # fmt: skip
"""A run as a request brings it, and how the API describes it."""
ANSWERS = ("labels", "outcome", "reward", "rewards", "gold", "label", "expected_score", "ground_truth")
"""Keys of a trajectory that say how good it was. A judge is never shown them, and a request may not hold them."""
ANYWHERE = frozenset({
    "labels", "reward", "rewards", "reward_info", "gold", "ground_truth", "expected_score", "step_labels",
    "human_label", "human_score", "final_label",
})  # fmt: skip
"""Such keys in any object inside, where `outcome` and `label` also have other senses."""
NOTES = frozenset({"meta", "metadata", "info", "extra", "annotations"})
"""Objects about the run, in which every key of `ANSWERS` is meant so."""
SAID = frozenset({
    "content", "arguments", "args", "input", "inputs", "output", "outputs", "result", "response", "parameters",
    "properties", "structured", "raw", "value", "observation",
})  # fmt: skip
"""What agent and tools said or got: a mail has labels, and a game rewards."""


def one_or_many(one: Any, many: Sequence[Any] | None, *, most: int) -> tuple[Any, ...]:
    """What the request holds, as a sequence.

    Raises:
        Problem: 422 for none or both, 413 for more than `most`.
    """
    if (one is None) == (many is None):
        raise Problem(422, "invalid_request", "Exactly one of `trajectory` and `trajectories` is needed.")
    given = tuple(many) if many is not None else (one,)
    if not given:
        raise Problem(422, "invalid_request", "`trajectories` is empty.")
    if len(given) > most:
        raise Problem(
            413,
            "too_many_trajectories",
            f"{len(given)} trajectories were sent, at most {most} are taken here.",
            hint="Use /v1/batches for many.",
        )
    return given


def trajectories(given: Sequence[Any], *, max_steps: int, blind: bool = True) -> list[Trajectory]:
    """The trajectories that the values hold, one each. No value is taken for a path.

    Args:
        blind: Refuse values that tell the answer (labels, outcome, reward).

    Raises:
        Problem: 422 with the place of the value that is no trajectory, tells the answer, or repeats an id; 413 for
            too many steps.
    """
    found: list[Trajectory] = []
    places: dict[str, int] = {}
    for place, value in enumerate(given):
        run = _one(value, place)
        if blind:
            _refuse_answers(value, run, place)
        if len(run.steps) > max_steps:
            raise Problem(
                413, "too_many_steps", f"Trajectory {place} has {len(run.steps)} steps, at most {max_steps} are taken."
            )
        if not run.id or len(run.id) > LONGEST_ID or "\x00" in run.id:
            raise Problem(422, "bad_id", f"The id of trajectory {place} is empty, too long or holds a NUL.")
        if run.source.format != "native" and not _has_id(value):
            run = run.model_copy(update={"id": f"{place + 1}"})
        if run.id in places:
            raise Problem(
                422, "repeated_id", f"Trajectories {places[run.id]} and {place} have the same id {run.id[:80]!r}."
            )
        places[run.id] = place
        found.append(run)
    return found


def _one(value: Any, place: int) -> Trajectory:
    if not isinstance(value, Mapping | list):
        raise Problem(
            422,
            "no_trajectory",
            f"Trajectory {place} is a {type(value).__name__}; an object or a list of messages or events is needed.",
            hint="Send the content; a path is never opened and an address is never fetched.",
        )
    try:
        return as_trajectory(value)
    except TraceError as error:
        raise Problem(422, error.kind, f"Trajectory {place}: {error.message}", hint=error.hint) from None
    except JudgeError:
        raise
    except (RecursionError, ValueError, TypeError, KeyError, AttributeError, IndexError, OverflowError) as error:
        # Importers are written for the files of known programs; a request may hold anything.
        raise Problem(
            422, "no_trajectory", f"Trajectory {place} cannot be read: {type(error).__name__} in it."
        ) from None


def _refuse_answers(value: Any, run: Trajectory, place: int) -> None:
    named = [key for key in ANSWERS if isinstance(value, Mapping) and value.get(key) not in (None, {}, [])]
    named += [f"labels.{key}" for key in run.labels if "labels" not in named and key not in named]
    named += [where for where in _answers_inside(value) if where not in named]
    if named:
        raise Problem(
            422,
            "answer_in_request",
            f"Trajectory {place} tells the answer: {', '.join(named[:10])}.",
            hint="Leave labels, outcomes and rewards out of what is to be scored.",
        )


def _answers_inside(value: Any) -> list[str]:
    """Where objects inside `value` tell the answer, e.g. "steps.3.extra.reward"; what was said is not looked at."""
    found: list[str] = []
    left: list[tuple[Any, str, bool]] = [(value, "", False)]
    while left:  # and no recursion: a request may be as deep as it likes
        at, where, about = left.pop()
        inside: Iterable[tuple[Any, Any]] = ()
        if isinstance(at, Mapping):
            inside = at.items()
        elif isinstance(at, list):
            inside = enumerate(at)
        for key, one in inside:
            path = f"{where}.{key}" if where else str(key)
            if (key in ANYWHERE or (about and key in ANSWERS)) and one not in (None, {}, []):
                found.append(path[:200])
            elif isinstance(one, Mapping | list) and key not in SAID:
                left.append((one, path, about or key in NOTES))
    return sorted(found)


def _has_id(value: Any) -> bool:
    return isinstance(value, Mapping) and any(
        isinstance(value.get(key), str | int) for key in ("id", "trajectory_id", "run_id", "session_id", "task_id")
    )
