#!/usr/bin/env bash
# Prometheus 3 (Apache-2.0), which speaks remote write 2.0, built from source into build/bin/prometheus3: Debian has 2.
# `go install` refuses its module for its replacements, so it is a tool of a module of ours. Needs Go; five minutes on
# two cores. Quiet, and does nothing when it is there.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
bin=$(cd "$here/../../.." && pwd)/build/bin
mkdir -p "$bin"
cmp -s "$here/go.sum" "$bin/.prometheus3.sum" && [ -x "$bin/prometheus3" ] && exit
cd "$here"
GOFLAGS=-modcacherw go build -o "$bin/prometheus3" github.com/prometheus/prometheus/cmd/prometheus 2> "$bin/.prometheus3.log" \
  || { cat "$bin/.prometheus3.log" >&2; exit 1; }
cp go.sum "$bin/.prometheus3.sum"
