#!/usr/bin/env bash
# Helm (Apache-2.0), and a program that validates manifests with the API server's own code (main.go), into build/bin.
# Needs Go. Quiet, and does nothing when they are there.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
bin=$(cd "$here/../../.." && pwd)/build/bin
mkdir -p "$bin"
built() { # built NAME PACKAGE
  [ -x "$bin/$1" ] && [ "$bin/$1" -nt "$here/main.go" ] && [ "$bin/$1" -nt "$here/go.mod" ] && return
  (cd "$here" && go build -modcacherw -o "$bin/$1" "$2") 2> "$bin/.$1.log" || { cat "$bin/.$1.log" >&2; exit 1; }
}
built helm helm.sh/helm/v3/cmd/helm
built kubernetes-check .
