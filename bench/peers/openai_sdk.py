"""The bare openai SDK: the same requests, and the score read out of the JSON."""

from __future__ import annotations

import asyncio
import json

from measuring import KEY, MODEL, Prompt, at_once, given, measure
from openai import AsyncOpenAI


async def main() -> None:
    work = given()
    async with AsyncOpenAI(api_key=KEY, base_url=work.base_url, max_retries=0) as client:

        async def judge(prompt: Prompt) -> float:
            done = await client.chat.completions.create(
                model=MODEL,
                messages=[{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}],
                response_format={
                    "type": "json_schema",
                    "json_schema": {"name": prompt.schema_name, "strict": True, "schema": prompt.schema},
                },
                temperature=0.0,
            )
            return float(json.loads(done.choices[0].message.content or "")["score"])

        await measure(work, at_once(judge, work.concurrency))


asyncio.run(main())
