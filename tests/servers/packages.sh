#!/usr/bin/env bash
# What the tests need from Debian: the servers that they talk to, and Python's venv. As root on Debian the packages are installed; elsewhere
# this says what is missing, and everywhere what is too old.
set -euo pipefail

python=${PYTHON:-python3}
java_min=17 # Kafka 4
go_min=1.24 # the Go modules in tests/servers

declare -A package_of=(
  [prometheus]=prometheus
  [promtool]=prometheus
  [prometheus-alertmanager]=prometheus-alertmanager
  [amtool]=prometheus-alertmanager
  [prometheus-node-exporter]=prometheus-node-exporter
  [victoria-metrics]=victoria-metrics
  [snmpd]=snmpd
  [chromium]=chromium
  [nginx]=nginx-light
  [java]=default-jre-headless
  [mvn]=maven
  [go]=golang-go
  [npm]=npm
  [systemd-analyze]=systemd
  [cc]=build-essential
)
missing=()
for program in "${!package_of[@]}"; do
  command -v "$program" >/dev/null || missing+=("${package_of[$program]}")
done
"$python" -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3-venv)
if [ ${#missing[@]} -gt 0 ]; then
  mapfile -t missing < <(printf '%s\n' "${missing[@]}" | sort -u)
  if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
  else
    echo "The tests need these Debian packages (or the same programs on the PATH): ${missing[*]}" >&2
    exit 1
  fi
fi

require() { # require NAME LEAST FOUND ADVICE
  [ "$(printf '%s\n' "$2" "${3:-0}" | sort -V | head -n 1)" = "$2" ] && return
  echo "The tests need $1 $2 or newer; $(command -v "${1,,}") is ${3:-of an unknown version}. $4" >&2
  exit 1
}
require Java "$java_min" "$(java -version 2>&1 | sed -n 's/.* version "\([0-9.]*\).*/\1/p')" \
  "Put a newer one first on the PATH (Debian 12 and later: openjdk-17-jre-headless)."
require Go "$go_min" "$(go version | sed -n 's/^go version go\([0-9.]*\).*/\1/p')" \
  "Put a newer one first on the PATH (Debian 12: a golang-1.2x-go of bookworm-backports, in /usr/lib/go-1.2x/bin)."
