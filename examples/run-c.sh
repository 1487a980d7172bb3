#!/bin/sh
# Builds the examples in C and compares what they print: run-c.sh INCLUDE_DIR LIB_DIR [FLAGS...]
set -eu
include=$1
lib=$2
shift 2
cd "$(dirname "$0")"
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
for example in basic showcase ledger; do
  ${CC:-cc} -std=c99 -Wall -Wextra -Wpedantic -Werror "$@" -I"$include" "$example/main.c" -o "$build/$example" \
    -L"$lib" -Wl,-rpath,"$lib" -lsluicegate
  "$build/$example" >"$build/out"
  diff "$example/expected.txt" "$build/out"
  echo "example $example: as expected"
done
