#!/usr/bin/env bash
# check.sh BUILD_DIR BUILD_TYPE COMPILER
#
# Installs the built tree into an empty prefix, moves the prefix (an installation must be
# relocatable), and uses it from outside: through find_package(tenure), then through pkg-config.
set -euo pipefail

build_dir=$1 build_type=$2 compiler=$3
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
prefix=$scratch/prefix
expected=5.7842

expect_output() {
  local actual
  actual=$("$2")
  if [[ $actual != "$expected" ]]; then
    echo "$1: the program printed '$actual' instead of '$expected'" >&2
    exit 1
  fi
  echo "$1: ok"
}

cmake --install "$build_dir" --prefix "$scratch/staging" >"$scratch/install.log"
mv "$scratch/staging" "$prefix"
if find "$prefix" -name '*-inl.h' | grep .; then
  echo "internal headers were installed" >&2
  exit 1
fi
root=$(cd "$here/../.." && pwd)
# Whatever the documentation and the examples include is there, and all of it compiles.
grep -rhoP '^#include "\Ktenure/[^"]+' "$root/docs" "$root/examples" "$root/README.md" | sort -u |
  while read -r header; do
    [[ -e $prefix/include/$header ]] || { echo "$header was not installed" >&2; exit 1; }
  done
(cd "$prefix/include" && find tenure -name '*.h' -printf '#include "%p"\n') >"$scratch/all.cpp"
"$compiler" -std=c++20 -fsyntax-only -I "$prefix/include" "$scratch/all.cpp"
echo "$(grep -c . "$scratch/all.cpp") headers: ok"

cmake -G Ninja -S "$here/consumer" -B "$scratch/build" -DCMAKE_PREFIX_PATH="$prefix" \
  -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE="$build_type" >"$scratch/configure.log"
cmake --build "$scratch/build" >"$scratch/build.log" || { cat "$scratch/build.log"; exit 1; }
expect_output "find_package(tenure)" "$scratch/build/outside"

cmake -G Ninja -S "$root/examples/custom_op" -B "$scratch/custom" -DCMAKE_PREFIX_PATH="$prefix" \
  -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE="$build_type" >"$scratch/configure.log"
cmake --build "$scratch/custom" >"$scratch/build.log" || { cat "$scratch/build.log"; exit 1; }
"$scratch/custom/custom_op" | diff "$root/examples/expected/custom_op.txt" -
echo "an op from outside: ok"

pc=$(find "$prefix" -name tenure.pc)
libdir=$(dirname "$(dirname "$pc")")
export PKG_CONFIG_PATH=${pc%/*} LD_LIBRARY_PATH=$libdir
# As the README says it: no standard and no --static by hand.
# shellcheck disable=SC2046  # The flags are words.
"$compiler" "$here/program.cpp" -o "$scratch/outside" $(pkg-config --cflags --libs tenure)
expect_output "pkg-config tenure" "$scratch/outside"

# The page for beginners: its program with its CMake file, as they stand there.
python3 "$root/tools/doc_blocks.py" copy "$root/docs/first-program.md" "$scratch/first"
cmake -G Ninja -S "$scratch/first" -B "$scratch/first/build" -DCMAKE_PREFIX_PATH="$prefix" \
  -DCMAKE_CXX_COMPILER="$compiler" >"$scratch/configure.log"
cmake --build "$scratch/first/build" >"$scratch/build.log" || { cat "$scratch/build.log"; exit 1; }
"$scratch/first/build/first" | diff "$scratch/first/output.txt" -
"$prefix/bin/tenure" profile -o "$scratch/first.tenure" -- "$scratch/first/build/first" >"$scratch/said.txt"
grep -q 'main.cpp:' "$scratch/said.txt"
echo "your first program: ok"
