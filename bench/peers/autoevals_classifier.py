"""autoevals: an LLMClassifier with its chain of thought, a choice by a tool call."""

from __future__ import annotations

import asyncio

from autoevals import LLMClassifier, init
from measuring import KEY, MODEL, Prompt, at_once, given, measure
from openai import AsyncOpenAI


async def main() -> None:
    work = given()
    async with AsyncOpenAI(api_key=KEY, base_url=work.base_url, max_retries=0) as client:
        init(client=client)
        classifier = LLMClassifier(
            name="process",
            prompt_template="{{input}}\n\n{{output}}",
            choice_scores={"good": 1.0, "bad": 0.0},
            model=MODEL,
            temperature=0.0,
        )

        async def judge(prompt: Prompt) -> float:
            found = await classifier.eval_async(output=prompt.user, input=prompt.system)
            return found.score

        await measure(work, at_once(judge, work.concurrency))


asyncio.run(main())
