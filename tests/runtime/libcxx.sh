#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# libcxx.sh RUNTIME FOLDER SOURCE...: the library and programs, all with clang++ and libc++ in C++23, built in FOLDER and run for two seconds each.
# Without the systems that are libraries of others, which are built for the system's own C++ library.
# CXX=clang++-16 with libc++-16-dev, which cannot be installed beside Debian's default 14, shows what that one cannot: its containers ask
# for an std::allocation_result.
set -eu
runtime=$1 folder=$2
shift 2
compiler=${CXX:-clang++}
command -v "$compiler" >/dev/null || { echo "no $compiler: scripts/setup test installs it"; exit 77; }
rm -rf "$folder" && mkdir -p "$folder/objects" && cd "$folder/objects"
options="-std=c++2b -stdlib=libc++ -O0 -Wall -Wextra -Wpedantic -Werror -pthread -I$runtime/include -I$runtime/src/team"
# A folder is compiled as one file, so that its headers are read once. Its names may shadow each other there: -Wshadow is for g++.
for part in machine memory memory/under_malloc team team/systems; do
  find "$runtime/src/$part" -maxdepth 1 -name '*.cpp' | grep -vE '/(openmp|boost|tbb)[.]cpp$' | sed 's/.*/#include "&"/' >"$(basename "$part").cpp"
done
# shellcheck disable=SC2086  # one word each
find . -name '*.cpp' | xargs -P 2 -n 1 "$compiler" $options -c
for source; do
  program=$folder/$(basename "$source" .cpp)
  # shellcheck disable=SC2086
  "$compiler" $options "$source" ./*.o -o "$program"
  "$program" 2
done
