#!/usr/bin/env bash
# NFS v4.2 and v3, FAT and exFAT in a virtual machine of its own: the Linux kernel's client and server, whatever this machine's kernel has.
#
# SNAPSYNC: the command. WORK: an empty directory. SNAPSYNC_OTHER: another build of the command, whose figures are printed beside it.
# The machine is emulated, for /dev/kvm is seldom there: some 10 minutes, 2 GB of memory and one core. The latencies that it prints are
# those of polls and of the NFS client's caches, which dwarf the rest.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[ "$(uname -m)" = x86_64 ] || { echo "the machine is not x86-64"; exit 77; }
"$here/../install.sh" qemu-system-x86 busybox-static cpio nfs-kernel-server nfs-common rpcbind e2fsprogs dosfstools exfatprogs sqlite3

# The distribution's kernel for clouds, which has few drivers and NFS; unpacked, not installed.
cd "$WORK"
package=$(apt-cache depends linux-image-cloud-amd64 2>/dev/null | awk '/Depends:/ { print $2; exit }')
[ -n "$package" ] || { echo "there is no kernel package"; exit 77; }
apt-get download -qq "$package" >/dev/null 2>&1 || { echo "$package cannot be downloaded"; exit 77; }
dpkg -x "$package"_*.deb kernel
release=$(ls kernel/lib/modules)

root=$WORK/root
mkdir -p "$root"/{bin,sbin,etc,dev,proc,sys,tmp,run,mnt/a,mnt/b,mnt/disk,export,var/lib/nfs/sm,var/lib/nfs/v4recovery,root,lib/modules/"$release"}
cp /bin/busybox "$root/bin/"
for applet in $(busybox --list); do [ "$applet" = busybox ] || ln -s busybox "$root/bin/$applet"; done
put() { # put FILE NAME: a program and the libraries that it needs
    rm -f "$root/bin/$2"
    install -m 755 -D "$1" "$root/bin/$2"
    ldd "$1" 2>/dev/null | grep -o '/[^ ]*' | while read -r library; do install -D "$library" "$root/$library"; done
}
put "$SNAPSYNC" snapsync
[ -z "${SNAPSYNC_OTHER:-}" ] || put "$SNAPSYNC_OTHER" snapsync-other
for program in bash sqlite3 mount.nfs rpc.nfsd rpc.mountd exportfs rpcbind mkfs.ext4 mkfs.vfat mkfs.exfat; do put "$(command -v $program)" "$program"; done
ln -s /bin/mount.nfs "$root/sbin/mount.nfs"
ln -s /bin/mount.nfs "$root/sbin/mount.nfs4"
printf 'root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534::/:/bin/false\n_rpc:x:104:65534::/run/rpcbind:/bin/false\n' >"$root/etc/passwd"
printf 'root:x:0:\nnogroup:x:65534:\n' >"$root/etc/group"
cp /etc/netconfig /etc/services /etc/protocols /etc/rpc "$root/etc/" 2>/dev/null || true
printf '127.0.0.1 localhost vm\n' >"$root/etc/hosts"
printf '/export *(rw,sync,no_root_squash,no_subtree_check,fsid=0,insecure)\n' >"$root/etc/exports"
for name in nfsd nfsv4 nfsv3 exfat vfat virtio_blk virtio_pci; do
    [ -n "$(find "kernel/lib/modules/$release" -name "$name.ko*")" ] || { echo "the kernel lacks $name"; exit 77; }
done
cp -r "kernel/lib/modules/$release" "$root/lib/modules/"
find "$root/lib/modules" -path '*/drivers/*' -name '*.ko*' ! -path '*/virtio*' ! -path '*/block/*' -delete
busybox depmod -b "$root" "$release" 2>/dev/null || busybox depmod "$release" -b "$root"
cp "$here/guest.sh" "$root/init"
chmod 755 "$root/init"
(cd "$root" && find . -print0 | cpio --null -o -H newc --quiet) >initramfs
truncate -s 2G disk.img

nice -n 5 qemu-system-x86_64 -accel tcg -cpu max -m 2048 -nographic -no-reboot -kernel kernel/boot/vmlinuz-* -initrd initramfs \
    -append "console=ttyS0 quiet panic=-1 ${SNAPSYNC_GUEST:-}" -drive file=disk.img,format=raw,if=virtio,cache=unsafe -nic none -serial mon:stdio \
    </dev/null >console.txt 2>&1 &
machine=$!
trap 'kill $machine 2>/dev/null || true' EXIT
for _ in $(seq "${SNAPSYNC_VM_SECONDS:-1500}"); do
    kill -0 $machine 2>/dev/null || break
    sleep 1
done
tr -d '\r' <console.txt | sed -n 's/^.*| //p'
grep -q '| all is well' console.txt && exit 0
tr -d '\r' <console.txt | tail -n 30
exit 1
