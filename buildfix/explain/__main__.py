"""`python -m buildfix.explain` prints docs/findings.md."""

from __future__ import annotations

import sys

from buildfix.explain import document

if __name__ == "__main__":
    sys.stdout.write(document())
