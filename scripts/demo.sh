#!/bin/bash
# A small network in namespaces, and real traffic translated by the router.
#
#   demo.sh up      builds the network, starts the router, shows what it does, cleans up; exit status 1 when a step
#                   failed. With KEEP=1 everything is left running.
#   demo.sh down    ends a demo that was left running
#
# Nothing is made in the machine's own network namespace: the router lives in tp-router.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

state=/run/turnpike-demo
socket=$state/turnpike.sock
daemon=$ROOT/build/app/turnpike/turnpike
tpctl=$ROOT/build/app/tpctl/tpctl
namespaces=(tp-inside tp-router tp-outside tp-far)
export TURNPIKE_SOCKET=$socket

in_ns() {
	local ns=$1
	shift
	ip netns exec "$ns" "$@"
}

# ---- processes: each is remembered by pid and start time, and ended by nothing else -------------------

started_at() { awk '{ sub(/.*\) /, ""); print $20 }' "/proc/$1/stat" 2>/dev/null || true; }

# background NAME COMMAND...
background() {
	local name=$1
	shift
	"$@" </dev/null >"$state/$name.log" 2>&1 &
	local pid=$!
	disown "$pid"
	printf '%s %s %s\n' "$pid" "$(started_at "$pid")" "$name" >>"$state/pids"
}

end_process() { # PID STARTED SIGNAL
	[[ -n $2 && $(started_at "$1") == "$2" ]] || return 0
	kill "-$3" "$1" 2>/dev/null || true
	local i
	for ((i = 0; i < 100; i++)); do
		[[ $(started_at "$1") == "$2" && $(ps -o stat= -p "$1" 2>/dev/null) != Z* ]] || return 0
		sleep 0.05
	done
	kill -KILL "$1" 2>/dev/null || true
}

end_named() { # NAME SIGNAL
	local pid started name
	while read -r pid started name; do
		[[ $name != "$1" ]] || end_process "$pid" "$started" "$2"
	done <"$state/pids"
}

down() {
	local pid started name ns
	if [[ -f $state/pids ]]; then
		# The last started goes first; the router is asked politely and has time to detach its XDP programs.
		while read -r pid started name; do
			end_process "$pid" "$started" TERM
		done < <(tac "$state/pids")
	fi
	for ns in "${namespaces[@]}"; do
		if [[ -e /run/netns/$ns && -e $state/made-$ns ]]; then
			ip netns del "$ns"
		fi
	done
	if [[ -d $state ]]; then
		"$ROOT/scripts/hugepages.sh" release
		rm -rf "$state"
	fi
}

# ---- showing ---------------------------------------------------------------------------------------------

failed=()
step=0
ok=0

heading() { # TITLE WHAT-IT-PROVES
	step=$((step + 1))
	title=$1
	printf '\n%s%2d. %s%s\n' "$bold$cyan" "$step" "$1" "$plain"
	printf '    %s\n' "$2"
}

shown() { printf '    %s$ %s%s\n' "$dim" "$*" "$plain"; }
indent() { sed 's/^/      /'; }

good() { printf '    %sok%s    %s\n' "$green" "$plain" "$1"; }
bad() {
	printf '    %sFAILED%s  %s\n' "$red" "$plain" "$1"
	failed+=("$step. $title: $1")
}

# verdict CONDITION-STATUS TEXT: as good or bad
verdict() { if (($1 == 0)); then good "$2"; else bad "$2"; fi; }

topology() {
	cat <<'END'

   tp-inside               tp-router                     tp-outside               tp-far
  +------------+        +-----------------------+        +-----------------+      +----------------+
  | a host     |        |       turnpike        |        | the provider    |      | a web server   |
  |            | veth   |                       | veth   |                 | veth |                |
  |  10.0.0.2  +--------+ lan              wan  +--------+  203.0.113.254  +------+  198.51.100.7  |
  |            |        | 10.0.0.1  203.0.113.1 |        |  198.51.100.1   |      |                |
  +------------+        +-----------------------+        +-----------------+      +----------------+
                          10.0.0.0/24 leaves as 203.0.113.10
                          203.0.113.10:8080 goes in to 10.0.0.2:80

END
}

# ---- building ---------------------------------------------------------------------------------------------

