#!/usr/bin/env bash
# From runs to a certificate with curl: make a queue, label in the browser, export, calibrate, wait for the decision.
#   URL=http://127.0.0.1:8000 KEY=tj_… bash scripts/examples/service/calibrate.sh runs.jsonl [QUEUE]
set -euo pipefail
URL="${URL:-http://127.0.0.1:8000}"; QUEUE="${2:-first}"
AUTH=(); if [ -n "${KEY:-}" ]; then AUTH=(-H "Authorization: Bearer $KEY"); fi
api() { curl -sS --fail-with-body "${AUTH[@]}" -H 'Content-Type: application/json' "$@"; }
field() { python3 -c 'import json, sys
value = json.load(sys.stdin)
if "detail" in value: sys.exit(value["detail"])  # it was refused
for name in sys.argv[1].split("."): value = value[name]
print(value)' "$1"; }

# Native runs, one a line (`judge convert TRACE --out runs.jsonl` makes them). A value of 4 or more counts as passed.
python3 -c 'import json, sys
runs = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8") if line.strip()]
asked = {"id": sys.argv[2], "rubric": "process", "pass_mark": 4, "verdicts": True, "trajectories": runs}
json.dump(asked, sys.stdout)' "${1:?name a file of native runs}" "$QUEUE" | api --data-binary @- "$URL/v1/queues" > queue.json || field refused < queue.json
echo "$(field drawn < queue.json) runs to label. Label at $URL/label/$QUEUE, then press Enter here."
read -r || true  # nothing to press where no one sits: go on with the labels that are there

# Labels in the form of labels.jsonl: with rater, time, and the chance that the run was drawn.
api "$URL/v1/labels/export?queue=$QUEUE" > labels.jsonl
ID=$(api -d "{\"queue\": \"$QUEUE\", \"claims\": [\"tpr\", \"tnr\", \"kappa\"]}" "$URL/v1/calibrations" | field id)
until case "$(api "$URL/v1/calibrations/$ID" | field state)" in done | failed | cancelled) true ;; *) false ;; esac; do
  sleep 0.5
done
api "$URL/v1/calibrations/$ID" > calibration.json
echo "state: $(field state < calibration.json)"
if grep -q '"state": *"done"' calibration.json; then
  echo "decision: $(field result.decision < calibration.json)"
else
  echo "reason: $(field error < calibration.json)"
fi
echo "The report: $URL/reports/$ID"
