#!/bin/bash
# make install puts the programs below DESTDIR and PREFIX, and they run from there
set -euo pipefail
cd "$(dirname "$0")/../.."

to=$(mktemp -d)
trap 'rm -rf "$to"' EXIT
make -s install DESTDIR="$to" PREFIX=/opt/turnpike >"$to/log" 2>&1 || {
	cat "$to/log"
	exit 1
}
daemon=$(find "$to/opt/turnpike" -name turnpike -type f -perm -u+x)
tpctl=$(find "$to/opt/turnpike" -name tpctl -type f -perm -u+x)
[[ -n $daemon && -n $tpctl ]]
status=0
said=$(TURNPIKE_SOCKET=$to/none "$tpctl" version 2>&1) || status=$?
echo "tpctl: status $status: $said"
[[ $status -eq 3 && $said == *"$to/none"* ]]
status=0
said=$("$daemon" --nonsense 2>&1) || status=$?
echo "turnpike: status $status: $said"
[[ $status -ne 0 && -n $said ]]
# nothing outside the prefix but what belongs below /etc, or into the folders of systemd and bash-completion
stray=$(find "$to" -type f ! -path "$to/opt/turnpike/*" ! -path "$to/etc/*" ! -path "$to/log" \
	! -path '*/systemd/*' ! -path '*/bash-completion/*')
[[ -z $stray ]] || {
	echo "outside the prefix: $stray"
	exit 1
}
