"""The OpenAPI description: names, examples and links that hold, since clients are generated from it."""

from __future__ import annotations

from typing import Any

import pytest
from running_service import Start


@pytest.fixture
def described(start: Start) -> dict[str, Any]:
    found: dict[str, Any] = start().get("/openapi.json").json()
    return found


def operations(described: dict[str, Any]) -> dict[str, tuple[str, str, dict[str, Any]]]:
    """Operation id to method, path and operation."""
    found = [(method, path, one) for path, methods in described["paths"].items() for method, one in methods.items()]
    named = {one["operationId"]: (method, path, one) for method, path, one in found}
    assert len(named) == len(found)
    return named


def test_every_body_has_an_example_that_the_service_takes_or_knows(start: Start, described: dict[str, Any]) -> None:
    client = start(judges=("rules/process", "fake/always-4"))
    tried = 0
    for method, path, operation in operations(described).values():
        body = operation.get("requestBody")
        if body is None:
            continue
        name = body["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
        for example in described["components"]["schemas"][name]["examples"]:
            answer = client.request(method, path, json=example)
            # 409: trust is required in one. 404 and 422: a queue that another example has made, or has not.
            expected = {200, 201, 202} if "queue" not in example else {201, 202, 404, 422}
            assert answer.status_code in expected | ({409} if example.get("require_trust") else set()), (
                path,
                answer.text,
            )
            tried += 1
    assert tried >= 10


def test_every_link_leads_to_an_operation_and_fills_its_parameters(described: dict[str, Any]) -> None:
    named = operations(described)
    links = [
        (operation["operationId"], name, link)
        for _, _, operation in named.values()
        for answer in operation["responses"].values()
        for name, link in answer.get("links", {}).items()
    ]
    assert {name for _, name, _ in links} >= {"get_batch", "batch_results", "follow_batch", "cancel_batch", "next_run"}
    for origin, name, link in links:
        target = named[link["operationId"]][2]
        known = {parameter["name"] for parameter in target.get("parameters", [])}
        assert set(link.get("parameters", {})) <= known, (origin, name)
        required = {parameter["name"] for parameter in target.get("parameters", []) if parameter["required"]}
        assert required <= set(link.get("parameters", {})), (origin, name)


def test_lists_say_how_they_are_paged(described: dict[str, Any]) -> None:
    paged = [
        path
        for method, path, operation in operations(described).values()
        for parameter in operation.get("parameters", [])
        if method == "get" and parameter["name"] == "cursor" and "stays valid" in parameter.get("description", "")
    ]
    assert sorted(paged) == [
        "/v1/batches",
        "/v1/batches/{id}/results",
        "/v1/calibrations",
        "/v1/comparisons",
        "/v1/labels",
    ]
