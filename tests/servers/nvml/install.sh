#!/usr/bin/env bash
# NVIDIA's libnvidia-ml.so.1 from Debian's non-free packages, into build/nvml: unpacked there, installed nowhere. The lists
# that apt reads for it are its own as well. It needs no GPU and no driver; without one it says so, which is tested.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
folder=$(cd "$here/../../.." && pwd)/build/nvml
library=$folder/libnvidia-ml.so.1
[ -e "$library" ] && exit
command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || {
  echo "The tests need NVIDIA's libnvidia-ml.so.1 as $library: from Debian's package libnvidia-ml1, or any driver's." >&2
  exit 1
}
mkdir -p "$folder"
fresh=$(mktemp -d "$folder/fresh.XXXXXX")
trap 'rm -rf "$fresh"' EXIT
mkdir -p "$fresh"/{lists/partial,cache/archives/partial}
touch "$fresh/status"
# The mirror is the machine's own: that of Debian itself, not of its updates.
mirror=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' | awk '$2 !~ /-/ && $3 == "main" {print $1, $2; exit}')
[ -n "$mirror" ] || { echo "apt names no mirror of Debian: expected a source with main." >&2 && exit 1; }
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror non-free" >"$fresh/sources.list"
apt=(apt-get -qq
  -o Dir::Etc::SourceList="$fresh/sources.list" -o Dir::Etc::SourceParts=/dev/null
  -o Dir::State="$fresh" -o Dir::State::Lists="$fresh/lists" -o Dir::State::status="$fresh/status"
  -o Dir::Cache="$fresh/cache")
[ "$(id -u)" -ne 0 ] || apt+=(-o APT::Sandbox::User=root) # its own user may not write here
"${apt[@]}" update
(cd "$fresh" && "${apt[@]}" download libnvidia-ml1)
dpkg-deb -x "$fresh"/libnvidia-ml1_*.deb "$fresh/package"
install -m 644 "$(realpath "$(find "$fresh/package" -name libnvidia-ml.so.1)")" "$library"
