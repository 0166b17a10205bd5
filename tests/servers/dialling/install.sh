#!/usr/bin/env bash
# The switch of main.go, built into build/bin from grpc-go and the Go packages of openconfig/gnmi and
# cisco-ie/nx-telemetry-proto (all Apache-2.0). Needs Go. Quiet, and does nothing when it is there.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
bin="$(cd "$here/../../.." && pwd)/build/bin"
mkdir -p "$bin"
version=$(cat "$here/main.go" "$here/go.mod" "$here/go.sum" | sha256sum | cut -c1-16)
[ -x "$bin/dialling" ] && [ "$(cat "$bin/.dialling.version" 2>/dev/null)" = "$version" ] && exit 0
(cd "$here" && GOFLAGS=-modcacherw go build -o "$bin/dialling" .) 2> "$bin/.dialling.log" || { cat "$bin/.dialling.log" >&2; exit 1; }
echo "$version" > "$bin/.dialling.version"
