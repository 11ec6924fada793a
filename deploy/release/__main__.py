"""Make a release of the commit that is checked out: `make release`."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from deploy.release.audit import audit
from deploy.release.bill import Bill, bill_of_materials
from deploy.release.builds import Commit, build, build_chart, the_same
from deploy.release.checks import check_distributions, check_versions
from deploy.release.errors import ReleaseError
from deploy.release.provenance import checksums, statement

ROOT = Path(__file__).parents[2]

app = typer.Typer(add_completion=False, pretty_exceptions_show_locals=False)


@app.command()
def main(
    tools: Annotated[Path, typer.Option(help="Folder with twine, check-wheel-contents, cyclonedx-py and pip-audit.")],
    uv: Annotated[Path, typer.Option(help="The program uv, which makes the environment that the SBOM describes.")],
    target: Annotated[Path, typer.Option(help="Folder for the release. It must not have any files.")] = ROOT / "dist",
) -> None:
    """Build distributions and chart twice, check them, and write SBOM, licences, audit and provenance."""
    try:
        release(tools.resolve(), uv.resolve(), target.resolve())
    except ReleaseError as error:
        typer.echo(f"release: {error}", err=True)
        raise typer.Exit(1) from error
    except subprocess.CalledProcessError as error:
        typer.echo(f"release: {error}\n{error.stdout or ''}{error.stderr or ''}", err=True)
        raise typer.Exit(1) from error


def release(tools: Path, uv: Path, target: Path) -> None:
    """Write everything into `target`.

    Raises:
        ReleaseError: something is not fit for a release.
        CalledProcessError: a tool has failed.
    """
    if target.exists() and any(target.iterdir()):
        raise ReleaseError(f"{target} has files. Move or remove them first.")
    commit = Commit.checked_out(ROOT)
    version = check_versions(ROOT)
    with tempfile.TemporaryDirectory() as directory:
        scratch = Path(directory)
        _say(f"building {version} from {commit.id[:12]} twice")
        builds = [build(commit, scratch / name, umask) for name, umask in (("first", 0o022), ("second", 0o077))]
        for one in builds:
            build_chart(commit, one.checkout, version, one.files)
        the_same(builds[0].files, builds[1].files)
        files = builds[0].files
        check_distributions(tools, files)
        _say("installing the wheels, to list what comes with them")
        bill = bill_of_materials(tools, uv, builds[0], version, scratch / "environment", commit)
        audited = audit(tools, scratch / "environment")
        _write(target, files, bill, audited.to_json())
        (target / "provenance.intoto.json").write_text(statement(commit, target, ROOT))
        (target / "SHA256SUMS").write_text(checksums(target))
    _say(audited.sentence)
    for file in sorted(target.iterdir()):
        _say(f"made {file.name}")


def _write(target: Path, files: Path, bill: Bill, audited: str) -> None:
    target.mkdir(parents=True, exist_ok=True)
    for file in sorted(files.iterdir()):
        (target / file.name).write_bytes(file.read_bytes())
    (target / "sbom.cdx.json").write_text(bill.document)
    (target / "LICENCES.md").write_text(bill.licences)
    (target / "audit.json").write_text(audited)


def _say(words: str) -> None:
    sys.stderr.write(f"release: {words}\n")


if __name__ == "__main__":
    app()
