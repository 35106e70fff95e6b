#!/bin/bash
# Builds one variant; does nothing where nothing changed.
#
#   build.sh gcc     build/          optimised, with symbols
#   build.sh clang   build-clang/    the same by clang
#   build.sh asan    build-asan/     with the address and undefined-behaviour sanitizers
#
# Further arguments go to meson (-Dtests=enabled).
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$ROOT"

variant=${1:-gcc}
shift || true
options=(--buildtype=debugoptimized -Dwerror=true -Dwarning_level=2 "$@")
case $variant in
gcc)
	dir=build
	compiler=gcc
	;;
clang)
	dir=build-clang
	compiler=clang
	;;
asan)
	dir=build-asan
	compiler=gcc
	options+=("-Db_sanitize=address,undefined")
	;;
*) die "build.sh: unknown variant '$variant': gcc, clang or asan" ;;
esac

if [[ ! -f $dir/build.ninja ]]; then
	rm -rf "$dir"
	CC=$compiler meson setup "$dir" "${options[@]}"
else
	for option in "$@"; do
		key=${option#-D}
		if ! meson introspect "$dir" --buildoptions |
			/usr/bin/python3 -c '
import json, sys
key, value = sys.argv[1].split("=", 1)
sys.exit(not any(o["name"] == key and str(o["value"]) == value for o in json.load(sys.stdin)))' "$key"; then
			meson configure "$dir" "$option"
		fi
	done
fi
ninja -C "$dir"
