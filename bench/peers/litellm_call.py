"""litellm: one completion a judgment, and the score read out of the JSON."""

from __future__ import annotations

import asyncio
import json

import litellm
from measuring import KEY, MODEL, Prompt, at_once, given, measure


async def main() -> None:
    work = given()

    async def judge(prompt: Prompt) -> float:
        done = await litellm.acompletion(
            model=f"openai/{MODEL}",
            api_base=work.base_url,
            api_key=KEY,
            messages=[{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}],
            response_format={
                "type": "json_schema",
                "json_schema": {"name": prompt.schema_name, "strict": True, "schema": prompt.schema},
            },
            temperature=0.0,
            num_retries=0,
        )
        return float(json.loads(done.choices[0].message.content)["score"])

    await measure(work, at_once(judge, work.concurrency))


asyncio.run(main())
