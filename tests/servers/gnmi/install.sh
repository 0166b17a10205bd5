#!/usr/bin/env bash
# The openconfig project's own gNMI programs (Apache-2.0), built from source into build/bin: a fake device and a
# client. Needs Go. Quiet, and does nothing when they are there.
set -euo pipefail
version=v0.14.1
root=$(cd "$(dirname "$0")/../../.." && pwd)
bin="$root/build/bin"
mkdir -p "$bin"
for program in testing/fake/gnmi/cmd/fake_server cmd/gnmi_cli; do
  name=$(basename "$program")
  [ -x "$bin/$name" ] && [ "$(cat "$bin/.$name.version" 2>/dev/null)" = "$version" ] && continue
  GOBIN="$bin" GOFLAGS=-modcacherw go install "github.com/openconfig/gnmi/$program@$version" 2> "$bin/.$name.log" \
    || { cat "$bin/.$name.log" >&2; exit 1; }
  echo "$version" > "$bin/.$name.version"
done
