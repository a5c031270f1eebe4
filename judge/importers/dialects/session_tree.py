"""The lines of a Claude Code session in the order of their tree: which are on its main path, and which were left."""

from __future__ import annotations

from typing import Any, NamedTuple

from judge.importers.content import plain_text, read_content
from judge.importers.fields import mapping, objects, string


class Line(NamedTuple):
    """One line of a session file.

    Attributes:
        reply: Id of the model reply that an assistant line is a part of.
        prompt: For a sub-agent's line, the text that began its chain.
        branch: 0 on the main path; else the number of the branch that was left.
    """

    record: Any
    uuid: str | None = None
    parent: str | None = None
    session: str | None = None
    sidechain: bool = False
    agent: str | None = None
    reply: str | None = None
    prompt: str | None = None
    branch: int = 0


def arrange(records: list[Any]) -> list[Line]:
    """Lines with each parent before its children, else in file order; a line repeated word for word is there once.

    The main path is the ancestors of the last line that no other follows. What hangs beside it is a branch
    that was left, unless it answers a call of the main path or is a part of one of its replies: parallel calls
    make such forks without anybody having gone back. A tree with no tie to the main one belongs to the run.
    """
    lines: list[Line] = []
    seen: dict[str, Any] = {}
    for record in records:
        line = _line(record)
        if line.uuid is not None and line.uuid in seen and seen[line.uuid] == record:
            continue
        if line.uuid is not None:
            seen.setdefault(line.uuid, record)
        lines.append(line)
    lines = _topological(lines)
    by_uuid = {line.uuid: line for line in reversed(lines) if line.uuid}
    lines = [_rooted(line, by_uuid) if line.sidechain else line for line in lines]
    branches = _branches(lines, by_uuid)
    return [line._replace(branch=branches.get(line.uuid or "", 0)) for line in lines]


def _line(record: Any) -> Line:
    if not isinstance(record, dict):
        return Line(record)
    message = mapping(record.get("message"))
    delegated = string(record.get("parent_tool_use_id"))
    return Line(
        record,
        uuid=string(record.get("uuid")),
        parent=string(record.get("parentUuid")) or string(record.get("logicalParentUuid")),
        session=string(record.get("sessionId")) or string(record.get("session_id")),
        sidechain=record.get("isSidechain") is True or delegated is not None,
        agent=string(record.get("agentId")) or delegated,
        reply=string(message.get("id")) if record.get("type") == "assistant" else None,
    )


def _topological(lines: list[Line]) -> list[Line]:
    waiting: dict[str, Line] = {}
    for line in lines:
        if line.uuid:
            waiting.setdefault(line.uuid, line)
    done: set[int] = set()
    out: list[Line] = []
    for line in lines:
        chain: list[Line] = []
        at: Line | None = line
        while at is not None and id(at) not in done:
            done.add(id(at))
            chain.append(at)
            at = waiting.get(at.parent or "")
        out.extend(reversed(chain))
    return out


def _rooted(line: Line, by_uuid: dict[str | None, Line]) -> Line:
    """A sub-agent's line with the agent of its chain, and the prompt that began it."""
    root, steps = line, 0
    while root.parent in by_uuid and by_uuid[root.parent].sidechain and steps < len(by_uuid):
        root, steps = by_uuid[root.parent], steps + 1
    content = read_content(mapping(root.record.get("message")).get("content"))
    agent = line.agent or root.agent or (f"sidechain-{root.uuid}" if root.uuid else "sidechain")
    return line._replace(agent=agent, prompt=plain_text(content.parts))


def _branches(lines: list[Line], by_uuid: dict[str | None, Line]) -> dict[str, int]:
    """uuid to branch number of the lines that are off the main path."""
    talk = [line for line in lines if line.uuid and not line.sidechain and line.record.get("type") in _TALK]
    parents = {line.parent for line in talk}
    leaf = next((line for line in reversed(talk) if line.uuid not in parents), None)
    if leaf is None:
        return {}
    main: set[str] = set()
    at: Line | None = leaf
    while at is not None and at.uuid and at.uuid not in main:
        main.add(at.uuid)
        at = by_uuid.get(at.parent)
    replies = {line.reply for line in talk if line.uuid in main and line.reply}
    calls = {call for line in talk if line.uuid in main for call in _ids(line, "tool_use", "id")}
    found: dict[str, int] = {}
    numbers: dict[str, int] = {}
    for line in lines:
        if line.sidechain or not line.uuid or line.uuid in main or line.record.get("type") not in _TALK:
            continue
        if line.reply in replies and line.parent in main:
            main.add(line.uuid)
            calls.update(_ids(line, "tool_use", "id"))
            continue
        if line.parent in main and calls.intersection(_ids(line, "tool_result", "tool_use_id")):
            main.add(line.uuid)
            continue
        if line.parent in found:
            found[line.uuid] = found[line.parent]
        elif line.parent in main:
            found[line.uuid] = numbers.setdefault(line.uuid, len(numbers) + 1)
    return found


_TALK = ("user", "assistant")


def _ids(line: Line, kind: str, key: str) -> list[str]:
    blocks = objects(mapping(line.record.get("message")).get("content"))
    return [block[key] for block in blocks if block.get("type") == kind and isinstance(block.get(key), str)]
