"""Links of the OpenAPI description: which operation takes what an answer gave."""

from __future__ import annotations

from typing import Any

ID = "$response.body#/id"
NEXT = "$response.body#/next"


def links(status: int, **targets: dict[str, str]) -> dict[int | str, dict[str, Any]]:
    """Documented links of the answer `status`: operation id to the parameters that come from request or answer."""
    return {status: {"links": {name: {"operationId": name, "parameters": given} for name, given in targets.items()}}}


def of_job(kind: str) -> dict[int | str, dict[str, Any]]:
    """Links from a job that was begun to its operations."""
    more: dict[str, dict[str, str]] = {}
    for name in (f"follow_{kind}", f"cancel_{kind}", *(("batch_results",) if kind == "batch" else ())):
        more[name] = {"id": ID}
    return links(202, **{f"get_{kind}": {"id": ID}}, **more)


def of_list(operation: str, **kept: str) -> dict[int | str, dict[str, Any]]:
    """The link from a page of a list to the next page; `kept`: parameters of the request that stay."""
    return links(200, **{operation: {**kept, "cursor": NEXT}})
