"""deepeval: a GEval metric with its steps given, one measurement a judgment."""

from __future__ import annotations

import asyncio

from deepeval.metrics import GEval
from deepeval.models import GPTModel
from deepeval.test_case import LLMTestCase, SingleTurnParams
from measuring import KEY, Prompt, at_once, given, measure

KNOWN_MODEL = "gpt-4o"
"""deepeval looks up what a model can do; the server does not care for the name."""


async def main() -> None:
    work = given()
    model = GPTModel(model=KNOWN_MODEL, api_key=KEY, base_url=work.base_url, temperature=0)

    async def judge(prompt: Prompt) -> float:
        metric = GEval(
            name="process",
            evaluation_steps=[prompt.system],
            evaluation_params=[SingleTurnParams.INPUT, SingleTurnParams.ACTUAL_OUTPUT],
            model=model,
        )
        case = LLMTestCase(input="Judge this run.", actual_output=prompt.user)
        return await metric.a_measure(case, _show_indicator=False)

    await measure(work, at_once(judge, work.concurrency))


asyncio.run(main())
