#!/usr/bin/env bash
# From the project that defines compose files: their JSON schema, into build/compose-spec.json, and its own program,
# which merges files as compose does and checks the whole, into build/bin/compose-spec. Needs Go.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$here/../../.." && pwd)/build
schema=$build/compose-spec.json
program=$build/bin/compose-spec
module=$(sed -n 's/^require \(.*\) \(v.*\)$/\1@\2/p' "$here/go.mod")
mkdir -p "$build/bin"
if [ ! -f "$schema" ]; then
  folder=$(cd "$here" && go mod download -json "$module" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
  install -m 644 "$folder/schema/compose-spec.json" "$schema"
fi
if [ ! -x "$program" ]; then
  fresh=$(mktemp -d "$build/compose-spec.XXXXXX")
  GOBIN=$fresh GOFLAGS=-modcacherw go install "${module%@*}/cmd@${module#*@}" 2>"$fresh/log" || { cat "$fresh/log" >&2; exit 1; }
  mv "$fresh/cmd" "$program" # named by its folder
  rm -r "$fresh"
fi
