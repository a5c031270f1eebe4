"""inspect_ai: an eval whose solver calls nothing and whose scorer is model_graded_qa."""

from __future__ import annotations

import asyncio
import tempfile

from inspect_ai import Task, eval_async
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageAssistant, ModelOutput, get_model
from inspect_ai.scorer import model_graded_qa, value_to_float
from inspect_ai.solver import Generate, Solver, TaskState, solver
from measuring import KEY, MODEL, Prompt, given, measure


@solver
def recorded() -> Solver:
    """Puts in place what the agent did, which is part of the sample."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        text = state.metadata["run"]
        state.output = ModelOutput.from_content(MODEL, text)
        state.messages.append(ChatMessageAssistant(content=text))
        return state

    return solve


async def main() -> None:
    work = given()
    grader = get_model(f"openai/{MODEL}", base_url=work.base_url, api_key=KEY, responses_api=False)
    number = value_to_float()

    async def every(prompts: list[Prompt]) -> list[float]:
        samples = [
            Sample(input="Judge this run.", target=prompt.system, metadata={"run": prompt.user}) for prompt in prompts
        ]
        task = Task(dataset=samples, solver=recorded(), scorer=model_graded_qa(model=grader))
        with tempfile.TemporaryDirectory() as logs:
            (log,) = await eval_async(
                task,
                model=grader,
                log_dir=logs,
                max_samples=work.concurrency,
                max_connections=work.concurrency,
                max_tasks=1,
                score_display=False,
                log_realtime=False,
            )
            if log.status != "success" or log.samples is None:
                raise SystemExit(f"the eval ended as {log.status}: {log.error}")
            # samples are read from the log's file when they are asked for
            return [number(score.value) for sample in log.samples for score in (sample.scores or {}).values()]

    await measure(work, every)


asyncio.run(main())
