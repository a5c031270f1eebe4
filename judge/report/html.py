"""What every page is made with: templates of this package, in which all text is escaped and no name may be missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template, select_autoescape


def page_template(name: str, *, filters: Mapping[str, Callable[..., Any]] | None = None, **words: object) -> Template:
    """The template of a page, which may use `words` and `filters` of its own."""
    environment = Environment(
        loader=PackageLoader("judge.report"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(words)
    environment.filters.update(filters or {})
    return environment.get_template(f"{name}.html.jinja")
