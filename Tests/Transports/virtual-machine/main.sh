#!/usr/bin/env bash
# NFS v4.2 and v3, SMB 3.1.1, FAT and exFAT in a virtual machine of its own: Debian's kernel, whatever this machine's kernel has.
#
# SNAPSYNC: the command. WORK: an empty directory. SNAPSYNC_OTHER: another build of the command, whose latencies are printed beside it.
# PARTS="news nfs smb disks": those alone (guest.sh describes each). EDITS: how many each peer makes, 3.
# SNAPSYNC_VM_SECONDS: how long the machine may run, 2400.
# The machine is emulated, for /dev/kvm is seldom there: 2 GB of memory and one core for some 15 minutes. The latencies that it prints
# are those of polls and of the clients' caches, which dwarf the rest.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[ "$(uname -m)" = x86_64 ] || { echo "the machine is not x86-64"; exit 77; }
"$here/../install.sh" qemu-system-x86 busybox-static cpio nfs-kernel-server nfs-common rpcbind samba samba-common-bin cifs-utils \
    e2fsprogs dosfstools exfatprogs sqlite3 jq

# The distribution's kernel for clouds, which has few drivers and these file systems; unpacked, not installed.
cd "$WORK"
package=$(apt-cache depends linux-image-cloud-amd64 2>/dev/null | awk '/Depends:/ { print $2; exit }')
[ -n "$package" ] || { echo "there is no kernel package"; exit 77; }
apt-get download -qq "$package" >/dev/null 2>&1 || { echo "$package cannot be downloaded"; exit 77; }
dpkg -x "$package"_*.deb kernel
release=$(ls kernel/lib/modules)

root=$WORK/root
mkdir -p "$root"/{bin,sbin,etc/samba,dev,proc,sys,tmp,run,mnt/a,mnt/b,mnt/disk,export,root,lib/modules/"$release"}
mkdir -p "$root"/var/lib/{nfs/sm,nfs/v4recovery,samba/private} "$root"/var/{cache,log}/samba
cp /bin/busybox "$root/bin/"
for applet in $(busybox --list); do [ "$applet" = busybox ] || ln -s busybox "$root/bin/$applet"; done
put() { # put FILE NAME: a program and the libraries that it needs
    rm -f "$root/bin/$2"
    install -m 755 -D "$1" "$root/bin/$2"
    ldd "$1" 2>/dev/null | grep -o '/[^ ]*' | while read -r library; do install -D "$library" "$root/$library"; done
}
put "$SNAPSYNC" snapsync
put "$SNAPSYNC-examples" snapsync-examples
[ -z "${SNAPSYNC_OTHER:-}" ] || put "$SNAPSYNC_OTHER" snapsync-other
for program in bash sqlite3 jq mount.nfs rpc.nfsd rpc.mountd exportfs rpcbind smbd smbpasswd mount.cifs mkfs.ext4 mkfs.vfat mkfs.exfat; do
    put "$(command -v $program)" "$program"
done
ln -s /bin/mount.nfs "$root/sbin/mount.nfs"
ln -s /bin/mount.nfs "$root/sbin/mount.nfs4"
# The kernel asks for modules by this path.
ln -s /bin/busybox "$root/sbin/modprobe"
printf 'root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534::/:/bin/false\n_rpc:x:104:65534::/run/rpcbind:/bin/false\n' >"$root/etc/passwd"
printf 'root:x:0:\nnogroup:x:65534:\n' >"$root/etc/group"
cp /etc/netconfig /etc/services /etc/protocols /etc/rpc "$root/etc/" 2>/dev/null || true
printf '127.0.0.1 localhost vm\n' >"$root/etc/hosts"
printf '/export *(rw,sync,no_root_squash,no_subtree_check,fsid=0,insecure)\n' >"$root/etc/exports"
cp "$here/smb.conf" "$root/etc/samba/"
for name in nfsd nfsv4 nfsv3 cifs exfat vfat virtio_blk virtio_pci; do
    [ -n "$(find "kernel/lib/modules/$release" -name "$name.ko*")" ] || { echo "the kernel lacks $name"; exit 77; }
done
cp -r "kernel/lib/modules/$release" "$root/lib/modules/"
find "$root/lib/modules" -path '*/drivers/*' -name '*.ko*' ! -path '*/virtio*' ! -path '*/block/*' -delete
busybox depmod -b "$root" "$release" 2>/dev/null || busybox depmod "$release" -b "$root"
cp "$here/guest.sh" "$root/init"
chmod 755 "$root/init"
(cd "$root" && find . -print0 | cpio --null -o -H newc --quiet) >initramfs
truncate -s 2G disk.img

parts=${PARTS:-news nfs smb disks}
nice -n 10 qemu-system-x86_64 -accel tcg -cpu max -m 2048 -nographic -no-reboot -kernel kernel/boot/vmlinuz-* -initrd initramfs \
    -append "console=ttyS0 quiet panic=-1 parts=${parts// /,} edits=${EDITS:-3}" -drive file=disk.img,format=raw,if=virtio,cache=unsafe -nic none -serial mon:stdio \
    </dev/null >console.txt 2>&1 &
machine=$!
trap 'kill $machine 2>/dev/null || true' EXIT
for _ in $(seq "${SNAPSYNC_VM_SECONDS:-2400}"); do
    kill -0 $machine 2>/dev/null || break
    sleep 1
done
tr -d '\r' <console.txt | sed -n 's/^.*| //p'
grep -q '| all is well' console.txt && exit 0
tr -d '\r' <console.txt | tail -n 30
exit 1
