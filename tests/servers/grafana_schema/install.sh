#!/usr/bin/env bash
# JSON schemas of Grafana's own types, one file a type, into build/grafana-schema.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$here/../../../build/grafana-schema
[ -f "$out/complete" ] && exit 0
mkdir -p "$out"
cp "$here/package.json" "$here/package-lock.json" "$out"
cd "$out"
npm ci --silent --no-audit --no-fund
types=node_modules/@grafana/schema/dist/types/raw
make_schema() { # make_schema FILE TYPE NAME
  npx ts-json-schema-generator --no-type-check --path "$types/$1/x/types.gen.d.ts" --type "$2" -o "$3.json"
}
make_schema dashboard Dashboard dashboard
for panel in timeseries stat table statetimeline; do
  make_schema "composable/$panel/panelcfg" Options "$panel-options"
done
for panel in timeseries table statetimeline; do
  make_schema "composable/$panel/panelcfg" FieldConfig "$panel-custom"
done
touch complete
