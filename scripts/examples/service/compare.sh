#!/usr/bin/env bash
# Compare judges that the service offers, on a set or on the labels of a queue, with curl.
#   URL=http://127.0.0.1:8000 KEY=tj_… bash scripts/examples/service/compare.sh set refunds rules/process openai/MODEL
set -euo pipefail
URL="${URL:-http://127.0.0.1:8000}"
AUTH=(); if [ -n "${KEY:-}" ]; then AUTH=(-H "Authorization: Bearer $KEY"); fi
api() { curl -sS --fail-with-body "${AUTH[@]}" -H 'Content-Type: application/json' "$@"; }

BODY=$(python3 -c 'import json, sys; print(json.dumps({sys.argv[1]: sys.argv[2], "judges": sys.argv[3:]}))' "$@")
ID=$(api -d "$BODY" "$URL/v1/comparisons" | python3 -c 'import json, sys
job = json.load(sys.stdin)
print(job["id"]) if "id" in job else sys.exit(job["detail"])')
until api "$URL/v1/comparisons/$ID" > comparison.json && grep -qE '"state": ?"(done|failed|cancelled)"' comparison.json; do
  sleep 0.5
done
python3 -c 'import json
job = json.load(open("comparison.json"))
print(*(job["result"]["decision"]["words"] if job["result"] else [job["error"]["message"]]), sep="\n")'
echo "The report: $URL/reports/$ID"
