# SPDX-License-Identifier: Apache-2.0
"""The verbs in one table; a verb is loaded when it is called."""

import importlib
import shlex
import shutil
from collections.abc import Iterator
from functools import cached_property, partial
from typing import Annotated, Any

import typer

from corescale.errors import UsageError

VERBS = {
    "tune": "Find the fastest way to launch a program: corescale tune --allocators auto -- ./program {threads}",
    "scan": "Measure how a program scales: corescale scan -- ./program {threads}",
    "explain": "Show where every thread-second goes: corescale explain -- ./program {threads}",
    "compare": "Find which command is faster: corescale compare 'xz -T1 -k FILE' 'xz -T2 -k FILE'",
    "doctor": "Show what this machine has (cores, quota, allocators, threading systems, MPI) and how noisy it is now.",
    "study": "Run experiments that files declare: list | check | run | new | publish | claims.",
    "report": "Show a run again, or several by machine, and write report.html: corescale report RUN",
    "history": "Keep one line for each commit, and say where times changed: corescale history performance.jsonl RUN",
    "predict": "Forecast the time on more cores: corescale predict corescale-runs/scan-1234/1 --cores 64",
    "calibrate": "Measure this machine for 5 s, and write the file from which parallel_for chooses blocks.",
}
"""The help of each verb. cli/NAME.py has a function NAME, or for `study` an app."""

OF_A_PROGRAM = ("scan", "tune", "explain")
"""verbs whose words are one program and its arguments"""
OF_COMMANDS = (*OF_A_PROGRAM, "compare", "doctor", "predict")
"""verbs whose words behind `--` are commands"""

NARROW = 80
"""columns below which a table of options would cut their names, so that the help is written without one"""


class Verb(typer.core.TyperCommand):
    """The name and help of a verb, whose options are in the file that its call loads."""

    @cached_property
    def loaded(self) -> Any:
        """The command itself."""
        module = importlib.import_module(f"corescale.cli.{self.name}")
        alone = getattr(module, "app", None)
        if alone is None:
            alone = typer.Typer(add_completion=False)
            alone.command(self.name, help=self.help)(getattr(module, str(self.name)))
        made = typer.main.get_command(alone)
        for command in (made, *getattr(made, "commands", {}).values()):
            command.make_parser = partial(_strict, command.make_parser)
            command.get_params = partial(_without_types, command.get_params)
            if shutil.get_terminal_size().columns < NARROW:
                command.rich_markup_mode = None
            for option in command.params:
                if option.param_type_name == "option" and option.default in ("", []):
                    option.callback = _given
        return made

    def make_context(self, *words: Any, **extra: Any) -> Any:
        """The context of the command itself, with which a line is read and completed."""
        return self.loaded.make_context(*words, **extra)


def _without_types(get_params: Any, context: Any) -> Any:
    """The parameters, with the types of flags removed: recent versions of typer show <bool>, as if a flag took a
    value."""
    every = get_params(context)
    for each in every:
        if getattr(each, "is_flag", False):
            each.metavar = ""
        elif each.param_type_name == "argument":
            each.display_type_rich = lambda ctx: ""
    return every


def _strict(make_parser: Any, context: Any) -> Any:
    """The parser of a verb; raises UsageError for an option given twice, for a word that no option takes, and without
    `--` for an option behind a program, which may be the program's."""
    parser = make_parser(context)
    parse = parser.parse_args

    def parse_args(args: list[str]) -> Any:
        command = args[args.index("--") + 1 :] if "--" in args else []
        values, rest, order = parse(args=list(args))
        if context.info_name in OF_A_PROGRAM and "--" not in args:
            parser.allow_interspersed_args = False
            words = list(parse(args=list(args))[0].get("words") or ())
            behind = next((word for word in words[1:] if word.startswith("-")), "")
            if behind and not any(map(str.isspace, words[0])):
                line = shlex.join([*args[: len(args) - len(words)], "--", *words])
                remedy = f"put -- before the program, and options of corescale before it: corescale {context.info_name}"
                what = f"may be an option of {words[0]} or of corescale"
                raise UsageError(what, where=behind, remedy=f"{remedy} {line}")
        valued = [each for each in order if each.param_type_name == "option" and not (each.is_flag or each.multiple)]
        if twice := next((each for each in valued if valued.count(each) > 1), None):
            raise UsageError("is given twice", where=" ".join(twice.opts), remedy="give it once")
        words = list(values.get("words") or ())
        before = words[: len(words) - len(command)] if command else []
        program = next(iter(" ".join(before).split()), "")
        if context.info_name == "compare" and ("--" in command or shutil.which(program)):
            line = " ".join(map(_quoted, filter(None, [before, *_split(command)])))
            raise UsageError("separates no commands", where="--", remedy=f"quote each: corescale compare {line}")
        flags = {flag for each in context.command.params for flag in each.opts}
        for each, value in ((each, values.get(each.name)) for each in order if before):
            last = value[-1] if isinstance(value, list | tuple) and value else value
            if not getattr(each, "is_flag", False) and last in flags:
                what = f"{last!r} stands where its value should"
                raise UsageError(what, where=each.opts[0], remedy="give it a value")
        if before and context.info_name in OF_COMMANDS:
            remedy = "drop it, quote it with the value of its option, or write it behind --"
            raise UsageError("belongs to no option and no command", where=words[0], remedy=remedy)
        return values, rest, order

    parser.parse_args = parse_args
    return parser


def _split(words: list[str]) -> Iterator[list[str]]:
    """The words between each `--` and the next."""
    while "--" in words:
        yield words[: words.index("--")]
        words = words[words.index("--") + 1 :]
    yield words


def _quoted(words: list[str]) -> str:
    """The words as one command of `compare`."""
    return shlex.quote(words[0] if len(words) == 1 else shlex.join(words))


def _given(context: Any, option: Any, value: Any) -> Any:
    """The value of an option; raises UsageError for a typed one that is empty, such as `-t "$T"` if T is not set."""
    empty = value == "" or (isinstance(value, list | tuple) and "" in value)
    if empty and context.get_parameter_source(option.name).name == "COMMANDLINE":
        raise UsageError("has an empty value", where=" ".join(option.opts), remedy="give one, or leave the option out")
    return value


class Verbs(typer.core.TyperGroup):
    """The verbs of the table, then the other commands of `app`."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        others: dict[str, Any] = dict(self.commands)
        for command in others.values():
            command.get_params = partial(_without_types, command.get_params)
        self.commands = {name: Verb(name, help=said) for name, said in VERBS.items()} | others

    def get_params(self, ctx: Any) -> Any:
        """The parameters of corescale itself."""
        return _without_types(super().get_params, ctx)


app = typer.Typer(
    name="corescale",
    cls=Verbs,
    help="Measure how a program scales over cores, and find the fastest way to launch it.",
    epilog="Start with: corescale scan -- ./program {threads}",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)


@app.command("version")
def version() -> None:
    """Print the version of corescale, its commit and its build."""
    typer.echo(importlib.import_module("corescale.build").described())


def _said(wanted: bool) -> None:
    if wanted:
        version()
        raise typer.Exit


@app.callback(invoke_without_command=True)
def options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", "-V", callback=_said, is_eager=True, help="print version, commit and build")
    ] = False,
) -> None:
    """Measure how a program scales over cores, and find the fastest way to launch it."""
    del version
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
