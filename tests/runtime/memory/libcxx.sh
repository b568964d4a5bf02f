#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# libcxx.sh RUNTIME SOURCE PROGRAM: the library and a program, both with clang++ and libc++ in C++23, built and run.
# CXX=clang++-16 with libc++-16-dev, which cannot be installed beside Debian's default 14, shows what that one cannot: its containers ask
# for an std::allocation_result.
set -eu
runtime=$1 source=$2 program=$3
compiler=${CXX:-clang++}
command -v "$compiler" >/dev/null || { echo "no $compiler: scripts/setup test installs it"; exit 77; }
"$compiler" -std=c++2b -stdlib=libc++ -Wall -Wextra -Wpedantic -Wshadow -Werror -pthread -I"$runtime/include" "$runtime"/src/memory/*.cpp \
  "$source" -o "$program"
"$program"
