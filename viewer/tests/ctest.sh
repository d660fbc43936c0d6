#!/usr/bin/env bash
# Tests of the report page where Node, npm and Chromium are; elsewhere says what is missing and exits
# with 77, which ctest counts as skipped.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

skip() { printf 'skipped: %s\n' "$*"; exit 77; }

for program in node npm; do
  command -v "$program" >/dev/null || skip "there is no $program"
done
node -e 'process.exit(parseInt(process.versions.node) < 18 ? 1 : 0)' || skip "node is older than 18"
command -v "${CHROMIUM:-chromium}" >/dev/null || skip "there is no chromium"

if [[ ! -e node_modules/.package-lock.json || package-lock.json -nt node_modules/.package-lock.json ]]; then
  if ! output=$(npm ci --ignore-scripts --no-progress 2>&1); then
    [[ $output != *EUSAGE* ]] || { printf '%s\n' "$output"; exit 1; }
    skip "npm cannot get its packages: $(tail -n 3 <<<"$output")"
  fi
  touch node_modules/.package-lock.json
fi
npx tsc --noEmit
npm test --silent
