#!/bin/sh
# Runs every program and check, shows what each says, and ends with `N passed, N failed`.
# run.sh BUILD LIB_DIR
build=$1
lib_dir=$2
passed=0
failed=0

# The thread checker sees the threads of these programs; locks inside the library are futexes that it
# cannot see, so calls out of it are none of its business.
TSAN_OPTIONS="suppressions=$(pwd)/tsan.supp die_after_fork=0 $TSAN_OPTIONS"
# A panic on purpose is a test, not news.
RUST_BACKTRACE=0
export TSAN_OPTIONS RUST_BACKTRACE

# one NAME COMMAND...: a check that passes or fails as a whole
one() {
  name=$1
  shift
  if "$@"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAILED $name"
  fi
}

# counted COMMAND...: a program whose last line is `name: N passed, N failed`, and that ends well; what a
# checker has reported shows in how it ends.
counted() {
  "$@" >"$build/said"
  ended=$?
  last=$(tail -n 1 "$build/said")
  echo "$last"
  counts=$(echo "$last" | sed -n 's/^.*: \([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p')
  if [ -z "$counts" ]; then
    failed=$((failed + 1))
    echo "FAILED $1: it did not say how it ended"
  else
    passed=$((passed + ${counts% *}))
    failed=$((failed + ${counts#* }))
    if [ "$ended" -ne 0 ] && [ "${counts#* }" -eq 0 ]; then
      failed=$((failed + 1))
      echo "FAILED $1: it ended with $ended"
    fi
  fi
}

# header COMPILER SUFFIX DIALECT HEADER: alone, twice, without a warning
header() {
  printf '#include <%s>\n#include <%s>\nint main(void) { return 0; }\n' "$4" "$4" >"$build/alone.$2"
  "$1" -std="$3" -Wall -Wextra -Wpedantic -Werror -I../../include -fsyntax-only "$build/alone.$2"
}

# Everything that the shared library exports has our prefix.
exports() {
  ! ${NM:-nm} -D --defined-only "$lib_dir/libsluicegate.so" | grep -v ' sluice_'
}

# HZ-F15: so has everything that the static library shows, whatever else is linked beside it.
shows() {
  ${NM:-nm} -g --defined-only "$lib_dir/libsluicegate.a" >"$build/shown" && grep -q ' sluice_' "$build/shown" &&
    ! grep -Ev ' sluice_|^$|:$' "$build/shown"
}

# HZ-F16: the shared library loads wherever the documented C library is (docs/guide-c.md).
glibc() {
  newest=$(${NM:-nm} -D "$lib_dir/libsluicegate.so" | sed -n 's/.*@GLIBC_\([0-9.]*\)$/\1/p' | sort -uV | tail -n 1)
  floor=$(sed -n 's/.*glibc \([0-9.]*[0-9]\) or newer.*/\1/p' ../../docs/guide-c.md)
  [ -n "$newest" ] && [ -n "$floor" ] || return 1
  [ "$(printf '%s\n%s\n' "$newest" "$floor" | sort -V | tail -n 1)" = "$floor" ] && return 0
  echo "libsluicegate.so needs glibc $newest, the guide promises $floor"
  return 1
}

# HZ-F16: and where the system has another C library, its loader refuses it with a line, or loads it.
musl() {
  musl-gcc -Wall -Wextra -Werror -o "$build/musl" musl.c && "$build/musl" "$lib_dir/libsluicegate.so"
}

# Everything that the header declares is there.
declared() {
  ${NM:-nm} -D --defined-only "$lib_dir/libsluicegate.so" | sed 's/.* //' | sort >"$build/exported"
  sed -n 's/^[a-z].*[ *]\(sluice_[a-z0-9_]*\)(.*/\1/p' ../../include/sluicegate.h | sort >"$build/declared"
  cmp "$build/exported" "$build/declared"
}

for dialect in c99 c11 c17; do
  one "header $dialect" header "${CC:-cc}" c "$dialect" sluicegate.h
done
for dialect in c++11 c++17 c++20; do
  one "header $dialect" header "${CXX:-c++}" cpp "$dialect" sluicegate.h
  one "RAII header $dialect" header "${CXX:-c++}" cpp "$dialect" sluicegate.hpp
done
one "exports" exports
one "names of the static library" shows
one "declarations" declared
counted "$build/unit"
one "glibc" glibc
one "musl" musl
if [ -e "$build/static" ]; then
  counted "$build/static"
  one "beside another Rust library" "$build/beside"
  one "behind another Rust library" "$build/beside-after"
  one "whole beside another Rust library" "$build/beside-whole"
  # A library that was unloaded cannot be searched for what it still held: no leak check here.
  counted env ASAN_OPTIONS=detect_leaks=0 "$build/dispositions" "$lib_dir/libsluicegate.so"
fi
if [ -e "$build/beside-go" ]; then
  one "in Go beside another Rust library" "$build/beside-go"
fi
counted "$build/raii"
one "guide" sh ./guide.sh "$build" "$lib_dir"
one "conformance" "$build/conformance" ../conformance

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
