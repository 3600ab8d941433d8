"""Build everything that is released: the sdist, a wheel for each platform, an SBOM.

usage: dist.py FOLDER [OS/ARCH ...]

The engine is pure Go, so that one machine compiles it for all platforms. The same commit gives the same bytes: archives
carry the time of the commit ($SOURCE_DATE_EPOCH overrules it), the engine no path and no build id of its own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

PLATFORMS = ("linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64")


def main(arguments: list[str]) -> int:
    if not arguments:
        print(__doc__, file=sys.stderr)
        return 2
    folder = Path(arguments[0]).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    environment = os.environ | {"SOURCE_DATE_EPOCH": os.environ.get("SOURCE_DATE_EPOCH") or _time_of_commit()}
    build(["--sdist"], folder, environment)
    for platform in arguments[1:] or PLATFORMS:
        goos, goarch = platform.split("/")
        build(["--wheel"], folder, environment | {"GOOS": goos, "GOARCH": goarch})
    files = sorted(folder.iterdir())
    subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *files], check=True)
    for wheel in (file for file in files if file.suffix == ".whl"):
        check(wheel)
    sbom(folder, environment["SOURCE_DATE_EPOCH"])
    for file in sorted(folder.iterdir()):
        print(f"{file.stat().st_size / 1e6:6.2f} MB  {file.name}")
    return 0


def build(what: list[str], folder: Path, environment: dict[str, str]) -> None:
    command = [sys.executable, "-m", "build", "--no-isolation", *what, "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)


def check(wheel: Path) -> None:
    """What a wheel must hold: one engine, for the platform that its tag names, and, if it can be asked, auditwheel's
    word that it needs nothing of the system."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (engine,) = [name for name in names if name.startswith("buildfix/_engine/")]
        head = archive.read(engine)[:4]
    expected = {"manylinux": b"\x7fELF", "macosx": b"\xcf\xfa\xed\xfe", "win": b"MZ"}
    tag = next(tag for tag in expected if f"-{tag}" in wheel.name)
    if not head.startswith(expected[tag]):
        sys.exit(f"error: {wheel.name}: {engine} is no program for that platform")
    if tag == "manylinux" and shutil.which("auditwheel"):
        said = subprocess.run(["auditwheel", "show", str(wheel)], capture_output=True, text=True, check=True).stdout
        if "manylinux" not in said:
            sys.exit(f"error: auditwheel says of {wheel.name}:\n{said}")


def sbom(folder: Path, seconds: str) -> None:
    """A CycloneDX list of what the wheels carry or ask for."""
    from cyclonedx.model.bom import Bom
    from cyclonedx.model.component import Component, ComponentType
    from cyclonedx.output.json import JsonV1Dot6
    from packageurl import PackageURL

    import hatch_build
    from buildfix import __version__

    bom = Bom(serial_number=uuid5(NAMESPACE_URL, f"buildfix {__version__}"))
    bom.metadata.timestamp = datetime.fromtimestamp(int(seconds), UTC)
    purl = PackageURL("pypi", None, "buildfix", __version__)
    own = Component(name="buildfix", version=__version__, type=ComponentType.APPLICATION, purl=purl, bom_ref=str(purl))
    bom.metadata.component = own
    carried = []
    go = hatch_build.go_on_path() or hatch_build.go_from_pypi() or "go"
    listed = subprocess.run(
        [go, "list", "-deps", "-f", "{{with .Module}}{{.Path}} {{.Version}}{{end}}", "."],
        cwd=hatch_build.ENGINE,
        env=hatch_build.go_environment(),
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for line in sorted(set(listed.split("\n"))):
        path, _, version = line.partition(" ")
        if version:
            carried.append(PackageURL("golang", path.rpartition("/")[0] or None, path.rpartition("/")[2], version))
    carried += [PackageURL("npm", None, *package.split("@")) for package, _, _ in hatch_build.LIBRARIES]
    for purl in carried:
        bom.components.add(
            Component(name=purl.name, version=purl.version, type=ComponentType.LIBRARY, purl=purl, bom_ref=str(purl))
        )
    for name in ("click", "msgspec", "pyyaml", "rich"):
        asked = PackageURL("pypi", None, name)
        bom.components.add(Component(name=name, type=ComponentType.LIBRARY, purl=asked, bom_ref=str(asked)))
    bom.register_dependency(own, bom.components)
    (folder / f"buildfix-{__version__}.cdx.json").write_text(JsonV1Dot6(bom).output_as_string(indent=2) + "\n", "utf-8")


def _time_of_commit() -> str:
    done = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "315532800"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
