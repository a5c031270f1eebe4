"""Every error class stands in the tree at the top of judge/errors.py, under its parent, with its exit status."""

from __future__ import annotations

import inspect
import re

import pytest

from judge import errors
from judge.errors import JudgeError, ProviderError

LINE = re.compile(r"^(?P<lead>[\s│├└─]*)(?P<name>[A-Z]\w+)(?P<rest>.*)$")
EXIT = re.compile(r"\bexit (\d)\b")


def drawn(docstring: str) -> dict[str, tuple[str | None, int | None]]:
    """Class name to (parent's name, exit status) as the tree draws them; an exit not given is None."""
    out: dict[str, tuple[str | None, int | None]] = {}
    path: list[tuple[int, str]] = []
    tree = docstring.split("::", 1)[1].strip("\n").split("\n\n")[0]
    for line in tree.split("\n"):
        match = LINE.match(line)
        if match is None:
            continue
        depth = len(match["lead"])
        while path and path[-1][0] >= depth:
            path.pop()
        status = EXIT.search(match["rest"])
        out[match["name"]] = (path[-1][1] if path else None, int(status[1]) if status else None)
        path.append((depth, match["name"]))
    return out


def classes() -> dict[str, type[JudgeError]]:
    return {
        name: value
        for name, value in vars(errors).items()
        if inspect.isclass(value) and issubclass(value, JudgeError) and value.__module__ == errors.__name__
    }


def differences(tree: dict[str, tuple[str | None, int | None]], known: dict[str, type[JudgeError]]) -> list[str]:
    found = [f"{name} is not drawn" for name in known if name not in tree]
    for name, (parent, status) in tree.items():
        if name not in known:
            found.append(f"{name} is drawn and does not exist")
            continue
        base = known[name].__base__
        real = base.__name__ if base is not None and issubclass(base, JudgeError) else None
        if parent != real:
            found.append(f"{name} is drawn under {parent}, its parent is {real}")
        if status is not None and status != known[name].exit_code:
            found.append(f"{name} is drawn with exit {status}, it has {known[name].exit_code}")
    return found


def test_the_tree_in_the_docstring_is_the_tree_of_classes() -> None:
    assert errors.__doc__ is not None
    assert differences(drawn(errors.__doc__), classes()) == []


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("    │   ├── LabelError", "    │   ├── LableError", "LabelError is not drawn"),
        ("│   ├── TraceError ", "├── TraceError ", "TraceError is drawn under JudgeError"),
        ("exit 5", "exit 4", "BudgetReached is drawn with exit 4, it has 5"),
    ],
)
def test_a_wrong_tree_is_found(old: str, new: str, message: str) -> None:
    assert errors.__doc__ is not None
    assert old in errors.__doc__
    found = differences(drawn(errors.__doc__.replace(old, new)), classes())
    assert [line for line in found if message in line], found


@pytest.mark.parametrize("error", classes().values(), ids=classes())
def test_every_error_says_what_it_means(error: type[JudgeError]) -> None:
    assert error.__doc__
    assert error.__dict__["__doc__"], "inherits its docstring"
    raised = error("what was found", hint="what to do")
    assert str(raised) == "what was found what to do"
    assert raised.exit_code in (2, 3, 4, 5)


def test_the_kind_is_the_name_in_snake_case() -> None:
    assert ProviderError("x").kind == "provider_error"
