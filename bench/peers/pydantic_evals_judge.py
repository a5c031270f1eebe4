"""pydantic-evals: its LLM judge of an output against a rubric."""

from __future__ import annotations

import asyncio

from measuring import KEY, MODEL, Prompt, at_once, given, measure
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_evals.evaluators.llm_as_a_judge import judge_output


async def main() -> None:
    work = given()
    model = OpenAIChatModel(MODEL, provider=OpenAIProvider(base_url=work.base_url, api_key=KEY))

    async def judge(prompt: Prompt) -> float:
        found = await judge_output(prompt.user, prompt.system, model, {"temperature": 0.0})
        return found.score

    await measure(work, at_once(judge, work.concurrency))


asyncio.run(main())
