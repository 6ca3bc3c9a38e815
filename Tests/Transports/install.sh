#!/usr/bin/env bash
# install.sh PACKAGE...: installs the Debian packages that are missing; ends with 77, and says why, where that is not possible.
set -euo pipefail
missing=()
for package in "$@"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
[ "${#missing[@]}" -gt 0 ] || exit 0
command -v apt-get >/dev/null || { echo "not Debian: ${missing[*]} would be needed"; exit 77; }
run=()
if [ "$(id -u)" != 0 ]; then run=(sudo -n); fi
echo "installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
"${run[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null 2>&1 && exit 0
"${run[@]}" apt-get update -qq >/dev/null 2>&1 || true
"${run[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null 2>&1 && exit 0
echo "cannot be installed here: ${missing[*]}"
exit 77
