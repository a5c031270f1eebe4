"""openevals: an asynchronous LLM-as-judge on the openai client, continuous score with reasoning."""

from __future__ import annotations

import asyncio

from measuring import KEY, MODEL, Prompt, at_once, given, measure
from openai import AsyncOpenAI
from openevals.llm import create_async_llm_as_judge


async def main() -> None:
    work = given()
    async with AsyncOpenAI(api_key=KEY, base_url=work.base_url, max_retries=0) as client:
        judging = create_async_llm_as_judge(
            prompt="{inputs}\n\n{outputs}", judge=client, model=MODEL, feedback_key="process", continuous=True
        )

        async def judge(prompt: Prompt) -> float:
            found = await judging(inputs=prompt.system, outputs=prompt.user)
            return found["score"]

        await measure(work, at_once(judge, work.concurrency))


asyncio.run(main())
