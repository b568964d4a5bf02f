#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# openmp_race.sh RUNTIME_DIR SCRATCH_DIR: the OpenMP team under ThreadSanitizer, by clang and libarcher.
set -euo pipefail
runtime=$1 scratch=$2/openmp_race
here=$(cd "$(dirname "$0")" && pwd)

skip() { echo "skipped: $1"; exit 77; }
command -v clang++ >/dev/null || skip "needs clang (package clang)"
archer=$(ls "$(dirname "$(readlink -f "$(command -v clang++)")")"/../lib/libarcher.so 2>/dev/null) || skip "needs libarcher (package libomp-dev)"

mkdir -p "$scratch"
# As one file, whose headers are read once.
printf '#include "%s"\n' "$runtime"/src/team/{systems/openmp,placement,waiting,shared_core,team_core}.cpp "$runtime"/src/machine/{clock,affinity,topology,hwloc}.cpp \
  "$here/openmp_race.cpp" >"$scratch/openmp_race.cpp"
clang++ -std=c++20 -g1 -O1 -fsanitize=thread -fopenmp -I"$runtime/include" -I"$runtime/src/team" "$scratch/openmp_race.cpp" -o "$scratch/openmp_race" || exit 1
export OMP_TOOL_LIBRARIES=$archer TSAN_OPTIONS="ignore_noninstrumented_modules=1 exitcode=66"

"$scratch/openmp_race" || { echo "FAILED: a race is reported where there is none"; exit 1; }
if "$scratch/openmp_race" race 2>"$scratch/report"; then echo "FAILED: the seeded race was not found"; exit 1; fi
grep -q "data race" "$scratch/report" || { cat "$scratch/report"; echo "FAILED: ended without a report of a race"; exit 1; }
echo "good: no race reported, and the seeded one found"
