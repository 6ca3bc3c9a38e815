#!/bin/busybox sh
# The first program of the virtual machine: mounts what there is and tries snapsync on it. Lines after `| ` are the report.
export PATH=/bin:/sbin HOME=/root
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
mount -t tmpfs run /run
mkdir -p /run/rpcbind
exec 2>&1
say() { echo "| $*"; }
end() {
    say "$1"
    sync
    poweroff -f
}
trap 'end "the guest ended early"' EXIT
for module in virtio_pci virtio_blk nfsd nfsv4 nfsv3 vfat exfat; do modprobe $module || say "no module $module"; done
hostname vm
ip link set lo up
ip addr add 127.0.0.1/8 dev lo 2>/dev/null

failures=0
fail() {
    say "FAILED: $*"
    failures=$((failures + 1))
}

# --- An exported directory, and two mounts that share no cache ---
mkfs.ext4 -q /dev/vda || end "no ext4"
mount -t ext4 /dev/vda /export
mount -t nfsd nfsd /proc/fs/nfsd
rpcbind -w
rpc.mountd -p 20048
exportfs -r
rpc.nfsd 4

attach() { # attach VERSION OPTIONS
    mount.nfs localhost:$([ "$1" = 3 ] && echo /export || echo /) /mnt/a -o vers=$1,nosharecache,nolock$2 && mount.nfs localhost:$([ "$1" = 3 ] && echo /export || echo /) /mnt/b -o vers=$1,nosharecache,nolock$2
}
detach() { umount /mnt/a; umount /mnt/b; rm -rf /export/*; }

now() { # now: hundredths of a second since the start
    cut -d' ' -f1 /proc/uptime | tr -d .
}

# How long it takes until what one machine publishes is in the database of another one, which watches.
news() { # news COMMAND LABEL ROUNDS
    rm -rf /root/*
    $1 init --db /root/w.db --cloud /mnt/a/cloud --role writer --device w --create >/dev/null || return 1
    $1 generate --db /root/w.db --notifications 20 --buckets 2 >/dev/null
    $1 export --db /root/w.db >/dev/null || return 1
    $1 init --db /root/r.db --cloud /mnt/b/cloud --role reader --device r --create >/dev/null || return 1
    $1 import --db /root/r.db >/dev/null || return 1
    $1 watch --db /root/r.db --poll 2s >/tmp/watch.log 2>&1 &
    watch=$!
    sleep 5
    times=
    for round in $(seq $3); do
        sqlite3 /root/w.db "UPDATE buckets SET name = 'round $round'"
        $1 export --db /root/w.db >/dev/null || fail "$2: export"
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
    sed 's/^/   /' /tmp/watch.log | grep -i 'poll' | head -n 1
}


# `only=peers` on the kernel's command line, SNAPSYNC_GUEST, leaves the latencies out.
versions="4.2 3"
grep -q only=peers /proc/cmdline && versions=
for version in $versions; do
    for options in "" ",lookupcache=positive"; do
        for command in snapsync snapsync-other; do
            [ -x /bin/$command ] || continue
            attach $version "$options" || { fail "mount $version$options"; continue; }
            news $command "NFS $version${options:- }, $command" 3
            [ "$version$options$command" = 4.2snapsync ] && snapsync doctor --db /root/r.db | grep -iE 'lookup|events|fileSystem' | sed 's/^/|    /'
            snapsync verify --db /root/r.db --local >/dev/null || fail "verify"
            detach
        done
    done
done

# --- Peers on two mounts, with edits without pause ---
peers() { # peers LABEL EDITS: four peers, two on each mount
    rm -rf /root/*
    for number in 0 1 2 3; do
        mount=$([ $((number % 2)) = 0 ] && echo a || echo b)
        snapsync init --db /root/d$number.db --cloud /mnt/$mount/cloud --role peer --device d$number --create >/dev/null || return 1
        sqlite3 /root/d$number.db "INSERT INTO buckets VALUES('own-$number', 'new', NULL, NULL, NULL, '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z', NULL)"
        snapsync sync --db /root/d$number.db >/dev/null || return 1
    done
    for number in 0 1 2 3; do
        (
            for turn in $(seq $2); do
                sqlite3 -cmd '.timeout 5000' /root/d$number.db "UPDATE buckets SET name = '$turn', updatedAt = strftime('%Y-%m-%dT%H:%M:%fZ', 'now') WHERE id = 'own-$number'" >/dev/null
                snapsync sync --quiet --db /root/d$number.db >/tmp/sync-$number.log 2>&1
                code=$?
                echo $code >>/tmp/codes
                [ $code = 0 ] || { say "   $code: $(head -n 1 /tmp/sync-$number.log)"; }
            done
        ) &
        eval "job$number=\$!"
    done
    wait $job0 $job1 $job2 $job3
    for round in 1 2; do for number in 0 1 2 3; do snapsync sync --quiet --db /root/d$number.db || fail "$1: a quiet sync"; done; done
    for number in 1 2 3; do
        [ "$(sqlite3 /root/d$number.db 'SELECT * FROM buckets ORDER BY id' | md5sum)" = "$(sqlite3 /root/d0.db 'SELECT * FROM buckets ORDER BY id' | md5sum)" ] || fail "$1: peers differ"
    done
    say "$1: $(sort /tmp/codes | uniq -c | awk '{printf "%s runs ended with %s; ", $1, $2}')the four peers are equal"
    grep -qv '^0$' /tmp/codes && fail "$1: a run did not end with 0"
    rm -f /tmp/codes
}
for version in 4.2 3; do
    attach $version "" && peers "NFS $version, 4 peers on two mounts" 6
    snapsync verify --all --local --db /root/d1.db >/dev/null || fail "NFS $version: verify --all --local"
    detach
done

# --- File systems that this machine's kernel may lack ---
umount /export
rpc.nfsd 0
for kind in vfat exfat; do
    umount /mnt/disk 2>/dev/null
    dd if=/dev/zero of=/dev/vda bs=1M count=64 2>/dev/null
    mkfs.$kind /dev/vda >/dev/null 2>&1 && mount -t $kind /dev/vda /mnt/disk || { fail "no $kind"; continue; }
    rm -rf /root/*
    snapsync init --db /root/w.db --cloud /mnt/disk/cloud --role writer --device w --create >/dev/null &&
        snapsync generate --db /root/w.db --notifications 200 --buckets 8 >/dev/null &&
        snapsync export --db /root/w.db >/dev/null &&
        snapsync init --db /root/r.db --cloud /mnt/disk/cloud --role reader --device r --create >/dev/null &&
        snapsync import --db /root/r.db >/dev/null && snapsync verify --all --local --db /root/r.db >/dev/null &&
        say "$kind: $(snapsync doctor --db /root/w.db | grep -o 'the file system has.*' | head -n 1)" || fail "$kind"
done
trap - EXIT
[ $failures = 0 ] && end "all is well"
end "$failures failures"
