#!/bin/bash
# Every test: builds with gcc and clang, unit tests, packet tests, live tests, fuzz rounds; the unit and the packet tests
# once more under the address and undefined-behaviour sanitizers. One line a test; the last line counts them.
#
#   check.sh              everything
#   check.sh pcap live    only suites whose name contains one of these words
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$ROOT"
need_root

passed=0 failed=0 skipped=0
wanted=("$@")
skips=()

chosen() {
	[[ ${#wanted[@]} -gt 0 ]] || return 0
	local word
	for word in "${wanted[@]}"; do
		[[ $1 != *"$word"* ]] || return 0
	done
	return 1
}

# Numbers and counts the lines of a suite: "ok NAME", "FAIL NAME", "skip NAME: why"; all else passes as it is.
count() {
	local line
	while IFS= read -r line; do
		case $line in
		'ok '*)
			passed=$((passed + 1))
			say "${green}ok${plain} $((passed + failed + skipped)) ${line#ok }"
			;;
		'FAIL '*)
			failed=$((failed + 1))
			say "${red}FAIL${plain} $((passed + failed + skipped)) ${line#FAIL }"
			;;
		'skip '*)
			skipped=$((skipped + 1))
			skips+=("${line#skip }")
			say "${yellow}skip${plain} $((passed + failed + skipped)) ${line#skip }"
			;;
		*) say "$line" ;;
		esac
	done
}

# suite NAME SECONDS COMMAND...: runs it with a hard limit. One that ends badly without naming a failed test is one.
suite() {
	local name=$1 limit=$2 before=$failed began=$SECONDS status=0 out
	shift 2
	chosen "$name" || return 0
	say "${bold}== $name${plain}"
	out=$(mktemp)
	# Through a file descriptor, not a pipe to the loop: the counters live in this shell.
	exec 3< <(
		timeout --kill-after=30 "$limit" "$@" </dev/null 2>&1
		echo $? >"$out"
	)
	count <&3
	exec 3<&-
	status=$(<"$out")
	rm -f "$out"
	if [[ $status -ne 0 && $failed -eq $before ]]; then
		local why="exit status $status"
		[[ $status -ne 124 && $status -ne 137 ]] || why="not done after $limit s"
		count <<<"FAIL $name: $why"
	fi
	say "${dim}   $name took $((SECONDS - began)) s${plain}"
}

# A build is a test too: with -Wall -Wextra -Werror.
build() {
	local name=$1 began=$SECONDS log
	shift
	log=$(mktemp)
	if timeout --kill-after=30 1200 "$@" </dev/null >"$log" 2>&1; then
		count <<<"ok build/$name ($((SECONDS - began)) s)"
		rm -f "$log"
		return 0
	fi
	count <<<"FAIL build/$name"
	tail -n 60 "$log" | sed 's/^/    /'
	rm -f "$log"
	return 1
}

cleanup() {
	scripts/hugepages.sh release >/dev/null || true
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

say "${bold}== build${plain}"
good=1
build gcc scripts/build.sh gcc -Dtests=enabled || good=0
clang=1
build clang scripts/build.sh clang -Dtests=enabled || clang=0
asan=1
build asan scripts/build.sh asan -Dtests=enabled || asan=0

# a daemon with a million routes takes most of it
scripts/hugepages.sh reserve 3072

if ((good)); then
	suite unit 600 tests/harness/unit
	if ((clang)); then
		suite clang/unit 600 tests/harness/unit --build build-clang --prefix clang/unit --no-suite perf
	fi
	suite pcap 600 tests/pcap/run
	suite instructions 120 perf/callgrind-check --build build
	# several workers: what one receives may be another's to translate, or to send
	suite workers 600 tests/pcap/run --workers 2 --prefix workers/pcap -k test_cases -k test_forwarding \
		-k test_icmp -k test_arp -k test_nat -k test_gro
	suite workers4 600 tests/pcap/run --workers 4 --prefix workers4/pcap -k test_cases -k test_workers \
		-k test_nat.Nat
	suite live 900 tests/live/run
fi
if ((asan)); then
	suite asan/unit 900 tests/harness/unit --build build-asan --prefix asan/unit
	suite asan/pcap 900 tests/pcap/run --build build-asan --prefix asan/pcap
	suite fuzz 300 tests/fuzz/run --build build-asan --seconds 10
fi
if [[ -x tests/cross/run ]]; then
	suite cross 900 env CROSS_STRICT=1 tests/cross/run
fi

say "took $((SECONDS / 60)) min $((SECONDS % 60)) s"
for why in "${skips[@]}"; do
	say "skipped: $why"
done
if ((skipped)); then
	say "$passed passed, $failed failed, $skipped skipped"
else
	say "$passed passed, $failed failed"
fi
((failed == 0 && passed > 0))
