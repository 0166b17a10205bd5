#!/usr/bin/env bash
# The servers that the tests talk to, from Debian's packages. As root on Debian they are installed; elsewhere this says what is missing.
set -euo pipefail

declare -A package_of=(
  [prometheus]=prometheus
  [promtool]=prometheus
  [prometheus-alertmanager]=prometheus-alertmanager
  [amtool]=prometheus-alertmanager
  [prometheus-node-exporter]=prometheus-node-exporter
  [chromium]=chromium
  [java]=default-jre-headless
  [mvn]=maven
  [go]=golang-go
  [npm]=npm
)
missing=()
for program in "${!package_of[@]}"; do
  command -v "$program" >/dev/null || missing+=("${package_of[$program]}")
done
[ ${#missing[@]} -eq 0 ] && exit 0
mapfile -t missing < <(printf '%s\n' "${missing[@]}" | sort -u)
if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
else
  echo "The tests need these Debian packages (or the same programs on the PATH): ${missing[*]}" >&2
  exit 1
fi
