"""Our judging beside other libraries on the same work, as ratios from one run. See bench/README.md.

    make bench-peers [PEERS_ARGS="--count 512"]

The peers are installed into an environment of their own from pinned requirements. A peer that does not install or does
not run is told as such, with its cause. Exit status 1 when fewer than four peers ran.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import venv
from dataclasses import dataclass
from pathlib import Path

from judging import CONCURRENCY, LATENCY_S, ROOT, WARM_UP, child, requests_for, server, trajectories

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "peers"
REQUIREMENTS = PROGRAMS / "requirements.txt"
ENVIRONMENT = ROOT / ".venv-peers"
LEAST_PEERS = 4
LONGEST_S = 900.0
PEERS = {
    "aiohttp_raw": ("aiohttp",),
    "autoevals_classifier": ("autoevals",),
    "openai_sdk": ("openai",),
    "openevals_judge": ("openevals",),
    "litellm_call": ("litellm",),
    "pydantic_evals_judge": ("pydantic-evals",),
    "inspect_graded": ("inspect-ai", "openai"),
    "deepeval_geval": ("deepeval",),
}
"""Program to the packages that it is about."""
SILENT = {
    "ANONYMIZED_TELEMETRY": "False",
    "DEEPEVAL_DISABLE_DOTENV": "1",
    "DEEPEVAL_TELEMETRY_OPT_OUT": "YES",
    "DEEPEVAL_UPDATE_WARNING_OPT_IN": "0",
    "DO_NOT_TRACK": "1",
    "INSPECT_DISPLAY": "none",
    "LANGSMITH_TRACING": "false",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "OPENAI_API_KEY": "sk-bench",
}
"""Nothing leaves the machine: no reports of use, no price list, no traces."""


@dataclass(frozen=True)
class Measured:
    """One library's run. `problem` says why there is none; then the times are None."""

    name: str
    wall: float | None = None
    cpu: float | None = None
    problem: str = ""


def python_of(environment: Path) -> Path:
    return environment / ("Scripts" if os.name == "nt" else "bin") / "python"


def install() -> str:
    """Makes the peers' environment, unless it is as the requirements say already; the cause where it cannot be made."""
    ready = ENVIRONMENT / "ready"
    wanted = REQUIREMENTS.read_text(encoding="utf-8")
    if ready.is_file() and ready.read_text(encoding="utf-8") == wanted:
        return ""
    print(f"==> installing the peers into {ENVIRONMENT.name} (pinned, hashes checked)", flush=True)
    venv.create(ENVIRONMENT, with_pip=True, clear=True)
    command = [str(python_of(ENVIRONMENT)), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run(
        [*command, "--require-hashes", "-r", str(REQUIREMENTS)], capture_output=True, text=True, errors="replace"
    )
    if done.returncode:
        return last_line(done.stderr)
    ready.write_text(wanted, encoding="utf-8")
    return ""


def versions() -> dict[str, str]:
    """Version of each package that a peer is about."""
    names = sorted({name for packages in PEERS.values() for name in packages})
    code = "import importlib.metadata as m, json, sys; print(json.dumps({n: m.version(n) for n in sys.argv[1:]}))"
    done = subprocess.run([str(python_of(ENVIRONMENT)), "-c", code, *names], capture_output=True, text=True, check=True)
    found: dict[str, str] = json.loads(done.stdout)
    return found


def write_prompts(path: Path, count: int) -> None:
    """The prompts that our own run sends, for the others."""
    requests = requests_for([*trajectories(WARM_UP, salt="cold"), *trajectories(count, salt="run")])
    with path.open("w", encoding="utf-8") as file:
        for request in requests:
            line = {
                "system": request.system,
                "user": "\n\n".join(request.segments),
                "schema_name": request.reply_name,
                "schema": request.reply_schema,
            }
            file.write(json.dumps(line) + "\n")


def run_peer(program: str, port: int, prompts: Path, scratch: Path) -> Measured:
    """One peer in a process of its own, in an empty folder."""
    command = [str(python_of(ENVIRONMENT)), str(PROGRAMS / f"{program}.py"), "--port", str(port)]
    command += ["--prompts", str(prompts), "--warm-up", str(WARM_UP), "--concurrency", str(CONCURRENCY)]
    folder = scratch / program
    folder.mkdir()
    environment = {**os.environ, **SILENT, "HOME": str(folder)}
    environment.pop("PYTHONPATH", None)
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", env=environment, cwd=folder, timeout=LONGEST_S
        )
    except subprocess.TimeoutExpired:
        return Measured(program, problem=f"not done after {LONGEST_S:.0f} s")
    if done.returncode:
        return Measured(program, problem=last_line(done.stderr))
    found = json.loads(last_line(done.stdout))
    return Measured(program, found["wall"], found["cpu"])


def last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else "no message"


def table(measured: list[Measured], ours: Measured, count: int, names: dict[str, str]) -> str:
    """Ratios; a library without a measurement gets its cause in their place."""
    ideal = count / CONCURRENCY * LATENCY_S
    wide = max(len(name) for name in names.values())
    lines = [f"{'library':<{wide}}  wall ÷ ideal  CPU ÷ ours"]
    ranked = sorted([ours, *measured], key=lambda m: (m.wall is None, m.wall))
    for one in ranked:
        if one.wall is None or one.cpu is None or ours.cpu is None:
            lines.append(f"{names[one.name]:<{wide}}  did not run: {one.problem}")
        else:
            lines.append(f"{names[one.name]:<{wide}}  {one.wall / ideal:12.2f}  {one.cpu / ours.cpu:10.2f}")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1024, help="judgments by each library")
    parser.add_argument("--only", action="append", choices=PEERS, help="a peer to run; repeatable, all by default")
    given = parser.parse_args()
    chosen = tuple(given.only or PEERS)
    problem = install()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, server("--peers") as port:
        scratch = Path(folder)
        write_prompts(scratch / "prompts.jsonl", given.count)
        (scratch / "ours").mkdir()
        found = child("package", port, given.count, scratch / "ours")
        ours = Measured("ours", found["wall"], found["cpu"])
        measured = []
        for program in chosen:
            print(f"==> {program}", flush=True)
            measured.append(
                Measured(program, problem=f"not installed: {problem}")
                if problem
                else run_peer(program, port, scratch / "prompts.jsonl", scratch)
            )
    known = {} if problem else versions()
    names = {
        name: f"{name} ({', '.join(f'{p} {known.get(p, chr(63))}' for p in packages)})"
        for name, packages in PEERS.items()
    } | {"ours": "trajudge, cache on"}
    print(f"\n{given.count:,} judgments of one prompt each, {CONCURRENCY} at once, {LATENCY_S:g} s latency\n")
    print(table(measured, ours, given.count, names))
    ran = sum(one.wall is not None for one in measured)
    print(f"\n{ran} of {len(chosen)} peers ran")
    return 0 if ran >= min(LEAST_PEERS, len(chosen)) else 1


if __name__ == "__main__":
    sys.exit(main())
