#!/usr/bin/env bash
# The JSON schema of compose files, from the project that defines them, into build/compose-spec.json.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$here/../../../build/compose-spec.json
[ -f "$out" ] && exit 0
mkdir -p "$(dirname "$out")"
module=$(sed -n 's/^require \(.*\) \(v.*\)$/\1@\2/p' "$here/go.mod")
folder=$(cd "$here" && go mod download -json "$module" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
install -m 644 "$folder/schema/compose-spec.json" "$out"
