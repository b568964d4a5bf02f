# SPDX-License-Identifier: Apache-2.0
"""docs/ci.md: a stranger's workflow runs by its own steps, on a repository of two commits; the second is slower.

Real: git, pip, action.yml and its scripts, `corescale compare`, jq and curl. Not: the checkout is a shallow clone,
the upload of artifacts is a look at what it would take, `gh` keeps comments in a file, and GitLab is a server of this
test. The action's pip builds no native programs and fetches nothing: those of this tree, and its libraries, are found.
Eight blocks are enough for a difference of this size, but for a machine whose other load makes them doubtful.
"""

import http.server
import json
import os
import re
import subprocess
import sys
import threading
import urllib.parse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from corescale.errors import ExitCode
from support.commands import ROOT, corescale

WORKFLOW, PIPELINE = map(
    yaml.safe_load, re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / "ci.md").read_text(), re.DOTALL)
)
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
BLOCKS, FAILED = "-r 8", (ExitCode.REGRESSION, ExitCode.INCONCLUSIVE)
AS = {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
GH = r"""#!/usr/bin/env bash
# `gh api` as scripts/comment-table calls it, on the comments in $COMMENTS.
set -eu
method=GET body='' query=.
while [ $# -gt 0 ]; do case $1 in
  --method) method=$2; shift ;; --raw-field) body=${2#body=}; shift ;; --jq) query=$2; shift ;; */*) path=$1 ;;
esac; shift; done
case $method in
  GET) jq -r "$query" "$COMMENTS" ;;
  POST) change='. + [{id: (length + 1), body: $body, to: $path}]' ;;
  PATCH) change='map(if .id == ($path | split("/") | last | tonumber) then .body = $body else . end)' ;;
esac
[ $method = GET ] && exit
jq --arg body "$body" --arg path "$path" "$change" "$COMMENTS" >"$COMMENTS.new"
mv "$COMMENTS.new" "$COMMENTS"
"""


def executable(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def git(where: Path, *words: str) -> str:
    own = os.environ | AS | {"GIT_CONFIG_GLOBAL": "/dev/null"}
    return subprocess.run(
        ["git", *words], cwd=where, env=own, check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`origin`, a repository of two commits, and `python`, whose programs come first: Python, a make and `gh`."""
    here = tmp_path_factory.mktemp("ci")
    (here / "origin").mkdir()
    git(here / "origin", "init", "-q", "-b", "main")
    for seconds in ("0.01", "0.05"):
        (here / "origin" / "source").write_text(f"#!/bin/sh\nsleep {seconds}\n")
        git(here / "origin", "add", "source")
        git(here / "origin", "commit", "-qm", seconds)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(here / "python")], check=True)
    (libraries,) = (here / "python").glob("lib/*/site-packages")
    (there,) = (path for path in sys.path if path.startswith(sys.prefix) and path.endswith("site-packages"))
    (libraries / "libraries.pth").write_text(f"import site, sys; sys.path.append({there!r})\n")
    executable(here / "python" / "bin" / "make", "#!/bin/sh\ninstall -m 755 source program\n")
    executable(here / "python" / "bin" / "gh", GH)
    return here


def environment(place: Path, **also: str) -> dict[str, str]:
    left = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    # pip reads NO_BUILD_ISOLATION the other way round: 0 is --no-build-isolation.
    pip = {"PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0", "PIP_NO_INDEX": "1", "SKBUILD_WHEEL_CMAKE": "false"}
    found = {"CORESCALE_NATIVE": str(ROOT / "build" / "release"), "SKBUILD_BUILD_DIR": str(place / "built"),
             "COMMENTS": str(place / "comments.json"),
             "PATH": f"{place / 'python' / 'bin'}:{os.environ['PATH']}"}  # fmt: skip
    return left | AS | pip | found | also


def value(words: str, known: Mapping[str, Any]) -> Any:
    """A value in GitHub's language of expressions, as far as these files use it: names, texts, ==, && and ||."""
    for between in ("||", "&&", "=="):
        if between in words:
            first, last = (value(one, known) for one in words.split(between, maxsplit=1))
            return first == last if between == "==" else (first and last) if between == "&&" else (first or last)
    words = words.strip()
    if words.startswith("'"):
        return words.strip("'")
    found: Any = known
    for name in words.split("."):
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def filled(text: str, known: Mapping[str, Any]) -> str:
    return re.sub(r"\$\{\{(.*?)\}\}", lambda found: str(value(found[1], known) or ""), text)


def run(script: str, where: Path, own: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """As a runner runs `shell: bash`."""
    file = where.parent / "step.sh"
    file.write_text(script)
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(file)]
    return subprocess.run(command, cwd=where, env=own, capture_output=True, text=True, timeout=240, check=False)


def workflow(place: Path, where: Path, event: Mapping[str, Any]) -> list[int | str]:
    """Every step in its order, and how it ended: an exit code, or what it would upload."""
    (job,) = WORKFLOW["jobs"].values()
    checkout, action = job["steps"]
    assert checkout["uses"].startswith("actions/checkout@") and "with" not in checkout  # one commit deep, then
    git(place, "clone", "-q", "--depth", "1", f"file://{place / 'origin'}", str(where))
    assert {*action["with"]} <= {*ACTION["inputs"]}
    known: dict[str, Any] = {"github": {"event": event, "token": "secret"}, "always()": True}
    known["inputs"] = {name: filled(str(one.get("default", "")), known) for name, one in ACTION["inputs"].items()}
    known["inputs"] |= action["with"] | {"options": f"{action['with']['options']} {BLOCKS}"}
    own = environment(place, GITHUB_ACTION_PATH=str(ROOT), GITHUB_REPOSITORY="stranger/program",
                      GITHUB_STEP_SUMMARY=str(where.parent / "summary.md"))  # fmt: skip
    ends: list[int | str] = []
    for step in ACTION["runs"]["steps"]:
        failed = any(isinstance(end, int) and end for end in ends)
        if not value(step.get("if", "'success'"), known) or (failed and "always()" not in step.get("if", "")):
            continue
        if "uses" in step:
            assert step["uses"].startswith("actions/upload-artifact@")
            ends.append(step["with"]["path"])
            continue
        assert step["shell"] == "bash"
        done = run(step["run"], where, own | {name: filled(text, known) for name, text in step.get("env", {}).items()})
        assert done.returncode in (0, *FAILED), done.stderr
        ends.append(done.returncode)
    return ends


def test_the_workflow_runs_by_its_steps(place: Path, tmp_path: Path) -> None:
    (place / "comments.json").write_text('[{"id": 1, "body": "well done", "to": ""}]')
    base = git(place / "origin", "rev-parse", "HEAD~1")
    event = {"pull_request": {"number": 7, "base": {"sha": base}}}
    assert WORKFLOW["permissions"]["pull-requests"] == "write"
    ends = workflow(place, tmp_path / "head", event)
    installed, compared, *others = ends
    assert installed == 0 and compared in FAILED and others == [0, "corescale/"]  # commented and kept all the same
    made = tmp_path / "head" / "corescale"
    table = (made / "table.md").read_text()
    assert re.search(r"^\| `?head", table, re.MULTILINE) and table in (tmp_path / "summary.md").read_text()
    assert git(tmp_path / "head", "worktree", "list").count("\n") == 0

    done = corescale("report", "--extract", str(made / "report.html"), "--output", str(tmp_path / "out"), cwd=tmp_path)
    (kept,) = made.glob("runs/*/*/records.jsonl")
    assert done.returncode == ExitCode.OK, done.stderr
    assert kept.read_bytes() in [path.read_bytes() for path in tmp_path.glob("out/**/records.jsonl")]

    (made / "table.md").write_text("a later push\n")
    own = environment(place, GITHUB_REPOSITORY="stranger/program", NUMBER="7")
    later = run((ROOT / "scripts" / "comment-table").read_text(), tmp_path / "head", own)
    assert later.returncode == 0, later.stderr
    comments = json.loads((place / "comments.json").read_text())
    assert [one["body"] for one in comments] == ["well done", "<!-- corescale -->\na later push"]
    assert comments[1]["to"] == "repos/stranger/program/issues/7/comments"


def test_outside_of_pull_requests_nothing_is_commented() -> None:
    known = {"github": {"event": {"before": "abc"}}, "always()": True, "inputs": {"comment": "true"}}
    (condition,) = (step["if"] for step in ACTION["runs"]["steps"] if "comment-table" in step.get("run", ""))
    assert not value(condition, known)
    assert filled(ACTION["inputs"]["base"]["default"], known) == "abc"


@pytest.mark.parametrize("event", [{}, {"before": "0" * 40}], ids=["by hand", "first push of a branch"])
def test_without_a_base_the_commit_before_is_compared(event: Mapping[str, Any], place: Path, tmp_path: Path) -> None:
    base = filled(ACTION["inputs"]["base"]["default"], {"github": {"event": event}})
    head = tmp_path / "head"
    git(place, "clone", "-q", "--depth", "1", f"file://{place / 'origin'}", str(head))
    (tmp_path / "bin").mkdir()
    executable(
        tmp_path / "bin" / "corescale", '#!/bin/sh\nfor word; do case $word in cd*) sh -c "$word" ;; esac; done\n'
    )
    own = environment(place, BUILD="make", RUN="cat program", BASE=base, OPTIONS="")
    own["PATH"] = f"{tmp_path / 'bin'}:{own['PATH']}"
    done = run((ROOT / "scripts" / "compare-commits").read_text(), head, own)
    assert done.returncode == 0, done.stderr
    assert re.findall("sleep.*", done.stdout) == ["sleep 0.01", "sleep 0.05"]


@pytest.fixture
def gitlab() -> Iterator[tuple[str, list[tuple[str, str, str]]]]:
    """The address of a server, and what it was sent: path, token and comment."""
    sent: list[tuple[str, str, str]] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            form = urllib.parse.parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            sent.append((self.path, self.headers["PRIVATE-TOKEN"], form["body"][0]))
            self.send_response(201)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/api/v4", sent
        server.shutdown()


def test_the_pipeline_runs_by_its_script(
    place: Path, tmp_path: Path, gitlab: tuple[str, list[tuple[str, str, str]]]
) -> None:
    (job,) = PIPELINE.values()
    assert job["rules"] == [{"if": '$CI_PIPELINE_SOURCE == "merge_request_event"'}]
    head = tmp_path / "head"
    git(place, "clone", "-q", "--depth", "1", f"file://{place / 'origin'}", str(head))
    (head / "compare-commits").write_bytes((ROOT / "scripts" / "compare-commits").read_bytes())
    address, sent = gitlab
    given = {"CI_MERGE_REQUEST_DIFF_BASE_SHA": git(place / "origin", "rev-parse", "HEAD~1"), "TOKEN": "secret",
             "CI_API_V4_URL": address, "CI_PROJECT_ID": "3", "CI_MERGE_REQUEST_IID": "5", "NO_PROXY": "*"}  # fmt: skip
    own = environment(place, **given)
    executable(
        place / "python" / "bin" / "corescale",
        f'#!/bin/sh\nPYTHONPATH={ROOT}/src exec {sys.executable} -m corescale "$@"\n',
    )
    own |= {name: re.sub(r"\$(\w+)", lambda found: own[found[1]], text) for name, text in job["variables"].items()}
    own["OPTIONS"] += f" {BLOCKS}"
    done = run("\n".join(job["script"]), head, own)
    assert done.returncode in FAILED, done.stderr
    after = run("\n".join(job["after_script"]), head, own)
    assert after.returncode == 0, after.stderr
    assert sent == [
        ("/api/v4/projects/3/merge_requests/5/notes", "secret", (head / "corescale" / "table.md").read_text())
    ]
    assert job["artifacts"]["when"] == "always" and (head / job["artifacts"]["paths"][0] / "report.html").is_file()
    assert re.search("<failure|<skipped", (head / job["artifacts"]["reports"]["junit"]).read_text())