make_namespaces() {
	local ns
	for ns in "${namespaces[@]}"; do
		if [[ -e /run/netns/$ns ]]; then
			die "a namespace $ns exists and is not this demo's: remove it (ip netns del $ns) and try again"
		fi
	done
	for ns in "${namespaces[@]}"; do
		ip netns add "$ns"
		: >"$state/made-$ns"
		ip -n "$ns" link set lo up
		in_ns "$ns" sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1 \
			net.ipv4.icmp_ratelimit=0
	done
	pair tp-router lan0 tp-inside eth0
	pair tp-router wan0 tp-outside eth0
	pair tp-outside far0 tp-far eth0
	ip -n tp-inside addr add 10.0.0.2/24 dev eth0
	ip -n tp-inside route add default via 10.0.0.1
	ip -n tp-outside addr add 203.0.113.254/24 dev eth0
	ip -n tp-outside addr add 198.51.100.1/24 dev far0
	in_ns tp-outside sysctl -qw net.ipv4.ip_forward=1
	ip -n tp-far addr add 198.51.100.7/24 dev eth0
	ip -n tp-far route add default via 198.51.100.1
}

pair() { # NAMESPACE PORT NAMESPACE PORT
	ip -n "$1" link add "$2" type veth peer name "$4" netns "$3"
	ip -n "$1" link set "$2" up
	ip -n "$3" link set "$4" up
}

# wait_for SECONDS COMMAND...
wait_for() {
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		((SECONDS < end)) || return 1
		sleep 0.05
	done
}

listens() { [[ -n $(in_ns "$1" ss -Hlnt "sport = :$2") ]]; }

start_router() {
	: >"$state/turnpike.conf"
	background turnpike ip netns exec tp-router "$daemon" -c "$state/turnpike.conf" -s "$socket"
	if ! wait_for 30 "$tpctl" version; then
		tail -n 20 "$state/turnpike.log" | indent
		die "the router does not start"
	fi
	local said
	ports=AF_XDP
	if ! said=$("$tpctl" interface add lan devargs net_af_xdp0,iface=lan0 2>&1) ||
		! said=$("$tpctl" interface add wan devargs net_af_xdp1,iface=wan0 2>&1); then
		ports=AF_PACKET
		warn "AF_XDP is refused here ($said)"
		warn "falling back to AF_PACKET: slower, all else is the same"
		"$tpctl" interface del lan >/dev/null 2>&1 || true
		# A packet socket hands over merged segments as they are: have the kernels send them cut.
		in_ns tp-inside ethtool -K eth0 tso off gso off
		in_ns tp-outside ethtool -K eth0 tso off gso off
		"$tpctl" interface add lan devargs net_af_packet0,iface=lan0
		"$tpctl" interface add wan devargs net_af_packet1,iface=wan0
	fi
	cat >"$state/demo.conf" <<'END'
address add 10.0.0.1/24 interface lan
address add 203.0.113.1/24 interface wan
route add 0.0.0.0/0 via 203.0.113.254
nat pool add office addresses 203.0.113.10
nat rule add dnat web interface wan protocol tcp destination 203.0.113.10:8080 to 10.0.0.2:80
nat rule add snat lan-out interface wan source 10.0.0.0/24 pool office
END
	"$tpctl" -f "$state/demo.conf"
	"$tpctl" config save "$state/turnpike.conf" >"$state/save.log"
	say "router: ${bold}$ports${plain} ports, pid $(pidof_named turnpike), log $state/turnpike.log"
	grep -iE 'huge' "$state/turnpike.log" | head -n 3 | indent || true
	say "its configuration:"
	"$tpctl" config show | indent
}

pidof_named() { awk -v name="$1" '$3 == name { print $1 }' "$state/pids"; }

start_services() {
	mkdir -p "$state/www"
	head -c $((32 << 20)) /dev/urandom >"$state/www/32MiB"
	printf 'Hello from the host inside, 10.0.0.2.\n' >"$state/www/hello"
	background http-far ip netns exec tp-far /usr/bin/python3 -m http.server 80 --directory "$state/www"
	background http-inside ip netns exec tp-inside /usr/bin/python3 -m http.server 80 --directory "$state/www"
	background iperf3 ip netns exec tp-far iperf3 -s
	wait_for 10 listens tp-far 80
	wait_for 10 listens tp-inside 80
	wait_for 10 listens tp-far 5201
	# What the kernels on both sides get from the router (-Q in), to be judged at the end.
	background tcpdump-outside ip netns exec tp-outside tcpdump -n -U -Z root -B 32768 -c 20000 -i eth0 -Q in \
		-w "$state/outside.pcap"
	background tcpdump-inside ip netns exec tp-inside tcpdump -n -U -Z root -B 32768 -c 20000 -i eth0 -Q in \
		-w "$state/inside.pcap"
	wait_for 10 grep -q 'listening on' "$state/tcpdump-outside.log"
	wait_for 10 grep -q 'listening on' "$state/tcpdump-inside.log"
}

# ---- the steps --------------------------------------------------------------------------------------------

