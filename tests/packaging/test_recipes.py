# SPDX-License-Identifier: Apache-2.0
"""Recipes ask for what pyproject.toml asks for, and those of containers do the same steps."""

import ast
import re
import subprocess
import tomllib

import yaml

import corescale
from support.commands import ROOT

PACKAGING = ROOT / "packaging"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
NEEDED = {re.split("[>=]+", one)[0]: re.split("[>=]+", one)[1] for one in PROJECT["dependencies"]}
PYTHON = PROJECT["requires-python"].removeprefix(">=")


def test_there_is_one_version() -> None:
    recipe = yaml.safe_load((PACKAGING / "conda" / "recipe.yaml").read_text())
    house = re.findall(r"VERSION (\d\S+)", (ROOT / "CMakeLists.txt").read_text())
    assert {corescale.__version__, PROJECT["version"], recipe["context"]["version"], house[-1]} == {PROJECT["version"]}


def test_conda_asks_for_the_same() -> None:
    recipe = yaml.safe_load((PACKAGING / "conda" / "recipe.yaml").read_text())
    asked = dict(one.split(" >=") for one in recipe["requirements"]["run"])
    assert asked.pop("python") == PYTHON
    asked["matplotlib"] = asked.pop("matplotlib-base")  # conda-forge's name for it without a window
    assert asked == NEEDED
    for tested in recipe["tests"]:
        for file in tested.get("files", {}).get("source", ()):
            assert (ROOT / file).is_file()


def test_spack_asks_for_the_same() -> None:
    text = (PACKAGING / "spack" / "spack_repo" / "corescale" / "packages" / "corescale" / "package.py").read_text()
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    specs = [call.args[0].value for call in calls if isinstance(call.func, ast.Name) and call.func.id == "depends_on"
             and isinstance(call.args[0], ast.Constant)]  # fmt: skip
    asked = dict(str(spec).removesuffix(":").partition("@")[::2] for spec in specs)
    assert asked.pop("python") == PYTHON
    built = {name: asked.pop(f"py-{name}") for name in ("scikit-build-core",)}
    assert built["scikit-build-core"] == "0.10"
    assert {name.removeprefix("py-"): least for name, least in asked.items() if name.startswith("py-")} == NEEDED


def test_images_of_docker_and_apptainer_take_the_same_steps() -> None:
    """The stages of both: from which image, and what runs there; and every file that either copies is there."""
    docker, definition = (PACKAGING / "Dockerfile").read_text(), (PACKAGING / "corescale.def").read_text()
    stages = re.split(r"^FROM ", docker, flags=re.MULTILINE)[1:]
    built = [(stage.split()[0], re.findall(r"^RUN (.*)$", stage, re.MULTILINE)) for stage in stages]
    parts = re.split(r"^Bootstrap: docker\n", definition, flags=re.MULTILINE)[1:]
    origins = re.findall(r"^From: (.*)$", definition, re.MULTILINE)
    posts = [re.findall(r"^ +(.*)$", part.split("%post\n")[1].split("\n\n")[0], re.MULTILINE) for part in parts]
    defined = list(zip(origins, posts, strict=True))
    assert built == defined and len(built) == 2
    copied = {
        *re.findall(r"packaging/[\w.]+(?=[ \n])", docker),
        *re.findall(r"^ +(packaging/\S+)", definition, re.MULTILINE),
    }
    assert "packaging/try.py" in copied
    assert not [name for name in copied if not (ROOT / name).is_file()]
    assert "PATH=/opt/corescale/bin:$PATH" in docker and "PATH=/opt/corescale/bin:$PATH" in definition


def test_an_image_installs_what_setup_installs() -> None:
    """But for the compiler, whose libraries are enough, and for what only builds."""
    setup = re.findall(r"run_packages=\((.*?)\)", (ROOT / "scripts" / "setup").read_text(), re.DOTALL)[0].split()
    packages = dict(re.findall(r"(build|run)\) packages='(.*?)'", (PACKAGING / "debian").read_text()))
    assert {*setup} - {*packages["run"].split(), *packages["build"].split()} == {"cmake", "ninja-build"}
    assert {*packages["run"].split()} - {*setup} == {"libgomp1"}


def test_the_check_lists_what_it_does() -> None:
    said = subprocess.run([PACKAGING / "check"], capture_output=True, text=True, check=False)
    parts = re.findall(r"^packaging/check (\w+)", said.stderr.replace("  ", " "), re.MULTILINE)
    cases = re.findall(r"^  (\w+)\)$", (PACKAGING / "check").read_text(), re.MULTILINE)
    assert said.returncode == 2 and cases and {*cases} == {*re.findall(r"packaging/check (\w+)", said.stderr)}, parts
