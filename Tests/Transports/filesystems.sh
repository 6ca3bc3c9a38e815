#!/usr/bin/env bash
# Local file systems on loop files, memory, an overlay, and FUSE (sshfs by a server of its own on loopback, bindfs): the main job, check's
# view, peers that edit without pause, and what is left behind. NFS, SMB, FAT and exFAT are tried in a virtual machine: virtual-machine/main.sh.
#
# SNAPSYNC: the command. WORK: an empty directory. ONLY_FS="ext4 sshfs": those alone. PEERS and EDITS: how many, 3 and 6.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[ "$(id -u)" = 0 ] || { echo "mounting needs root"; exit 77; }
if [ -z "${SNAPSYNC_UNSHARED:-}" ]; then
    # What is mounted here is nobody else's business, and goes with this process.
    unshare -m --propagation private true 2>/dev/null || { echo "no mount namespace can be made"; exit 77; }
    SNAPSYNC_UNSHARED=1 exec unshare -m --propagation private bash "$0"
fi
"$here/install.sh" e2fsprogs xfsprogs btrfs-progs dosfstools exfatprogs sshfs openssh-server openssh-client bindfs sqlite3 jq python3 || exit $?
SSHD_PID= PORT=
trap '[ -z "$SSHD_PID" ] || kill $SSHD_PID' EXIT