show_ping() {
	heading "ping" "ICMP echo out and back; the answers find their way to the host inside."
	shown "ip netns exec tp-inside ping -c 5 -i 0.2 198.51.100.7"
	local out status=0
	out=$(in_ns tp-inside ping -n -c 5 -i 0.2 -W 2 198.51.100.7 2>&1) || status=$?
	indent <<<"$out"
	[[ $out == *" 0% packet loss"* ]] || status=1
	verdict "$status" "5 of 5 answered"
}

show_traceroute() {
	heading "traceroute" "The router shows as a hop, and the far hops' ICMP errors are translated back, quotes and all."
	shown "ip netns exec tp-inside traceroute -n 198.51.100.7"
	local out hops
	out=$(in_ns tp-inside traceroute -n -w 2 198.51.100.7 2>&1) || true
	indent <<<"$out"
	hops=$(awk 'NR > 1 { print $2 }' <<<"$out" | xargs)
	ok=0
	[[ $hops == "10.0.0.1 203.0.113.254 198.51.100.7" ]] || ok=1
	verdict "$ok" "three hops: $hops"
}

show_download() {
	heading "HTTP download" "A TCP transfer of 32 MiB arrives whole; the server knows its client as 203.0.113.10."
	shown "ip netns exec tp-inside curl http://198.51.100.7/32MiB | sha256sum"
	local want got speed status=0
	want=$(sha256sum <"$state/www/32MiB")
	speed=$(in_ns tp-inside curl -sS --max-time 120 -o "$state/got" -w '%{speed_download}' http://198.51.100.7/32MiB) || status=$?
	got=$(sha256sum <"$state/got")
	say "      sent      ${want%% *}"
	say "      received  ${got%% *}"
	ok=0
	[[ $status -eq 0 && $want == "$got" ]] || ok=1
	verdict "$ok" "the same bytes, at $(awk -v s="$speed" 'BEGIN { printf "%.0f MB/s", s / 1e6 }')"
	local client
	client=$(awk '/GET \/32MiB/ { print $1; exit }' "$state/http-far.log")
	ok=0
	[[ $client == 203.0.113.10 ]] || ok=1
	verdict "$ok" "the server's log says: client $client"
	rm -f "$state/got"
}

show_forward() {
	heading "port forward" "From outside in: 203.0.113.10:8080 is the web server of the host inside."
	shown "ip netns exec tp-far curl http://203.0.113.10:8080/hello"
	local out status=0
	out=$(in_ns tp-far curl -sS --max-time 20 http://203.0.113.10:8080/hello 2>&1) || status=$?
	indent <<<"$out"
	ok=0
	[[ $status -eq 0 && $out == "Hello from the host inside"* ]] || ok=1
	verdict "$ok" "answered by the host inside"
	shown "ip netns exec tp-far curl http://203.0.113.10:8081/    # not forwarded"
	status=0
	in_ns tp-far curl -sS --max-time 2 -o /dev/null http://203.0.113.10:8081/ 2>/dev/null || status=$?
	ok=0
	((status == 28)) || ok=1
	verdict "$ok" "every other port stays silent"
}

rates=()

show_iperf() { # TITLE PROVES WORDS...
	local what=$1 proves=$2
	shift 2
	heading "iperf3 $what" "$proves"
	shown "ip netns exec tp-inside iperf3 -c 198.51.100.7 $*"
	local out status=0 line
	out=$(in_ns tp-inside timeout 60 iperf3 -c 198.51.100.7 -J "$@" 2>&1) || status=$?
	line=$(/usr/bin/python3 -c '
import json, sys
end = json.load(sys.stdin)["end"]
if "sum_received" in end and "retransmits" in end.get("sum_sent", {}):
    s = end["sum_received"]
    rest = "%d retransmitted" % end["sum_sent"]["retransmits"]
else:
    s = end.get("sum_received") or end["sum"]
    total = end["sum"]
    rest = "%.2f %% of %d datagrams lost" % (total["lost_percent"], total["packets"])
if not s["bytes"]:
    sys.exit(1)
print("%8.1f Mbit/s   %8.1f MB   %s" % (s["bits_per_second"] / 1e6, s["bytes"] / 1e6, rest))' <<<"$out") || status=1
	if ((status)); then
		indent <<<"$out" | tail -n 15
		line="no result"
	fi
	verdict "$status" "$line"
	rates+=("$(printf '%-10s %s' "$what" "$line")")
}

show_outside() {
	heading "what the outside saw" "No inside address leaves, and every checksum that leaves the router is right, on both sides."
	local side file frames leaks wrong
	end_named tcpdump-outside INT
	end_named tcpdump-inside INT
	for side in outside inside; do
		file=$state/$side.pcap
		frames=$(tcpdump -n -r "$file" 2>/dev/null | wc -l)
		shown "tcpdump -nvv -r $side.pcap | grep -E 'bad cksum|incorrect|wrong'"
		wrong=$(tcpdump -nvv -r "$file" 2>/dev/null | grep -cE 'bad (udp )?cksum|incorrect|wrong icmp cksum' || true)
		ok=0
		[[ $frames -gt 100 && $wrong -eq 0 ]] || ok=1
		verdict "$ok" "$side: $frames frames looked at, $wrong with a bad checksum"
		if [[ $side == outside ]]; then
			shown "tcpdump -n -r outside.pcap net 10.0.0.0/8"
			leaks=$(tcpdump -n -r "$file" net 10.0.0.0/8 2>/dev/null | wc -l)
			ok=0
			[[ $leaks -eq 0 ]] || ok=1
			verdict "$ok" "outside: $leaks frames with an inside address"
			tcpdump -n -r "$file" -c 4 tcp 2>/dev/null | indent
		fi
	done
}

show_tables() {
	heading "the session table" "What the router knows of all this: both directions of each flow."
	local status=0 count protocol
	for protocol in icmp tcp udp; do
		shown "tpctl nat session protocol $protocol limit 5"
		"$tpctl" nat session show protocol "$protocol" limit 5 | indent || status=1
	done
	count=$("$tpctl" -j nat session show | /usr/bin/python3 -c 'import json, sys; print(len(json.load(sys.stdin)))') || status=1
	[[ ${count:-0} -gt 3 ]] || status=1
	verdict "$status" "${count:-no} sessions in all"

	heading "the counters" "Each packet is counted where it came, where it went, or why it was dropped."
	shown "tpctl stats"
	status=0
	"$tpctl" stats show | indent || status=1
	verdict "$status" "drops have names"
}

up() {
	need_root
	[[ -x $daemon && -x $tpctl ]] || die "not built yet: make build"
	if [[ -d $state ]]; then
		if [[ -f $state/pids && -n $(pidof_named turnpike) ]] &&
			[[ $(started_at "$(pidof_named turnpike)") == $(awk '$3 == "turnpike" { print $2 }' "$state/pids") ]]; then
			die "a demo is running already: make demo-down ends it"
		fi
		down
	fi
	mkdir -p "$state"
	: >"$state/pids"
	trap 'status=$?; trap "" INT TERM HUP; down; exit "$status"' EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP

	say "${bold}Turnpike: a demonstration${plain}"
	topology
	"$ROOT/scripts/hugepages.sh" reserve 1024
	make_namespaces
	start_router
	start_services

	show_ping
	show_traceroute
	show_download
	show_forward
	show_iperf "TCP up" "A bulk transfer from inside out." -t 3
	show_iperf "TCP down" "A bulk transfer from outside in (-R)." -t 3 -R
	show_iperf "UDP up" "Datagrams at a fixed rate, 1,400 bytes each." -u -b 200M -l 1400 -t 3
	show_iperf "UDP down" "The same from outside in." -u -b 200M -l 1400 -t 3 -R
	show_outside
	show_tables

	printf '\n%sThroughput%s (%s over veth, %s cores, translated)\n' "$bold" "$plain" "$ports" "$(nproc)"
	printf '    %s\n' "${rates[@]}"
	say
	if ((${#failed[@]})); then
		say "${red}${#failed[@]} of the checks failed:${plain}"
		printf '    %s\n' "${failed[@]}"
	else
		say "${green}All steps passed.${plain}"
	fi
	if [[ -n ${KEEP:-} && ${KEEP:-} != 0 ]]; then
		trap - EXIT
		keep_text
	else
		say "Cleaning up. (make demo KEEP=1 leaves it running)"
	fi
	((${#failed[@]} == 0))
}

keep_text() {
	cat <<END

It is left running. Some things to try:

    export TURNPIKE_SOCKET=$socket
    $tpctl                                     # a shell with Tab completion; ? explains the next word
    $tpctl nat session protocol tcp
    $tpctl nat rule add dnat ssh interface wan protocol tcp destination 203.0.113.10:2222 to 10.0.0.2:22
    ip netns exec tp-inside bash                    # be the host inside
    ip netns exec tp-outside tcpdump -n -i eth0     # see what the outside sees
    ip netns exec tp-inside iperf3 -c 198.51.100.7
    tail -f $state/turnpike.log

    make demo-down                                  # ends it
END
}

case ${1:-up} in
up) up ;;
down)
	need_root
	if [[ -d $state ]]; then
		down
		say "the demo is gone"
	else
		say "no demo is running"
	fi
	;;
*) die "usage: demo.sh up | down" ;;
esac
