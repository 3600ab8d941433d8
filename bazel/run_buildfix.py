"""The program of a buildfix_test: check the repository that a file of the runfiles leads to."""

import os
import sys

from buildfix.__main__ import main

if __name__ == "__main__":
    root = os.path.dirname(os.path.realpath(sys.argv[1]))
    split = sys.argv.index("--")
    paths = [os.path.join(root, path) for path in sys.argv[split + 1 :]]
    sys.argv = ["buildfix", "--root", root, *sys.argv[2:split], *paths]
    main()