attempt_loop() { # attempt_loop KIND MEGABYTES MKFS...: a file system in a file, mounted at $WORK/mnt
    local kind=$1 size=$2
    shift 2
    grep -qw "$kind" /proc/filesystems || { echo "this kernel has no $kind"; return 77; }
    truncate -s "${size}M" "$WORK/$kind.img"
    "$@" "$WORK/$kind.img" >"$WORK/mkfs.log" 2>&1 || { echo "$1 failed: $(tail -n 1 "$WORK/mkfs.log")"; return 77; }
    mount -t "$kind" -o loop "$WORK/$kind.img" "$WORK/mnt" 2>"$WORK/mount.log" || { echo "it cannot be mounted: $(tail -n 1 "$WORK/mount.log")"; return 77; }
}
attach() {
    case $1 in
        ext4) attempt_loop ext4 256 mkfs.ext4 -q ;;
        ext3) attempt_loop ext3 256 mkfs.ext3 -q ;;
        XFS) attempt_loop xfs 512 mkfs.xfs -q ;;
        Btrfs) attempt_loop btrfs 512 mkfs.btrfs -q ;;
        FAT) attempt_loop vfat 128 mkfs.vfat ;;
        exFAT) attempt_loop exfat 128 mkfs.exfat ;;
        tmpfs) mount -t tmpfs tmpfs "$WORK/mnt" ;;
        overlayfs)
            mkdir -p "$WORK/overlay" && mount -t tmpfs tmpfs "$WORK/overlay" && mkdir "$WORK"/overlay/{lower,upper,work} &&
                mount -t overlay overlay -o "lowerdir=$WORK/overlay/lower,upperdir=$WORK/overlay/upper,workdir=$WORK/overlay/work" "$WORK/mnt"
            ;;
        bindfs) mkdir -p "$WORK/plain" && bindfs "$WORK/plain" "$WORK/mnt" ;;
        sshfs) start_sshd && mkdir -p "$WORK/plain" && sshfs_mount "$WORK/mnt" && sshfs_mount "$WORK/mnt2" ;;
    esac
}
start_sshd() {
    mkdir -p "$WORK/ssh" /run/sshd
    chmod 700 "$WORK/ssh"
    ssh-keygen -q -t ed25519 -N '' -f "$WORK/ssh/host" && ssh-keygen -q -t ed25519 -N '' -f "$WORK/ssh/user" || return 1
    cp "$WORK/ssh/user.pub" "$WORK/ssh/authorized"
    PORT=$((20000 + RANDOM % 10000))
    /usr/sbin/sshd -D -f /dev/null -p $PORT -h "$WORK/ssh/host" -o ListenAddress=127.0.0.1 -o AuthorizedKeysFile="$WORK/ssh/authorized" -o StrictModes=no \
        -o PermitRootLogin=prohibit-password -o UsePAM=no -o PidFile=none -o Subsystem="sftp internal-sftp" 2>"$WORK/ssh/log" &
    SSHD_PID=$!
    for _ in $(seq 50); do (exec 3<>"/dev/tcp/127.0.0.1/$PORT") 2>/dev/null && return 0; sleep 0.1; done
    echo "sshd did not start: $(tail -n 1 "$WORK/ssh/log")"
    return 77
}
sshfs_mount() {
    mkdir -p "$1"
    sshfs "$(id -un)@127.0.0.1:$WORK/plain" "$1" -p "$PORT" -o "IdentityFile=$WORK/ssh/user,StrictHostKeyChecking=no,UserKnownHostsFile=/dev/null" 2>"$WORK/ssh/log" ||
        { echo "sshfs failed: $(tail -n 1 "$WORK/ssh/log")"; return 77; }
}
detach() {
    umount "$WORK/mnt2" 2>/dev/null
    umount "$WORK/mnt" 2>/dev/null
    umount "$WORK/overlay" 2>/dev/null
    [ -z "$SSHD_PID" ] || kill "$SSHD_PID"
    SSHD_PID=
    rm -rf --one-file-system "$WORK"/{plain,overlay,ssh,db} "$WORK"/*.img
}

# The main job on a mounted file system; prints what check says of it. Ends with 1 at the first thing that is wrong.
job() { # job DIRECTORY SECOND: the cloud's place, and the same through another mount
    local db=$WORK/db left
    mkdir -p "$db"
    (
        set -e
        "$SNAPSYNC" init "$db/w.db" "$1/cloud" --built-in --name w
        "$SNAPSYNC-examples" generate "$db/w.db" --notifications 150 --buckets 8
        "$SNAPSYNC" export "$db/w.db"
        "$SNAPSYNC" join "$db/r.db" "$2/cloud" --name r
        "$SNAPSYNC" import "$db/r.db"
        # Kills at ten moments of an export; the next one goes on from there.
        for round in 1 2 3 4 5 6 7 8 9 10; do
            sqlite3 "$db/w.db" "UPDATE notifications SET title = 'round $round'"
            "$SNAPSYNC" export "$db/w.db" & local export=$!
            sleep "0.0$((round * 9 % 10))"
            kill -9 $export 2>/dev/null || true
            wait $export || true
        done
        "$SNAPSYNC" export "$db/w.db"
        "$SNAPSYNC" import "$db/r.db"
        "$SNAPSYNC" check "$db/r.db" --all-versions --local
        "$SNAPSYNC" check "$db/w.db" --local
    ) >"$db/log" 2>&1 || { tail -n 3 "$db/log"; return 1; }
    "$SNAPSYNC" check "$db/w.db" --json >"$db/doctor.json" 2>&1 || { jq -r '.findings[] | select(.severity == "error") | .found' "$db/doctor.json"; return 1; }
    left=$(find "$1/cloud" -name '.snapsync-doctor-*' | wc -l)
    [ "$left" = 0 ] || { echo "check left $left folders"; return 1; }
    jq -r '.findings[] | select(.id == "placement") | .found' "$db/doctor.json"
}

status=0
for kind in ext4 ext3 XFS Btrfs tmpfs overlayfs FAT exFAT sshfs bindfs; do
    if [ -n "${ONLY_FS:-}" ] && [[ " $ONLY_FS " != *" $kind "* ]]; then continue; fi
    mkdir -p "$WORK/mnt"
    # Into a file, not through a pipe, which the servers that stay behind would keep open.
    if ! attach "$kind" >"$WORK/reason" 2>&1 </dev/null; then
        reason=$(tail -n 1 "$WORK/reason")
        echo "$kind: not tried: ${reason:-it cannot be mounted}"
        detach
        continue
    fi
    second=$WORK/mnt
    [ "$kind" = sshfs ] && second=$WORK/mnt2
    if found=$(job "$WORK/mnt" "$second"); then
        if peers=$(python3 "$here/../../Scripts/contention.py" "$SNAPSYNC" --peers "${PEERS:-3}" --edits "${EDITS:-6}" --location "$WORK/mnt/peers" ${second:+--other "$second/peers"} 2>&1); then
            echo "$kind: $found; $(head -n 1 <<<"$peers")"
        else
            echo "$kind: FAILED: $peers"
            status=1
        fi
    else
        echo "$kind: FAILED: $found"
        status=1
    fi
    detach
done
exit $status
