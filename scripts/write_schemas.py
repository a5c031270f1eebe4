"""Write docs/schemas/*.json from the types. Run it after a change to a type: `make schemas`.

A schema describes the form that the package writes. What it reads may be shorter, e.g. `scale: binary` in YAML.
"""

from __future__ import annotations

import json
from pathlib import Path

from judge.types import JudgeSpec, Label, Record, Reference, Reply, Request, Rubric, Trajectory, Verdict
from judge.types.certificate import Certificate
from judge.types.pair import PairVerdict

PUBLISHED: dict[str, type[Record]] = {
    "certificate": Certificate,
    "judge-spec": JudgeSpec,
    "label": Label,
    "pair-verdict": PairVerdict,
    "reference": Reference,
    "reply": Reply,
    "request": Request,
    "rubric": Rubric,
    "trajectory": Trajectory,
    "verdict": Verdict,
}
FOLDER = Path(__file__).resolve().parents[1] / "docs" / "schemas"


def schemas() -> dict[str, str]:
    """File name to the text of the file, for every published type."""
    out: dict[str, str] = {}
    for name, record in PUBLISHED.items():
        schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **record.model_json_schema(by_alias=True)}
        out[f"{name}.json"] = json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
    return out


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in schemas().items():
        (FOLDER / name).write_text(text, encoding="utf-8", newline="\n")
        print(f"wrote docs/schemas/{name}")


if __name__ == "__main__":
    main()
