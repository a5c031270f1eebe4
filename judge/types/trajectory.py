"""Trajectory: the ordered sequence of an agent's steps, flat, lossless and frozen.

A format's importer writes these; nothing repairs them afterwards. Turns, agents and
spans are attributes of a step, so that every format flattens without guessing.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from judge.types.record import Record, empty_dict, fingerprint

Role = Literal["system", "developer", "user", "assistant", "tool", "other"]
Severity = Literal["info", "warning", "error"]
Provenance = Literal["recorded", "copied_context", "synthetic"]
Pairing = Literal["id", "order", "nested", "name", "none"]
ResultStatus = Literal["ok", "error", "denied", "cancelled", "timeout", "missing", "unknown"]
ApprovalState = Literal["requested", "approved", "denied", "modified"]
OutcomeStatus = Literal["completed", "failed", "aborted", "limit", "incomplete", "unknown"]


class Usage(Record):
    """What one or more model calls used. None means *not known*, never zero.

    Attributes:
        input_tokens: All input tokens, cached ones included.
        output_tokens: All output tokens, reasoning included.
        cache_read_input_tokens: The part of `input_tokens` read from a provider's prompt cache.
        cache_creation_input_tokens: The part of `input_tokens` written to such a cache.
        reasoning_output_tokens: The part of `output_tokens` spent on hidden reasoning.
        cost_usd: Price in US dollars.
    """

    input_tokens: int | None = Field(default=None, ge=0)
    output_tokens: int | None = Field(default=None, ge=0)
    cache_read_input_tokens: int | None = Field(default=None, ge=0)
    cache_creation_input_tokens: int | None = Field(default=None, ge=0)
    reasoning_output_tokens: int | None = Field(default=None, ge=0)
    cost_usd: float | None = Field(default=None, ge=0)


class Text(Record):
    """Plain text, exactly as decoded."""

    type: Literal["text"] = "text"
    text: str


class Json(Record):
    """A structured value that the format gave as JSON and not as text."""

    type: Literal["json"] = "json"
    value: Any = None


class Media(Record):
    """An image, sound, video or document, by reference. Its bytes never enter a prompt."""

    type: Literal["image", "audio", "video", "document"]
    media_type: str | None = None
    uri: str | None = None
    sha256: str | None = None
    size_bytes: int | None = Field(default=None, ge=0)


class Refusal(Record):
    """Text by which a model declined."""

    type: Literal["refusal"] = "refusal"
    text: str


class Unknown(Record):
    """A content block of a type that this version does not know, kept whole."""

    type: Literal["unknown"] = "unknown"
    original_type: str | None = None
    raw: Any = None


Part = Annotated[Text | Json | Media | Refusal | Unknown, Field(discriminator="type")]


class StepError(Record):
    """An error as the format recorded it."""

    type: str | None = None
    message: str | None = None


class BaseStep(Record):
    """What every step has.

    Attributes:
        index: Position from 1; judges see it as [S3].
        ts: ISO 8601 text of the start, as exact as the source (nanoseconds kept), or None.
        seconds: Duration in seconds, or None.
        turn: Id of the model call that the step came from; parallel calls share it.
        agent: Name or id of the agent.
        parent: `index` of the step that this one belongs to (a delegating call, a nested call).
        usage: Of the model call, on the first step that came from it; None elsewhere.
        provenance: "copied_context" for history that a fork or a continuation repeats.
        extra: Keys of the source that have no field here, under their own names.
    """

    index: int = Field(ge=1)
    ts: str | None = None
    seconds: float | None = None
    turn: str | None = None
    agent: str | None = None
    parent: int | None = None
    usage: Usage | None = None
    provenance: Provenance = "recorded"
    extra: dict[str, Any] = empty_dict()


class Message(BaseStep):
    """Something said."""

    kind: Literal["message"] = "message"
    role: Role
    content: tuple[Part, ...] = ()


class Reasoning(BaseStep):
    """An agent's private reasoning. Judges do not see it unless asked for."""

    kind: Literal["reasoning"] = "reasoning"
    content: tuple[Part, ...] = ()
    redacted: bool = False


class ToolCall(BaseStep):
    """A request to run a tool.

    Attributes:
        call_id: Id given by the source; not unique (real files repeat them).
        arguments: The arguments as JSON, or None where they do not parse.
        arguments_raw: The text of the arguments, byte-exact, where the source gave text.
        arguments_error: Why `arguments` is None.
        attempt: 1 for the first try.
    """

    kind: Literal["tool_call"] = "tool_call"
    call_id: str | None = None
    name: str
    arguments: Any = None
    arguments_raw: str | None = None
    arguments_error: str | None = None
    attempt: int = Field(default=1, ge=1)


