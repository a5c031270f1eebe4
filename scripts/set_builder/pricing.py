"""What a recorded run would have cost at an invented price."""

from __future__ import annotations

from judge.types import Trajectory

INPUT_USD_PER_MILLION = 2.5
OUTPUT_USD_PER_MILLION = 10.0


def priced(run: Trajectory) -> Trajectory:
    """The run with the price of its tokens as its cost.

    Raises:
        ValueError: Its tokens are not known.
    """
    usage = run.usage
    if usage is None or usage.input_tokens is None or usage.output_tokens is None:
        raise ValueError(f"{run.id}: no tokens are recorded")
    cost = (usage.input_tokens * INPUT_USD_PER_MILLION + usage.output_tokens * OUTPUT_USD_PER_MILLION) / 1e6
    return run.model_copy(update={"usage": usage.model_copy(update={"cost_usd": round(cost, 6)})})
