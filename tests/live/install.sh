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
# libturnpike-csum, for a program that knows nothing but pkg-config
pc=$(find "$to" -name libturnpike-csum.pc)
export PKG_CONFIG_PATH=${pc%/*} PKG_CONFIG_SYSROOT_DIR=$to
cat >"$to/prog.c" <<'END'
#include <csum.h>
#include <stdio.h>
int main(void)
{
	static const unsigned char bytes[300] = {0x12, 0x34, [298] = 0xec, 0xca};

	printf("%04x %d\n", csum_fold(csum_partial(bytes, 300, 0)), csum_selected() != NULL);
	return 0;
}
END
read -ra cflags <<<"$(pkg-config --cflags libturnpike-csum)"
read -ra libs <<<"$(pkg-config --libs libturnpike-csum)"
lib=$(pkg-config --variable=libdir libturnpike-csum)
[[ $lib == "$to"/* ]] || lib=$to$lib
cc -Wall -Werror "${cflags[@]}" -o "$to/shared" "$to/prog.c" "${libs[@]}"
cc -Wall -Werror "${cflags[@]}" -static -o "$to/static" "$to/prog.c" "${libs[@]}"
[[ $(objdump -p "$to/shared") == *"libturnpike-csum.so.0"* ]]
said=$(LD_LIBRARY_PATH=$lib "$to/shared")/$("$to/static")
echo "libturnpike-csum: $said"
[[ $said == "0101 1/0101 1" ]]
# it exports what csum.h declares, and nothing else
declared=$(grep '^[a-z]' "$to/opt/turnpike/include/turnpike/csum.h" | grep -v '^static' |
	grep -o '\bcsum_[a-z0-9_]*(' | tr -d '(' | sort -u)
exported=$(nm -D --defined-only "$lib/libturnpike-csum.so" | awk '{ print $3 }' | sort)
diff <(echo "$declared") <(echo "$exported")
rm "$to/prog.c" "$to/shared" "$to/static"
# nothing outside the prefix but what belongs below /etc, or into the folders of systemd and bash-completion
stray=$(find "$to" -type f ! -path "$to/opt/turnpike/*" ! -path "$to/etc/*" ! -path "$to/log" \
	! -path '*/systemd/*' ! -path '*/bash-completion/*')
[[ -z $stray ]] || {
	echo "outside the prefix: $stray"
	exit 1
}
