#!/bin/bash
# Shows that no install step is missing: a Debian 12 that has never seen the project (debootstrap, minimal variant, plus
# git and make), a clone of this repository in it, and the two commands run there in a chroot.
#
#   clean-room.sh [FOLDER [TARGET...]]     FOLDER: default /var/tmp/turnpike-clean-room; TARGET: build demo check
#
# Needs root and debootstrap, about 4 GB and some minutes. The folder is kept, and cleaned of the clone by the next run;
# remove it by hand. Not a part of make check.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../scripts/lib.sh"
need_root

room=${1:-/var/tmp/turnpike-clean-room}
shift || true
targets=("$@")
[[ ${#targets[@]} -gt 0 ]] || targets=(build demo check)
mirror=${MIRROR:-http://deb.debian.org/debian}

command -v debootstrap >/dev/null || DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends debootstrap

mounts=()
# shellcheck disable=SC2317  # called by the trap
cleanup() {
	local i
	for ((i = ${#mounts[@]} - 1; i >= 0; i--)); do
		umount -l "${mounts[i]}" || true
	done
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

if [[ ! -e $room/etc/debian_version ]]; then
	debootstrap --variant=minbase --include=ca-certificates,git,make bookworm "$room" "$mirror"
fi

# The machine's own way to its mirrors: proxies, certificates, names.
cp -L /etc/resolv.conf "$room/etc/resolv.conf" 2>/dev/null || true
cp -L /etc/hosts "$room/etc/hosts"
for dir in /etc/apt/apt.conf.d /etc/apt/auth.conf.d /usr/local/share/ca-certificates; do
	if [[ -d $dir ]]; then
		mkdir -p "$room$dir"
		cp -rL "$dir/." "$room$dir/"
	fi
done
if [[ -f /etc/apt/apt.conf ]]; then
	cp /etc/apt/apt.conf "$room/etc/apt/apt.conf"
fi
cat >"$room/etc/apt/sources.list" <<END
deb $mirror bookworm main
deb $mirror bookworm-updates main
deb ${MIRROR_SECURITY:-http://deb.debian.org/debian-security} bookworm-security main
END

# The root of the chroot is a mount of its own, or "ip netns exec" could not mount below it.
mount --bind "$room" "$room"
mounts+=("$room")
for what in proc sys dev; do
	mkdir -p "$room/$what"
	mount --rbind "/$what" "$room/$what"
	mount --make-rslave "$room/$what"
	mounts+=("$room/$what")
done
mkdir -p "$room/run"
mount -t tmpfs tmpfs "$room/run"
mounts+=("$room/run")

rm -rf "$room/root/turnpike"
git clone -q "$ROOT" "$room/root/turnpike"

inside() {
	env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb CI=true \
		${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} \
		chroot "$room" /bin/bash -c "$1"
}

inside 'update-ca-certificates >/dev/null 2>&1 || true'
status=0
for target in "${targets[@]}"; do
	say "${bold}== make $target${plain}"
	began=$SECONDS
	if inside "cd /root/turnpike && make $target </dev/null"; then
		say "${green}make $target: passed${plain} in $((SECONDS - began)) s"
	else
		say "${red}make $target: failed${plain} after $((SECONDS - began)) s"
		status=1
	fi
done
exit "$status"
