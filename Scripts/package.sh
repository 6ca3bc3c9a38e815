#!/usr/bin/env bash
# Packs the installed program and what belongs to it, with Swift's library inside.
#
#   Scripts/package.sh deb FOLDER     a Debian package
#   Scripts/package.sh tar FOLDER     a tarball for other Linux systems: bin, share
#   Scripts/package.sh wheel FOLDER   the reader in Python, as a wheel for pip
#
# Those of the program run `make install` into a folder of its own first. FOLDER is created; a package of the same version in it is replaced.
set -euo pipefail
cd "$(dirname "$0")/.."

kind=$1
mkdir -p "$2"
folder=$(cd "$2" && pwd)
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
chmod 755 "$stage"
umask 022
install_into() { make --no-print-directory install DESTDIR="$stage" PREFIX="$1"; }
# Who packs it for others says so: MAINTAINER='Name <address>'.
maintainer=${MAINTAINER:-the SnapshotSync authors <maintainers@snapsync.example>}
architecture=$(dpkg --print-architecture 2>/dev/null || uname -m)

pack_tar() {
    install_into ""
    install -m 644 LICENSE CHANGELOG.md "$stage/share/doc/snapsync/"
    local name
    name=snapsync-$("$stage/bin/snapsync" --version)-linux-$(uname -m)
    tar --create --gzip --file "$folder/$name.tar.gz" --owner 0 --group 0 --transform "s,^\.,$name," -C "$stage" .
    echo "$folder/$name.tar.gz"
}

pack_wheel() {
    cp -r Sources/Readers/python LICENSE "$stage"
    # Debian's Python installs packages only into virtual environments.
    python3 -m venv "$stage/environment"
    "$stage/environment/bin/pip" wheel --quiet --no-deps --wheel-dir "$folder" "$stage/python"
    echo "$folder"/snapsync_reader-*.whl
}

pack_deb() {
    install_into /usr
    local version docs=$stage/usr/share/doc/snapsync
    version=$("$stage/usr/bin/snapsync" --version)
    install -D -m 644 -t "$stage/usr/lib/systemd/system" Scripts/package/snapsync@.service Scripts/package/snapsync@.timer Scripts/package/snapsync-watch@.service
    install -d -m 755 "$stage/etc/snapsync"
    install -D -m 644 Scripts/package/lintian-overrides "$stage/usr/share/lintian/overrides/snapsync"
    {
        printf 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: snapsync\n'
        printf "Comment: Swift's library, GRDB, swift-crypto, swift-argument-parser and swift-log are inside the program.\n"
        printf '\nFiles: *\n%s\nLicense: Expat\n\nLicense: Expat\n' "$(grep ^Copyright LICENSE | sed 's/ (c)/:/')"
        sed '1,/^Copyright/d' LICENSE | sed '1d; s/^$/./; s/^/ /'
    } >"$docs/copyright"
    {
        printf 'snapsync (%s) stable; urgency=medium\n\n  * See CHANGELOG.md.gz.\n\n' "$version"
        printf ' -- %s  %s\n' "$maintainer" "$(date -u -R -d "@$(git log -1 --format=%ct)")"
    } | gzip -9 -n >"$docs/changelog.gz"
    gzip -9 -n -c CHANGELOG.md >"$docs/CHANGELOG.md.gz"
    find "$docs" -size +4k -name '*.md' -exec gzip -9 -n {} +
    chmod -R u=rwX,go=rX "$docs"

    mkdir "$stage/debian" "$stage/DEBIAN"
    printf 'Source: snapsync\n\nPackage: snapsync\nArchitecture: any\n' >"$stage/debian/control"
    local depends
    depends=$(cd "$stage" && dpkg-shlibdeps -O usr/bin/snapsync 2>/dev/null | sed -n 's/^shlibs:Depends=//p')
    rm -r "$stage/debian"
    cat >"$stage/DEBIAN/control" <<CONTROL
Package: snapsync
Version: $version
Architecture: $architecture
Maintainer: $maintainer
Installed-Size: $(du -sk --exclude=DEBIAN "$stage" | cut -f1)
Depends: $depends
Recommends: ca-certificates
Suggests: jq, sqlite3
Section: utils
Priority: optional
Description: sync whole datasets between SQLite databases through shared storage
 snapsync moves the tables of one SQLite database to any number of others,
 through a directory that the devices share or a bucket of an object store.
 Each version is complete by itself and can be read with zcat and jq; a small
 change costs what was changed. Edits are merged column by column, and what
 loses is kept and shown.
 .
 The package has systemd units for databases that are listed in /etc/snapsync.
CONTROL
    (cd "$stage" && find usr -type f -printf '%P\0' | sort -z | sed -z 's,^,usr/,' | xargs -0 md5sum) >"$stage/DEBIAN/md5sums"
    chmod 644 "$stage/DEBIAN/md5sums" "$stage/DEBIAN/control"
    find "$stage" -type d -exec chmod 755 {} +
    local package=$folder/snapsync_${version}_$architecture.deb
    dpkg-deb --root-owner-group -Zxz --build "$stage" "$package" >/dev/null
    echo "$package"
}

case $kind in
deb) pack_deb ;;
tar) pack_tar ;;
wheel) pack_wheel ;;
*) echo "package.sh: deb, tar or wheel" >&2; exit 64 ;;
esac
