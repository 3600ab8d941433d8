"""Print what buildfix needs to run, each at the lowest release that pyproject.toml allows."""

from __future__ import annotations

import tomllib
from pathlib import Path

if __name__ == "__main__":
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text("utf-8"))["project"]
    for requirement in (*project["dependencies"], *project["optional-dependencies"]["github"]):
        print(requirement.replace(">=", "=="))
