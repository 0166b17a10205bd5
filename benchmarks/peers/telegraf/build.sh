#!/usr/bin/env bash
# Telegraf (MIT) with the few plugins that tests/servers and benchmarks use, built from source into build/bin/telegraf.
# Needs Go; some minutes on two cores. Quiet, and does nothing when it is there.
set -euo pipefail
version=v1.37.2
tags="custom,inputs.kafka_consumer,inputs.prometheus,inputs.file,outputs.kafka,outputs.file,outputs.discard"
tags="$tags,inputs.cisco_telemetry_mdt,inputs.http_listener_v2,inputs.opentelemetry"
tags="$tags,parsers.influx,parsers.json,parsers.prometheus,parsers.prometheusremotewrite"
tags="$tags,serializers.influx,serializers.json,serializers.prometheusremotewrite"
bin=$(cd "$(dirname "$0")/../../.." && pwd)/build/bin
mkdir -p "$bin"
[ "$(cat "$bin/.telegraf.built" 2> /dev/null)" = "$version $tags" ] && [ -x "$bin/telegraf" ] && exit
GOBIN=$bin GOFLAGS=-modcacherw go install -tags "$tags" "github.com/influxdata/telegraf/cmd/telegraf@$version" 2> "$bin/.telegraf.log" \
  || { cat "$bin/.telegraf.log" >&2; exit 1; }
echo "$version $tags" > "$bin/.telegraf.built"
