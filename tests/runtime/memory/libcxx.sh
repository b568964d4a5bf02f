#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# libcxx.sh RUNTIME SOURCE PROGRAM: the library and a program, both with clang++-16 and libc++ in C++23, built and run.
# Not Debian's default version 14, whose libc++ has no allocate_at_least().
set -eu
runtime=$1 source=$2 program=$3
command -v clang++-16 >/dev/null || { echo "no clang++-16: scripts/setup test installs it"; exit 77; }
clang++-16 -std=c++2b -stdlib=libc++ -Wall -Wextra -Wpedantic -Wshadow -Werror -pthread -I"$runtime/include" "$runtime"/src/memory/*.cpp \
  "$source" -o "$program"
"$program"
