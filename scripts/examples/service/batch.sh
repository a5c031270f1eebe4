#!/usr/bin/env bash
# Judge many runs in the background with curl: begin, follow by server-sent events, read the verdicts.
#   URL=http://127.0.0.1:8000 KEY=tj_… bash scripts/examples/service/batch.sh runs.jsonl
set -euo pipefail
URL="${URL:-http://127.0.0.1:8000}"
AUTH=(); if [ -n "${KEY:-}" ]; then AUTH=(-H "Authorization: Bearer $KEY"); fi

# JSON Lines → {"trajectories": [...]}
body() { printf '{"rubric": "process", "trajectories": [%s]}' "$(grep -v '^[[:space:]]*$' "$1" | paste -sd, -)"; }
ID=$(body "${1:?name a file of runs, one a line}" |
  curl -sS --fail-with-body "${AUTH[@]}" -H 'Content-Type: application/json' --data-binary @- "$URL/v1/batches" |
  python3 -c 'import json, sys
job = json.load(sys.stdin)
print(job["id"]) if "id" in job else sys.exit(job["detail"])')

# One `progress` event for every change, and `end` with the whole job. It ends by itself; DELETE would cancel it.
curl -sSN --fail-with-body "${AUTH[@]}" "$URL/v1/batches/$ID/events"
# The first page; `next` is the cursor of the following one, or null.
curl -sS --fail-with-body "${AUTH[@]}" "$URL/v1/batches/$ID/results?limit=1000"
echo
