"""The floor: the same requests over bare aiohttp, and the score read out of the JSON."""

from __future__ import annotations

import asyncio
import json

import aiohttp
from measuring import KEY, MODEL, Prompt, at_once, given, measure


async def main() -> None:
    work = given()
    headers = {"Authorization": f"Bearer {KEY}"}
    connector = aiohttp.TCPConnector(limit=work.concurrency)
    async with aiohttp.ClientSession(headers=headers, connector=connector) as session:

        async def judge(prompt: Prompt) -> float:
            body = {
                "model": MODEL,
                "messages": [{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}],
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": prompt.schema_name, "strict": True, "schema": prompt.schema},
                },
                "temperature": 0.0,
            }
            async with session.post(f"{work.base_url}/chat/completions", json=body) as response:
                answer = await response.json()
            return float(json.loads(answer["choices"][0]["message"]["content"])["score"])

        await measure(work, at_once(judge, work.concurrency))


asyncio.run(main())
