#!/usr/bin/env bash
# Installs the newest snapsync_*.deb of a folder in a Debian 12 root of its own and uses it there as a new user would.
#
#   Tests/Packages/debian.sh FOLDER
#
# Needs root and debootstrap. The root lies in a temporary folder and is removed at the end.
set -euo pipefail

package=$(ls -t "$1"/snapsync_*.deb | head -1)
if [ "$(id -u)" != 0 ]; then
    echo "test-deb: debootstrap needs root; run it with sudo" >&2
    exit 77
fi
command -v debootstrap >/dev/null || {
    echo "test-deb: installing debootstrap"
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends debootstrap >/dev/null
}
command -v lintian >/dev/null || {
    echo "test-deb: installing lintian"
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends lintian >/dev/null
}
root=$(mktemp -d)
chmod 755 "$root"
unmount() { mountpoint -q "$root/proc" && umount "$root/proc"; rm -rf "$root"; }
trap unmount EXIT
step() { echo "test-deb: $*"; }

step "lintian"
lintian --fail-on error "$package"

step "making a Debian 12 root"
mirror=$(sed -n 's,^deb \(\[[^]]*\] \)\?\(http[^ ]*\) bookworm main.*,\2,p; s,^URIs: ,,p' /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | head -1 || true)
debootstrap --variant=minbase bookworm "$root" "${mirror:-http://deb.debian.org/debian}" >"$root.log" 2>&1 || { tail -5 "$root.log" >&2; exit 1; }
rm -f "$root.log"
# The root reaches its packages the way that this machine does.
for file in $(grep -l 'Acquire::' /etc/apt/apt.conf.d/*) /etc/resolv.conf; do cp "$file" "$root$file"; done
mount -t proc proc "$root/proc"
cp "$package" "$root/tmp/snapsync.deb"
inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive bash -euc "$1"; }

step "installing the package"
inside 'apt-get update -qq && apt-get install -y -qq --no-install-recommends /tmp/snapsync.deb sqlite3 jq python3 man-db bash-completion >/tmp/apt.log 2>&1 || { tail -5 /tmp/apt.log; exit 1; }'
inside '! command -v swift' >/dev/null

step "demo"
inside 'snapsync demo' | tail -3

step "the commands of the README, with a database of another shape"
inside "$(cat <<'SCRIPT'
cd /root
sqlite3 app.db "CREATE TABLE artists(id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL);
    CREATE TABLE plays(artist INTEGER REFERENCES artists(id), at TEXT, count REAL, PRIMARY KEY(artist, at)) WITHOUT ROWID;
    INSERT INTO artists(name) VALUES ('one'), ('two'); INSERT INTO plays VALUES(1, '2026', 1.5);"
snapsync init app.db /root/cloud
snapsync sync app.db
snapsync join copy.db /root/cloud
snapsync sync copy.db
[ "$(sqlite3 copy.db "SELECT count(*), (SELECT count(*) FROM plays) FROM artists")" = "2|1" ]
snapsync show copy.db plays | jq -e ".plays | length == 1" >/dev/null
snapsync check copy.db
SCRIPT
)" | tail -2

step "the tutorial, the how-to pages and the promises, line by line"
docs=$(dirname "$0")/../../docs
"$(dirname "$0")/sessions.py" "$root" "$docs/tutorial.md" "$docs/howto.md" "$(dirname "$0")/../Promises/promises.md"

step "manual pages, completions, units"
inside 'for page in snapsync snapsync-init snapsync-conflicts-take; do test -e "/usr/share/man/man1/$page.1.gz" || exit 1; done'
[ "$(inside '. /usr/share/bash-completion/completions/snapsync; COMP_WORDS=(snapsync che); COMP_CWORD=1 COMP_LINE="snapsync che" COMP_POINT=12; shopt -s extglob
    _snapsync snapsync che snapsync; echo "${COMPREPLY[@]}"')" = check ]
for unit in snapsync@.service snapsync@.timer snapsync-watch@.service; do
    test -e "$root/usr/lib/systemd/system/$unit"
    if command -v systemd-analyze >/dev/null; then
        instance=$(mktemp -d)/${unit/@/@test}
        sed "s,/usr/bin/snapsync,$root/usr/bin/snapsync," "$root/usr/lib/systemd/system/$unit" >"$instance"
        systemd-analyze verify --man=no "$instance" 2>&1 | grep -F "$unit" && exit 1
    fi
done
[ -z "$(inside 'getent passwd snapsync' || true)" ]

step "removing the package"
inside 'apt-get remove -y -qq snapsync >/dev/null 2>&1; ! test -e /usr/bin/snapsync'
step "all is well"
