"""`python -m buildfix`."""

from buildfix.cli import main

if __name__ == "__main__":
    main(prog_name="buildfix")
