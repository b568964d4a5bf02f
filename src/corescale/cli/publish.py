# SPDX-License-Identifier: Apache-2.0
"""`corescale study publish`: writes a run of a study as a folder that others can read, check and repeat."""

from pathlib import Path
from typing import Annotated

import typer

from corescale.api.results import machine_name
from corescale.cli.claims import must_be_a_name, of_study, shipped_as, verdicts
from corescale.cli.output import outputs
from corescale.declare import claims, paths
from corescale.errors import UsageError
from corescale.observe import store
from corescale.show import files, text
from corescale.show.exchange import study_page


def publish(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="a run folder of a study, or an archive of one")],
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="folder to write, new or empty")],
    machine: Annotated[str, typer.Option("--machine", metavar="NAME", help="the name of the run's machine")] = "",
    study: Annotated[
        str, typer.Option("--study", metavar="NAME|FILE", help="show the run as this study declares")
    ] = "",
) -> None:
    """Write a run's records, verdicts, pictures and page into one folder, for others to read and check."""
    must_be_a_name(machine)
    made, found = of_study(run, study)
    if paths.exists(folder) and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError("is there already", where=str(folder), remedy="name a new folder")
    from corescale.show import html  # noqa: PLC0415  the charts' library takes half a second to load

    title = found.experiment.study.title
    name = shipped_as(title)
    called = machine or machine_name(found.environment)
    files.make_folder(folder)
    outputs(found, folder)
    archive = f"{name or 'run'}.tar.xz"
    findings = folder / "findings.md"
    drawn = sorted(picture.name for picture in folder.glob("*.svg"))
    tables = sorted(table.name for table in folder.iterdir() if table.suffix in {".csv", ".md"})
    files.write(str(folder / "verdicts.csv"), claims.text(list(verdicts(made, found, called, name or title))))
    files.write(str(folder / archive), store.archive(made.folder))
    files.write(str(folder / "report.html"), html.report(found))
    stated = findings.read_text(encoding="utf-8") if findings.exists() else ""
    page = study_page.page(found, stated, machine=called, study=name, archive=archive, pictures=drawn, tables=tables)
    files.write(str(folder / "README.md"), page)
    pictures = text.count(len(drawn), "picture")
    typer.echo(f"wrote {folder}: README.md, report.html, verdicts.csv, {archive} and {pictures}")
