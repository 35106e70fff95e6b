#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Prints -idirafter DIR for each system include directory of the clang in $1, as built for this host.
LC_ALL=C "$1" -v -E -x c /dev/null -o /dev/null 2>&1 |
	sed -n '/^#include <\.\.\.> search starts here:/,/^End of search list/s/^ \(\/[^ ]*\).*/-idirafter \1/p'
