"""Errors that can be foreseen. The message is for people: what happened, where, and what to do about it."""

from __future__ import annotations


class Error(Exception):
    """Why there is no result. `exit_status` is that of a command that ends with it."""

    exit_status = 3


class UsageError(Error):
    """What was asked for, or the configuration, is wrong."""

    exit_status = 2


class IncompleteError(Error):
    """Something that the answer needs failed: the engine, a file that could not be written, a server."""
