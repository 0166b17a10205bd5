#!/bin/sh
# Fetches the jars of a Kafka broker into build/kafka-<version>/libs, for each version named (default: those the tests use).
# Does nothing when they are there. Needs mvn and Java 17.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$here/../../.." && pwd)/build
[ $# -gt 0 ] || set -- 4.1.1 3.9.2
for version in "$@"; do
    home=$build/kafka-$version
    [ -d "$home/libs" ] && continue
    mkdir -p "$build"
    fresh=$(mktemp -d "$build/kafka-$version.XXXXXX")
    mvn --quiet --batch-mode --file "$here/pom.xml" "-Dkafka.version=$version" \
        dependency:copy-dependencies "-DoutputDirectory=$fresh/libs" -DincludeScope=runtime
    # Renamed only when complete: a broken download is never taken for an installed broker.
    mv -T "$fresh" "$home" 2>/dev/null || rm -rf "$fresh"
done
