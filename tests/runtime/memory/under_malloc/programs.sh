#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# programs.sh LIBRARY: real programs print the same and end the same with the library preloaded as without it.
# Plainly and hardened. A program that is not here is named.
set -euo pipefail
library=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

seq 1 50000 | awk '{ print ($1 * 7919) % 50021, "line", $1 }' > lines
cat > program.cpp <<'CODE'
#include <map>
#include <string>
#include <vector>
int main() { std::map<std::string, std::vector<int>> m; for (int i = 0; i < 1000; ++i) m[std::to_string(i % 77)].push_back(i); return m.size() == 77 ? 0 : 1; }
CODE
cat > program.py <<'CODE'
import threading, multiprocessing, json, re, collections
def work(n): return len(json.dumps([str(k) * (k % 50) for k in range(n)]))
if __name__ == "__main__":
    crew = [threading.Thread(target=work, args=(5000,)) for _ in range(4)]
    for one in crew: one.start()
    with multiprocessing.get_context("fork").Pool(2) as pool: print(pool.map(work, range(0, 5000, 500)))
    for one in crew: one.join()
    words = collections.Counter(re.findall(r"\w+", open("lines").read()))
    print(len(words), words.most_common(1))
CODE
cat > rows.sql <<'CODE'
create table t(a integer primary key, b text, c real);
with recursive n(k) as (select 1 union all select k + 1 from n where k < 15000) insert into t select k, hex(k * 7919), k / 3.0 from n;
create index i on t(b);
select count(*), sum(c), max(b) from t where b like '3%'; select b, count(*) from t group by substr(b, 1, 3) order by 2 desc, 1 limit 5;
CODE

# A program's name, and what is run; its standard output is compared.
programs=(
  "perl     perl -e 'my %h; while (<>) { my (\$k, @r) = split; \$h{\$k % 997} .= \"@r\"; } print scalar(keys %h), length(\$h{5}), \"\\n\"' lines"
  "python3  python3 program.py"
  "sqlite3  sqlite3 :memory: < rows.sql"
  "gcc      g++ -std=c++17 -O1 program.cpp -o program && ./program && cksum < program"
  "git      git init -q r && cp lines r/ && git -C r add lines && git -C r -c user.name=n -c user.email=e commit -q -m m --date=2020-01-01T00:00:00Z && git -C r gc -q && git -C r cat-file -p HEAD^{tree}; rm -rf r"
  "jq       seq 1 12500 | jq -s 'map({k: ., s: (.|tostring)}) | group_by(.k % 97) | map(length) | add'"
  "xz       xz -1 -T2 -k -c lines | xz -d | cksum"
  "sort     sort --parallel=2 -S 20M lines | cksum"
  "bash     bash -c 'a=(); for k in {1..3000}; do a+=(\"\$k\"); done; echo \${#a[@]} \$(echo \${a[@]} | wc -c)'"
)

LD_PRELOAD=$library grep -q "$(basename "$library")" /proc/self/maps || { echo "the library is not preloaded" >&2; exit 1; }
for line in "${programs[@]}"; do
  read -r name command <<< "$line"
  command -v "$name" > /dev/null || { echo "not here: $name"; continue; }
  bash -c "$command" > expected 2>&1 && code=0 || code=$?
  for mode in "" hardened; do
    LD_PRELOAD=$library CORESCALE_MALLOC=$mode bash -c "$command" > got 2>&1 && got=0 || got=$?
    if [ $code != $got ] || ! cmp -s expected got; then
      echo "$name${mode:+, $mode}: exit code $got, not $code, or another output:" >&2
      diff expected got | head -5 >&2
      exit 1
    fi
  done
  echo "$name"
done
