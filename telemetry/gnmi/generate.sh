#!/bin/sh
# Vendors the openconfig gNMI protocol and generates the Python stubs from it. The result is committed; run this only to
# move to another version. Needs Go (fetches the module) and the development dependencies (grpcio-tools).
set -eu
version=v0.14.1
python=${PYTHON:-python3}
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cd "$work"
go mod init fabricscope.example/vendor >/dev/null 2>&1
module=$(go mod download -json "github.com/openconfig/gnmi@$version" | sed -n 's/^.*"Dir": "\(.*\)",$/\1/p')

mkdir -p "$here/proto" stage/telemetry/gnmi
cp "$module/LICENSE" "$here/proto/LICENSE"
for name in gnmi gnmi_ext; do
    cp "$module/proto/$name/$name.proto" "$here/proto/$name.proto"
    # The import path decides the module that the generated code imports: ours, not a package named "github".
    sed 's#"github.com/openconfig/gnmi/proto/[a-z_]*/#"telemetry/gnmi/#' "$here/proto/$name.proto" \
        > "stage/telemetry/gnmi/$name.proto"
done
chmod u+w "$here"/proto/*
"$python" -m grpc_tools.protoc -Istage --python_out="$root" --pyi_out="$root" --grpc_python_out="$root" \
    telemetry/gnmi/gnmi.proto telemetry/gnmi/gnmi_ext.proto
rm -f "$here/gnmi_ext_pb2_grpc.py" # gnmi_ext declares no service
