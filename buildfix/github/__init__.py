"""The bot that comments on pull requests: from a findings artefact to a conversation (docs/pr-bot.md).

The artefact comes from a run that evaluated code of strangers. Nothing in it is believed: artefact.py demands its
shape, render.py lets none of it become Markdown, and whatever GitHub can say itself is asked from GitHub.
"""
