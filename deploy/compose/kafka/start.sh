#!/bin/sh
# Formats the broker's data at the first start, and runs the broker: start.sh SETTINGS
# A file NAME.password among the secrets makes a user of that name in the first step, before any client can connect.
set -eu
settings=$1
kafka=${KAFKA_HOME:-/opt/kafka}
secrets=${SECRETS:-/run/secrets}
set --
for file in "$secrets"/*.password; do
    [ -f "$file" ] || continue # no secrets: the pattern itself
    set -- "$@" --add-scram "SCRAM-SHA-512=[name=$(basename "$file" .password),password=$(cat "$file")]"
done
# The id is the image's own, so that data of a broker that the image has formatted stay in use.
"$kafka/bin/kafka-storage.sh" format --ignore-formatted --cluster-id 5L6g3nShT-eMCtK--X86sw --config "$settings" "$@"
exec "$kafka/bin/kafka-server-start.sh" "$settings"
