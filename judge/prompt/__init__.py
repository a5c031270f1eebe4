"""Rubric and trajectory → prompt; reply → votes."""

from judge.document import Finding
from judge.prompt.library import RubricWarning, lint_rubric, load_rubric, new_rubric, rubric_names, rubric_path
from judge.prompt.parse import PARSER_VERSION, parse
from judge.prompt.render import Prompt, render
from judge.prompt.rubric_text import template_version
from judge.prompt.view import VIEW_VERSION, view

__all__ = [
    "PARSER_VERSION",
    "VIEW_VERSION",
    "Finding",
    "Prompt",
    "RubricWarning",
    "lint_rubric",
    "load_rubric",
    "new_rubric",
    "parse",
    "render",
    "rubric_names",
    "rubric_path",
    "template_version",
    "view",
]
