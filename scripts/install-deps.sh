#!/bin/bash
# Installs the Debian packages that a task needs and that are not there yet.
#
#   install-deps.sh build          to compile
#   install-deps.sh build demo     ... and to run the demo
#   install-deps.sh build demo test  ... and every test
#   install-deps.sh test guest     ... and a virtual machine for them
#   install-deps.sh perf           to measure: plots, instruction counts
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

# libdpdk-dev depends on every bus, pool and port driver of DPDK, net_af_xdp and net_tap among them.
build=(
	gcc clang llvm libc6-dev linux-libc-dev meson ninja-build pkg-config python3
	libdpdk-dev libbpf-dev libxdp-dev bpftool
	libjansson-dev libedit-dev libsystemd-dev libpcap-dev scdoc
)
demo=(
	iproute2 ethtool procps iputils-ping traceroute curl iperf3 tcpdump python3
)
test=(
	libcmocka-dev python3-scapy tshark coturn valgrind
)
# The guest's kernel is fetched and unpacked by tests/guest, not installed.
guest=(
	qemu-system-x86 busybox-static iproute2
)
perf=(
	gnuplot-nox valgrind dpdk python3-scapy
)

packages=()
for set in "$@"; do
	case $set in
	build) packages+=("${build[@]}") ;;
	demo) packages+=("${demo[@]}") ;;
	test) packages+=("${test[@]}") ;;
	guest) packages+=("${guest[@]}") ;;
	perf) packages+=("${perf[@]}") ;;
	*) die "install-deps.sh: unknown set '$set': build, demo, test, guest or perf" ;;
	esac
done

# Cross compilers and emulators, where tests/cross lists them.
if [[ " $* " == *" test "* && -f $ROOT/tests/cross/packages ]]; then
	while read -r name _; do
		[[ -z $name || $name == \#* ]] || packages+=("$name")
	done <"$ROOT/tests/cross/packages"
fi

missing=()
for name in "${packages[@]}"; do
	state=$(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null || true)
	[[ $state == installed ]] || missing+=("$name")
done
[[ ${#missing[@]} -gt 0 ]] || exit 0

[[ $(id -u) -eq 0 ]] || die "missing packages: ${missing[*]}
install them as root, or run this as root"
say "installing: ${missing[*]}"

# Some of these bring a service (coturn); nothing may be started on this machine by a build.
policy=/usr/sbin/policy-rc.d
if [[ ! -e $policy ]]; then
	printf '#!/bin/sh\nexit 101\n' >"$policy"
	chmod 755 "$policy"
	trap 'rm -f "$policy"' EXIT
fi

export DEBIAN_FRONTEND=noninteractive
apt=(apt-get -q -y -o DPkg::Lock::Timeout=600 -o Acquire::Retries=3 -o Dpkg::Use-Pty=0)
"${apt[@]}" update </dev/null
"${apt[@]}" install --no-install-recommends "${missing[@]}" </dev/null
