"""Finds code of the user's own by "module:name". The name comes from the command line, never from a data file."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from judge.errors import UsageError


def find_attribute(name: str, *, what: str) -> Any:
    """The function or class `name`, as "package.module:attribute".

    Args:
        what: "agent" or "environment", for messages.

    Raises:
        UsageError: The name has another form, the module does not import, or it lacks the attribute.
    """
    module, colon, attribute = name.partition(":")
    if not colon or not module or not attribute:
        raise UsageError(f"The {what} {name!r} is not module:name.", hint=f"E.g. my_package.agents:{what}.")
    try:
        found = getattr(import_module(module), attribute, None)
    except ImportError as error:
        raise UsageError(
            f"The {what} {name!r} cannot be imported: {error}.",
            hint="Run the command in the folder that holds the module.",
        ) from None
    if not callable(found):
        raise UsageError(f"The module {module!r} has no {attribute!r} that can be called.")
    return found


def see_working_folder() -> None:
    """Lets modules beside the user's files be imported, as `python -m` would."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
