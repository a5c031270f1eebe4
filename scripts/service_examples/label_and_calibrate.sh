#!/usr/bin/env bash
# From runs to a certificate with curl: make a queue, label in the browser, export, calibrate.
#   URL=http://127.0.0.1:8000 KEY=tj_… RUNS=runs.jsonl bash scripts/service_examples/label_and_calibrate.sh
set -euo pipefail
URL="${URL:-http://127.0.0.1:8000}"
AUTH=(); if [ -n "${KEY:-}" ]; then AUTH=(-H "Authorization: Bearer $KEY"); fi

# RUNS: native trajectories, one a line (`judge convert TRACE --out runs.jsonl` makes them)
python3 -c 'import json, sys
runs = [json.loads(line) for line in open(sys.argv[1]) if line.strip()]
json.dump({"id": "first", "rubric": "process", "pass_mark": 4, "verdicts": True, "trajectories": runs}, sys.stdout)' \
  "${RUNS:?name a file of native runs in RUNS}" |
  curl -sS --fail-with-body "${AUTH[@]}" -H 'Content-Type: application/json' --data-binary @- "$URL/v1/queues"
echo
echo "Label at $URL/label, then press Enter here."; read -r
curl -sS --fail-with-body "${AUTH[@]}" "$URL/v1/labels/export?queue=first" > labels.jsonl
curl -sS --fail-with-body "${AUTH[@]}" -H 'Content-Type: application/json' \
  -d '{"queue": "first", "claims": ["tpr", "tnr", "kappa"]}' "$URL/v1/calibrations"
echo
echo "The report: $URL/reports"
