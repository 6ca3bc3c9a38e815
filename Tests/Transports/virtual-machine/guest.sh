#!/bin/busybox sh
# The first program of the virtual machine: mounts what there is and tries snapsync on it. Lines after `| ` are the report.
#
# `parts=` on the kernel's command line says what is tried:
#   news   NFS: how long it takes until a version that is published through one mount is in a database that is watched through another
#   cache  the same, on mounts with `lookupcache=positive`
#   nfs    NFS v4.2 and v3: the main job with kills, check; four peers on two mounts edit and sync without pause
#   smb    SMB 3.1.1: the main job with kills, check, news, peers on two mounts; the main job in a share on FAT
#   disks  FAT and exFAT: the main job with kills, check, peers
# `edits=` says how many edits each peer makes.
export PATH=/bin:/sbin HOME=/root
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
mount -t tmpfs run /run
mkdir -p /run/rpcbind /run/samba/ncalrpc
exec 2>&1
say() { echo "| $*"; }
end() {
    say "$1"
    sync
    poweroff -f
}
trap 'end "the guest ended early"' EXIT
for module in virtio_pci virtio_blk nfsd nfsv4 nfsv3 cifs cmac ccm gcm sha512_generic nls_utf8 nls_cp437 vfat exfat; do modprobe $module || say "no module $module"; done
hostname vm
ip link set lo up
ip addr add 127.0.0.1/8 dev lo 2>/dev/null

