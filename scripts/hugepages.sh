#!/bin/bash
# Huge pages for the router.
#
#   hugepages.sh reserve [MEGABYTES]   adds 2 MiB pages where too few are free; prints what it did
#   hugepages.sh release               gives back what reserve took
#   hugepages.sh status
#
# What it changed is remembered in /run/turnpike-hugepages, so release restores the machine.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

state=/run/turnpike-hugepages
dir=/sys/kernel/mm/hugepages/hugepages-2048kB

reserve() {
	local want=$(($1 / 2)) free before now
	if [[ ! -w $dir/nr_hugepages ]]; then
		say "huge pages: this kernel has no 2 MiB pages to give; the router runs with --no-huge"
		return 0
	fi
	free=$(<"$dir/free_hugepages")
	if ((free >= want)); then
		say "huge pages: $((free * 2)) MiB free already"
		return 0
	fi
	before=$(<"$dir/nr_hugepages")
	# Not more than a quarter of what the machine has left.
	local available
	available=$(awk '/^MemAvailable:/ { print int($2 / 1024) }' /proc/meminfo)
	if ((available / 4 < (want - free) * 2)); then
		say "huge pages: only $available MiB of memory available; the router runs with --no-huge"
		return 0
	fi
	[[ -e $state ]] || printf '%s\n' "$before" >"$state"
	echo $((before + want - free)) >"$dir/nr_hugepages"
	now=$(<"$dir/nr_hugepages")
	free=$(<"$dir/free_hugepages")
	if ((free < want)); then
		echo "$before" >"$dir/nr_hugepages"
		rm -f "$state"
		say "huge pages: asked for $((want * 2)) MiB, memory is too fragmented; the router runs with --no-huge"
		return 0
	fi
	say "huge pages: reserved $(((now - before) * 2)) MiB (there were $((before * 2)) MiB)"
}

release() {
	[[ -e $state ]] || return 0
	cat "$state" >"$dir/nr_hugepages"
	rm -f "$state"
	say "huge pages: back to $(($(<"$dir/nr_hugepages") * 2)) MiB"
}

case ${1:-status} in
reserve)
	need_root
	reserve "${2:-1024}"
	;;
release)
	need_root
	release
	;;
status) grep -i '^huge' /proc/meminfo ;;
*) die "usage: hugepages.sh reserve [MEGABYTES] | release | status" ;;
esac
