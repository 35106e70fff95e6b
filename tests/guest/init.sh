#!/bin/busybox sh
# The guest's first program: makes it ready for DPDK and then runs what comes over the wire, one line at a time.
#
#   host -> guest   a shell command, as one line of base64
#   guest -> host   what it printed (both streams), then "=== STATUS" on a line of its own
export PATH=/bin LANG=C.UTF-8
chmod 755 /
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
for module in /modules/*; do
	insmod "$module" || echo "insmod $module: failed"
done

ip link set lo up

# Network cards go to vfio-pci, as "driverctl set-override" or dpdk-devbind.py do it on a machine.
for device in /sys/bus/pci/devices/*; do
	[ "$(cut -c1-4 "$device/class")" = 0x02 ] || continue
	name=${device##*/}
	echo vfio-pci >"$device/driver_override"
	[ ! -e "$device/driver" ] || echo "$name" >"$device/driver/unbind"
	echo "$name" >/sys/bus/pci/drivers_probe
	echo "$name: $(readlink "$device/driver")"
done

until [ -e /dev/vport0p1 ]; do sleep 0.1; done
exec 3<>/dev/vport0p1
echo "the guest is ready"
printf '=== 0\n' >&3
while read -r line <&3; do
	echo "$line" | base64 -d >/tmp/command
	sh /tmp/command </dev/null >/tmp/output 2>&1 3>&-
	status=$?
	cat /tmp/output >&3
	printf '\n=== %d\n' "$status" >&3
done
poweroff -f
