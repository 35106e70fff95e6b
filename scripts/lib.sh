# shellcheck shell=bash
# What the scripts share: messages, colours on a terminal, the repository's root.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export ROOT

if [[ -t 1 && -z ${NO_COLOR:-} ]]; then
	bold=$'\e[1m' dim=$'\e[2m' red=$'\e[31m' green=$'\e[32m' yellow=$'\e[33m' cyan=$'\e[36m' plain=$'\e[0m'
else
	bold='' dim='' red='' green='' yellow='' cyan='' plain=''
fi
export bold dim red green yellow cyan plain

say() { printf '%s\n' "$*"; }
warn() { printf '%s\n' "${yellow}$*${plain}" >&2; }
die() {
	printf '%s\n' "${red}$*${plain}" >&2
	exit 1
}

need_root() {
	[[ $(id -u) -eq 0 ]] || die "this needs root: namespaces, huge pages and raw ports"
}