failures=0
fail() {
    say "FAILED: $*"
    failures=$((failures + 1))
}
option() { # option NAME: its value on the kernel's command line
    tr ' ' '\n' </proc/cmdline | sed -n "s/^$1=//p"
}
does() { # does PART: whether it was asked for
    option parts | tr , '\n' | grep -qx "$1"
}
edits=$(option edits)
now() { # now: hundredths of a second since the start
    cut -d' ' -f1 /proc/uptime | tr -d .
}
detach() {
    umount /mnt/a
    umount /mnt/b
    rm -rf /export/*
}

# A writer on one mount, a reader on the other one; six exports are killed, and the next one goes on. Then what check says of the mount.
job() { # job LABEL
    rm -rf /root/*
    snapsync init /root/w.db /mnt/a/cloud --built-in --name w >/tmp/job.log 2>&1 &&
        snapsync-examples generate /root/w.db --notifications 150 --buckets 8 >>/tmp/job.log 2>&1 &&
        snapsync export /root/w.db >>/tmp/job.log 2>&1 &&
        snapsync join /root/r.db /mnt/b/cloud --name r >>/tmp/job.log 2>&1 &&
        snapsync import /root/r.db >>/tmp/job.log 2>&1 || { fail "$1: $(tail -n 2 /tmp/job.log)"; return 1; }
    begin=$(now)
    sqlite3 /root/w.db "UPDATE notifications SET title = 'first'"
    snapsync export /root/w.db >>/tmp/job.log 2>&1 || { fail "$1: $(tail -n 2 /tmp/job.log)"; return 1; }
    took=$(($(now) - begin))
    # The kills are spread over as long as an export takes here.
    killed=0
    for round in 1 2 3 4 5 6; do
        sqlite3 /root/w.db "UPDATE notifications SET title = 'round $round'"
        snapsync export /root/w.db >/dev/null 2>&1 &
        export=$!
        usleep $((round * took * 1600))
        kill -9 $export
        wait $export
        [ $? = 137 ] && killed=$((killed + 1))
    done 2>/dev/null
    for words in "export /root/w.db" "import /root/r.db" "check /root/r.db --all-versions --local" "check /root/w.db --local"; do
        snapsync $words >/tmp/job.log 2>&1 || { fail "$1: $words: $(tail -n 2 /tmp/job.log)"; return 1; }
    done
    [ "$(sqlite3 /root/r.db "SELECT count(*) FROM notifications WHERE title = 'round 6'")" = 150 ] || fail "$1: the reader lacks the last round"
    # The writer's check tries the file system out; it comes last, for its words are in the report.
    for database in r w; do
        snapsync check /root/$database.db --json >/tmp/doctor.json 2>&1
        errors=$(jq -r '.findings[] | select(.severity == "error") | .found' /tmp/doctor.json) || fail "$1: check: $(head -n 1 /tmp/doctor.json)"
        [ -z "$errors" ] || fail "$1: check: $errors"
    done
    left=$(find /mnt/a/cloud -name '.snapsync-doctor-*' | wc -l)
    [ "$left" = 0 ] || fail "$1: check left $left folders"
    say "$1: $killed of 6 exports killed, all well; $(jq -r '.findings[] | select(.id == "placement") | .found' /tmp/doctor.json)"
}

# How long it takes until what one machine publishes is in the database of another one, which watches.
news() { # news COMMAND LABEL ROUNDS
    rm -rf /root/*
    $1 init /root/w.db /mnt/a/cloud --built-in --name w >/dev/null || return 1
    snapsync-examples generate /root/w.db --notifications 20 --buckets 2 >/dev/null
    $1 export /root/w.db >/dev/null || return 1
    $1 join /root/r.db /mnt/b/cloud --name r >/dev/null || return 1
    $1 import /root/r.db >/dev/null || return 1
    $1 watch /root/r.db --poll 2s >/tmp/watch.log 2>&1 &
    watch=$!
    sleep 5
    times=
    for round in $(seq $3); do
        sqlite3 /root/w.db "UPDATE buckets SET name = 'round $round'"
        $1 export /root/w.db >/dev/null || fail "$2: export"
        begin=$(now)
        while [ "$(sqlite3 -cmd '.timeout 5000' /root/r.db "SELECT count(*) FROM buckets WHERE name = 'round $round'")" != 2 ]; do
            usleep 50000
            [ $(($(now) - begin)) -lt 6000 ] || { fail "$2: no news after 60 s"; break; }
        done
        took=$(($(now) - begin))
        times="$times $((took / 100)).$(printf %02d $((took % 100)))"
        sleep $((3 + round % 3))
    done
    kill $watch
    wait $watch
    say "$2: news after$times s"
    $1 check /root/r.db --local >/dev/null || fail "$2: check --local"
}

# Peers on two mounts, with edits without pause: everybody ends with 0, and all are equal.
peers() { # peers LABEL EDITS: four peers, two on each mount
    rm -rf /root/* /tmp/codes
    for number in 0 1 2 3; do
        mount=$([ $((number % 2)) = 0 ] && echo a || echo b)
        [ $number = 0 ] && how="init --peers --built-in" || how="join --peer"
        snapsync $how /root/d$number.db /mnt/$mount/peers --name d$number >/dev/null || { fail "$1: init"; return 1; }
        sqlite3 /root/d$number.db "INSERT INTO buckets VALUES('own-$number', 'new', NULL, NULL, NULL, '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z', NULL)"
        snapsync sync /root/d$number.db >/dev/null || { fail "$1: the first sync"; return 1; }
    done
    for number in 0 1 2 3; do
        (
            for turn in $(seq $2); do
                sqlite3 -cmd '.timeout 5000' /root/d$number.db "UPDATE buckets SET name = '$turn', updatedAt = strftime('%Y-%m-%dT%H:%M:%fZ', 'now') WHERE id = 'own-$number'" >/dev/null
                snapsync sync /root/d$number.db --quiet >/tmp/sync-$number.log 2>&1
                code=$?
                echo $code >>/tmp/codes
                [ $code = 0 ] || { say "   $code: $(head -n 1 /tmp/sync-$number.log)"; }
            done
        ) &
        eval "job$number=\$!"
    done
    wait $job0 $job1 $job2 $job3
    for round in 1 2; do for number in 0 1 2 3; do snapsync sync /root/d$number.db --quiet || fail "$1: a quiet sync"; done; done
    for number in 0 1 2 3; do
        [ "$(sqlite3 /root/d0.db "SELECT name FROM buckets WHERE id = 'own-$number'")" = "$2" ] || fail "$1: the last edit of d$number is not there"
        [ "$(sqlite3 /root/d$number.db 'SELECT * FROM buckets ORDER BY id' | md5sum)" = "$(sqlite3 /root/d0.db 'SELECT * FROM buckets ORDER BY id' | md5sum)" ] || fail "$1: peers differ"
    done
    [ "$(wc -l </tmp/codes)" = $((4 * $2)) ] || fail "$1: not every run has ended"
    say "$1: $(sort /tmp/codes | uniq -c | awk '{printf "%s runs ended with %s; ", $1, $2}')all four hold the same rows"
    grep -qv '^0$' /tmp/codes && fail "$1: a run did not end with 0"
    snapsync check /root/d1.db --all-versions --local >/dev/null || fail "$1: check --all-versions --local"
}

# --- NFS: an exported directory, and two mounts that share no cache ---
mkfs.ext4 -q /dev/vda || end "no ext4"
mount -t ext4 /dev/vda /export
attach_nfs() { # attach_nfs VERSION OPTIONS
    place=$([ "$1" = 3 ] && echo /export || echo /)
    mount.nfs localhost:$place /mnt/a -o vers=$1,nosharecache,nolock$2 && mount.nfs localhost:$place /mnt/b -o vers=$1,nosharecache,nolock$2
}
if does news || does cache || does nfs; then
    mount -t nfsd nfsd /proc/fs/nfsd
    rpcbind -w
    rpc.mountd -p 20048
    exportfs -r
    rpc.nfsd 4
fi
if does news || does cache; then
    for version in 4.2 3; do
        for options in $(does news && echo sec=sys) $(does cache && echo lookupcache=positive); do
            for command in snapsync snapsync-other; do
                [ -x /bin/$command ] || continue
                attach_nfs $version ",$options" || { fail "mount $version $options"; continue; }
                label="NFS $version, $options, $command"
                news $command "$label" 3 || fail "$label"
                snapsync check /root/r.db --json >/tmp/doctor.json 2>/tmp/doctor.log
                [ "$(jq -r '.findings[] | select(.id == "lookupCache") | .severity' /tmp/doctor.json)" = "$([ $options = sec=sys ] && echo notice)" ] || fail "$label: check: $(jq -c '.findings[] | select(.id == "lookupCache")' /tmp/doctor.json)"
                detach
            done
        done
    done
fi
if does nfs; then
    for version in 4.2 3; do
        attach_nfs $version "" || { fail "mount $version"; continue; }
        job "NFS $version"
        peers "NFS $version, 4 peers on two mounts" $edits
        detach
    done
fi

# --- SMB: a share on ext4, and two mounts with connections and caches of their own ---
attach_smb() { # attach_smb SHARE
    for mount in a b; do
        mount.cifs //127.0.0.1/$1 /mnt/$mount -o vers=3.1.1,username=root,password=secret,nosharesock || return 1
    done
}
if does smb; then
    printf 'secret\nsecret\n' | smbpasswd -s -a root >/tmp/smbpasswd.log 2>&1 || fail "smbpasswd: $(tail -n 1 /tmp/smbpasswd.log)"
    smbd -D
    for wait in $(seq 100); do nc -w 1 127.0.0.1 445 </dev/null 2>/dev/null && break; usleep 200000; done
    if attach_smb share; then
        job "SMB 3.1.1"
        rm -rf /export/*
        news snapsync "SMB 3.1.1, snapsync" 3 || fail "SMB 3.1.1, news"
        peers "SMB 3.1.1, 4 peers on two mounts" $edits
        detach
    else
        fail "mount SMB: $(tail -n 1 /tmp/smbd.log)"
    fi
fi

# --- File systems without hard links ---
if does news || does cache || does nfs; then
    exportfs -ua
    rpc.nfsd 0
fi
umount /export || fail "the exported directory is still in use"
for kind in vfat exfat; do
    does disks || { does smb && [ $kind = vfat ]; } || continue
    dd if=/dev/zero of=/dev/vda bs=1M count=64 2>/dev/null
    mkfs.$kind /dev/vda >/dev/null 2>&1 && mount -t $kind /dev/vda /mnt/disk || { fail "no $kind"; continue; }
    if does disks; then
        mount --bind /mnt/disk /mnt/a && mount --bind /mnt/disk /mnt/b
        job $kind
        peers "$kind, 4 peers" $edits
        umount /mnt/a
        umount /mnt/b
        rm -rf /mnt/disk/*
    fi
    if does smb && [ $kind = vfat ]; then
        attach_smb fat && { job "SMB 3.1.1, a share on FAT"; umount /mnt/a; umount /mnt/b; } || fail "mount SMB, a share on FAT"
    fi
    umount /mnt/disk
done
trap - EXIT
[ $failures = 0 ] && end "all is well"
end "$failures failures"
