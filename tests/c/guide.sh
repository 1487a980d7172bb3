#!/bin/sh
# Builds the programs of docs/guide-c.md as they stand there, and runs them.
# guide.sh BUILD LIB_DIR CFLAGS...
build=$1/guide
lib_dir=$2
shift 2
rm -rf "$build"
mkdir -p "$build"

# A block of C begins with a comment that names its file.
awk -v dir="$build" '
  /^```c$/ { open = 1; next }
  /^```$/ { open = 0; file = ""; next }
  open && file == "" { name = $2; sub(/:$/, "", name); file = dir "/" name }
  open { print > file }
' ../../docs/guide-c.md

for name in window upper host loop feed stream pipe; do
  ${CC:-cc} -std=c99 -D_POSIX_C_SOURCE=200809L -Wall -Wextra -Wpedantic -Werror -I../../include "$@" \
    "$build/$name.c" -o "$build/$name" -L"$lib_dir" -Wl,-rpath,"$lib_dir" -lsluicegate -lpthread || exit 1
done
[ "$("$build/window")" = "100 sent, none without credit" ] &&
  [ "$("$build/host" "$build/upper" hello)" = HELLO ] &&
  [ "$("$build/host" "$build/pipe" hello)" = HELLO ] &&
  [ "$("$build/loop")" = "the chunk is ours" ] &&
  [ "$("$build/feed")" = "1000 items are accounted for" ] &&
  [ "$("$build/stream")" = "sum of squares: 385" ] &&
  ! "$build/host" /no/such/cartridge x 2>"$build/said" &&
  grep -q /no/such/cartridge "$build/said"
