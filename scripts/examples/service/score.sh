#!/usr/bin/env bash
# Score one run with curl. The run is anything that `judge convert` reads; it may not tell how good it is.
#   URL=http://127.0.0.1:8000 KEY=tj_… bash scripts/examples/service/score.sh run.json
set -euo pipefail
URL="${URL:-http://127.0.0.1:8000}"
AUTH=(); if [ -n "${KEY:-}" ]; then AUTH=(-H "Authorization: Bearer $KEY"); fi

# A repeated request with the same key gets the first answer and pays nothing twice. --fail-with-body: a judgement that
# failed is an error status (502, 503, 504, with Retry-After), and its cause stands in the body.
: "${1:?name a file with one run}"
printf '{"rubric": "process", "trajectory": %s}' "$(cat "$1")" |
  curl -sS --fail-with-body "${AUTH[@]}" -H 'Content-Type: application/json' \
    -H "Idempotency-Key: $(sha256sum "$1" | cut -c1-32)" --data-binary @- "$URL/v1/score"
echo
