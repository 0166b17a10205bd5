#!/bin/sh
# Vendors Cisco's protocol files and generates the Python stubs from them. The result is committed; run this only to
# move to another version. Needs Go (fetches the module) and the development dependencies (grpcio-tools).
set -eu
version=v0.0.0-20230117155933-f64c045c77df
python=${PYTHON:-python3}
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cd "$work"
go mod init fabricscope.example/vendor >/dev/null 2>&1
module=$(go mod download -json "github.com/cisco-ie/nx-telemetry-proto@$version" | sed -n 's/^.*"Dir": "\(.*\)",$/\1/p')
cp "$module/LICENSE" "$module/telemetry_bis.proto" "$module/mdt_dialout.proto" "$here/"
chmod u+w "$here/LICENSE" "$here"/*.proto

package=ingest/collectors/cisco_mdt/proto
mkdir -p "stage/$package"
cp "$here"/*.proto "stage/$package/"
"$python" -m grpc_tools.protoc -Istage --python_out="$root" --pyi_out="$root" "$package/telemetry_bis.proto" \
    "$package/mdt_dialout.proto"
