#!/usr/bin/env bash
# Judge many runs into a folder, twice: the second time every vote of a model comes from the cache.
# (`rules/process` asks no model, so there is nothing to keep.)
#   bash scripts/examples/batch_with_cache.sh runs.jsonl [JUDGE] [FOLDER]
set -euo pipefail
RUNS="${1:?name a file of runs}"; JUDGE="${2:-rules/process}"; OUT="${3:-.judge/examples}"

# Every verdict is on disk as soon as it is there. After a kill the same line with --resume goes on.
judge batch "$RUNS" --rubric process --judge "$JUDGE" --out "$OUT/first" --max-usd 5
# The same runs again, into another folder.
judge batch "$RUNS" --rubric process --judge "$JUDGE" --out "$OUT/second" --max-usd 5

# Verdicts are JSON Lines; the summary counts calls, cached votes, and failures by cause.
head -c 300 "$OUT/second/results.jsonl"; echo
python3 -c 'import json, sys
for name in ("first", "second"):
    counts = json.load(open(f"{sys.argv[1]}/{name}/summary.json"))["result"]["summary"]
    print(name, {key: counts[key] for key in ("scored", "total", "calls", "cached", "errors")})' "$OUT"
