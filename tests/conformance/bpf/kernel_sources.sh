# The kernel's sources as Debian packages them, for the scripts beside this one: `archive`, `top` the directory in it, and
# `work` to unpack into, which goes at the end. Skips where they are not there.
# shellcheck shell=bash
sources=(/usr/src/linux-source-*.tar.xz)
archive=${sources[0]}
[[ -e $archive ]] || {
  echo "skipped: no kernel sources in /usr/src (package linux-source-6.1)"
  exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck disable=SC2034 # for who sources this
top=$(basename "$archive" .tar.xz)
