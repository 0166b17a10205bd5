#!/usr/bin/env bash
# Grafana's own drawing code (npm @grafana/ui and @grafana/data, Apache-2.0), the typeface of its pages (OFL-1.1) and
# esbuild (MIT), into build/grafana-preview. Does nothing when they are there.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$here/../../../build/grafana-preview
cmp --silent "$here/package-lock.json" "$out/complete" && exit 0
rm -rf "$out"
mkdir -p "$out"
cp "$here/package.json" "$here/package-lock.json" "$here/.npmrc" "$out"
cd "$out"
npm ci --silent --no-audit --no-fund
rm -r node_modules/monaco-editor # an editor of queries: 82 MB that draw nothing
cp package-lock.json complete