class ToolResult(BaseStep):
    """What a tool gave back.

    Attributes:
        call_index: `index` of the call that this result answers, or None for an orphan.
        pairing: How the two were joined; "none" for an orphan.
        structured: The result as JSON, where the source has it as such.
        status: From structure only. "unknown" where the format has no flag: text never decides.
    """

    kind: Literal["tool_result"] = "tool_result"
    call_id: str | None = None
    call_index: int | None = None
    pairing: Pairing = "none"
    content: tuple[Part, ...] = ()
    structured: Any = None
    status: ResultStatus = "unknown"
    error: StepError | None = None


class Approval(BaseStep):
    """A decision, or a request for one, about an action."""

    kind: Literal["approval"] = "approval"
    call_id: str | None = None
    call_index: int | None = None
    tool: str | None = None
    state: ApprovalState
    approver: str | None = None
    reason: str | None = None


class Retry(BaseStep):
    """A call tried again."""

    kind: Literal["retry"] = "retry"
    call_id: str | None = None
    call_index: int | None = None
    tool: str | None = None
    attempt: int = Field(default=2, ge=1)
    backoff_s: float | None = None


class AgentTransfer(BaseStep):
    """Control goes from one agent to another."""

    kind: Literal["agent_transfer"] = "agent_transfer"
    from_agent: str | None = None
    to_agent: str | None = None
    task: str | None = None


class ContextEdit(BaseStep):
    """The agent's context was compacted, rewound or cleared."""

    kind: Literal["context_edit"] = "context_edit"
    op: str
    summary: str | None = None


class ErrorStep(BaseStep):
    """A failure outside any tool: a model call that failed, a crash."""

    kind: Literal["error"] = "error"
    type: str | None = None
    message: str | None = None


class Final(BaseStep):
    """The final answer."""

    kind: Literal["final"] = "final"
    text: str
    status: str | None = None


class Event(BaseStep):
    """Anything that this version has no kind for, kept whole."""

    kind: Literal["event"] = "event"
    name: str
    data: Any = None


Step = Annotated[
    Message
    | Reasoning
    | ToolCall
    | ToolResult
    | Approval
    | Retry
    | AgentTransfer
    | ContextEdit
    | ErrorStep
    | Final
    | Event,
    Field(discriminator="kind"),
]


class Source(Record):
    """Where a trajectory was read from.

    Attributes:
        format: Name of the importer.
        path: The path as given; not part of any cache key.
        sha256: Of the file's bytes, or None for a stream.
        locator: Where inside the file, e.g. "line 12" or "[3].traj".
    """

    format: str
    path: str | None = None
    sha256: str | None = None
    locator: str | None = None


class Agent(Record):
    """An agent that took part."""

    name: str
    role: str | None = None
    model: str | None = None


class Tool(Record):
    """A tool that the agent could call; `parameters` is JSON Schema."""

    name: str
    description: str | None = None
    parameters: Any = None


class Outcome(Record):
    """How the run ended, by the source's own record."""

    status: OutcomeStatus = "unknown"
    stop_reason: str | None = None


class Diagnostic(Record):
    """An oddity that the importer saw and kept.

    Attributes:
        code: Upper-case name, e.g. "DUPLICATE_CALL_ID".
        step: `index` of the step, or None for the whole trajectory.
    """

    code: str
    severity: Severity = "warning"
    step: int | None = None
    message: str


class Trajectory(Record):
    """One run of an agent on one task.

    Attributes:
        id: Unique within what is scored together.
        group: Task or case id. Intervals are clustered by it.
        final: Text of the final answer, or None where there is none.
        labels: Rewards, scores, gold. Never shown to a judge.
        meta: Anything else about the run. Never shown to a judge.
    """

    schema_: Literal["judge.trajectory/1"] = Field(default="judge.trajectory/1", alias="schema")
    id: str
    task: str | None = None
    group: str | None = None
    source: Source
    agents: tuple[Agent, ...] = ()
    tools: tuple[Tool, ...] = ()
    steps: tuple[Step, ...]
    final: str | None = None
    outcome: Outcome | None = None
    usage: Usage | None = None
    labels: dict[str, Any] = empty_dict()
    diagnostics: tuple[Diagnostic, ...] = ()
    meta: dict[str, Any] = empty_dict()
    extra: dict[str, Any] = empty_dict()

    @property
    def content_fingerprint(self) -> str:
        """sha256 of what a judge could see: not the path, the labels or the diagnostics."""
        body = self.model_dump(
            mode="json",
            exclude_none=True,
            exclude={"source", "labels", "meta", "diagnostics", "extra", "id", "group"},
        )
        return fingerprint(body)
