"""Real traces of tracers and SDKs: calls and results equal an independent count; statuses, usage and order hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from chat_records import calls, codes, results
from counts_traces import FILES, counted, imported, opened, table

from judge.errors import TraceError
from judge.importers import load
from judge.types import Approval, Trajectory

pytestmark = pytest.mark.shared
REFUSED = {"04_langchain/str_repr.json": "found", "07_langfuse/claude-agent-2025-12-22.chatml.json": "found"}
FOLDERS = ("02_", "04_", "05_", "06_", "07_", "14_", "16_", "17_")


@pytest.fixture(scope="module")
def formats(shared: Path) -> Path:
    return shared / "formats"


@pytest.mark.parametrize("name", FILES)
def test_calls_and_results_equal_an_independent_count(formats: Path, name: str) -> None:
    assert imported(formats / name)[1] == counted(formats, name)


def test_every_file_is_counted_or_refused(formats: Path) -> None:
    found = {
        f"{path.parent.name}/{path.name}"
        for path in formats.glob("*/*")
        if path.parent.name.startswith(FOLDERS) and path.name != "SOURCE.md"
    }
    assert found == FILES.keys() | REFUSED.keys()
    print(table(formats))


@pytest.mark.parametrize("name", REFUSED)
def test_printed_messages_and_test_artefacts_are_refused_with_what_was_found(formats: Path, name: str) -> None:
    with pytest.raises(TraceError, match="nothing in it is a trajectory; found"):
        list(load(formats / name))


def test_base64_ids_and_hex_ids_of_one_run_give_one_trajectory(formats: Path) -> None:
    folder = formats / "05_otel_genai"
    (first,) = load(folder / "pydantic_ai_otlp_protobuf_MessageToDict.json")
    (second,) = load(folder / "pydantic_ai_sdk_span_to_json.json")
    assert first.id == second.id == "5bb6217b9ba9a8ba0fa96acb0e45da7d"
    assert [step.kind for step in first.steps] == [step.kind for step in second.steps]
    assert [step.turn for step in first.steps] == [step.turn for step in second.steps]


def total(run: Trajectory) -> tuple[int, int]:
    used = [step.usage for step in run.steps if step.usage]
    return sum(u.input_tokens or 0 for u in used), sum(u.output_tokens or 0 for u in used)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # the agent's own aggregate in the file: 227 and 64, which is 59 + 71 + 97 and 14 + 22 + 28
        ("05_otel_genai/pydantic_ai_sdk_span_to_json.json", (227, 64)),
        ("16_pydantic_ai/all_messages.json", (227, 64)),
        # the inner generation alone; the outer one repeats 14 and 43 of it under other names
        ("07_langfuse/vercel-aisdk-2025-11-17.trace.json", (62, 85)),
        # 265 + 417 + 502 + 131 and 73 + 53 + 14 + 69
        ("07_langfuse/pydantic-ai-tools-2025-12-04.trace.json", (1315, 209)),
    ],
)
def test_usage_is_counted_once(formats: Path, name: str, expected: tuple[int, int]) -> None:
    (run,) = load(formats / name)
    assert total(run) == expected


def test_observations_out_of_order_become_steps_in_order_of_time(formats: Path) -> None:
    for name in ("claude-agent-2025-12-22", "pydantic-ai-tools-2025-12-04"):
        path = formats / "07_langfuse" / f"{name}.trace.json"
        starts = [item["startTime"] for item in json.loads(path.read_text())["observations"]]
        assert starts != sorted(starts)
        (run,) = load(path)
        told = [step.ts for step in run.steps if step.ts and step.kind != "tool_result"]
        assert told == sorted(told)


def test_langchain_keeps_the_error_that_its_conversion_loses(formats: Path) -> None:
    for name, statuses in (
        ("model_dump", ["ok", "error"]),
        ("messages_to_dict", ["ok", "error"]),
        ("dumpd", ["ok", "error"]),
        ("convert_to_openai_messages", ["unknown", "unknown"]),
    ):
        (run,) = load(formats / "04_langchain" / f"{name}.json")
        assert [result.status for result in results(run)] == statuses
        assert any(call.arguments_error == "bad json" for call in calls(run)) == (statuses[0] == "ok")


def test_the_three_langchain_dumps_are_the_same_run(formats: Path) -> None:
    def body(name: str) -> list[Any]:
        (run,) = load(formats / "04_langchain" / f"{name}.json")
        return [{k: v for k, v in step.to_json().items() if k != "extra"} for step in run.steps]

    assert body("model_dump") == body("messages_to_dict") == body("dumpd")


def test_mcp_approvals_are_steps(formats: Path) -> None:
    for number, state in (("1", ["requested"]), ("2", []), ("3", ["requested"])):
        (run,) = load(formats / "02_openai_responses" / f"openai-mcp-tool-approval.{number}.json")
        assert [step.state for step in run.steps if isinstance(step, Approval)] == state


def test_a_stored_response_says_where_its_results_are(formats: Path) -> None:
    (run,) = load(formats / "02_openai_responses" / "openai-apply-patch-tool.1.json")
    assert "RESULTS_ELSEWHERE" in codes(run)
    assert run.outcome is not None
    assert run.outcome.status == "incomplete"


def test_pending_masked_and_invalid_calls_of_the_vercel_sdk(formats: Path) -> None:
    (whole,) = load(formats / "17_vercel_ai" / "ui_messages.json")
    (streamed,) = load(formats / "17_vercel_ai" / "ui_message_stream_chunks.jsonl")
    for run in (whole, streamed):
        assert [result.status for result in results(run)] == ["ok", "error", "error"]
        assert calls(run)[2].arguments_raw == '{"a":'
        assert codes(run).count("ERROR_MASKED") == 2
        (asked,) = [step for step in run.steps if isinstance(step, Approval)]
        assert (asked.state, asked.call_index) == ("requested", calls(run)[3].index)


def test_a_span_of_no_agent_is_kept_and_said(formats: Path) -> None:
    (run,) = load(formats / "05_otel_genai" / "otlp_trace_example.json")
    assert [step.kind for step in run.steps] == ["event"]
    assert {"NO_AGENT_SPANS", "ORPHAN_SPAN"} <= set(codes(run))


def test_the_counts_decode_text_inside_text() -> None:
    assert opened('{"a": "[1, \\"{}\\"]"}') == {"a": [1, {}]}
