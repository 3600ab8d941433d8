"""GitHub over HTTP: retries that wait as long as they are told to, pages, and a dry run.

What may be sent twice is sent again after a fault of the server; what may not be (a new comment) raises
`UncertainError`, and the caller looks what has become of it.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpx

from buildfix.errors import IncompleteError

MAX_TRIES = 6
MAX_WAIT = 900.0
"""Seconds to wait in one run, all waits together."""
MAX_PAGES = 50
_PAUSE = 1.0
"""Seconds between two requests that write, as GitHub asks for."""


class GitHubError(IncompleteError):
    """A request that GitHub did not answer as it must; the message says which, and what came back."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class UncertainError(GitHubError):
    """A request that may have been carried out, or not."""


@dataclass(slots=True)
class Client:
    """One repository's API. `dry` is called with what would be sent, where nothing is to be written."""

    token: str
    repo: str
    api: str = "https://api.github.com"
    graphql: str = "https://api.github.com/graphql"
    dry: Callable[[str], None] | None = None
    sleep: Callable[[float], None] = time.sleep
    now: Callable[[], float] = time.time
    _http: httpx.Client = field(init=False)
    _waited: float = field(init=False, default=0.0)
    _wrote: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        # Redirects are not followed: the token goes to nobody else.
        self._http = httpx.Client(
            timeout=30,
            headers={
                "Authorization": f"Bearer {self.token}",
                "Accept": "application/vnd.github+json",
                "X-GitHub-Api-Version": "2022-11-28",
                "User-Agent": "buildfix",
            },
        )

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def get(self, path: str, **params: str | int) -> Any:
        """The answer to one GET below the repository."""
        return self._send("GET", self._url(path), params=params).json()

    def pages(self, path: str, **params: str | int) -> Iterator[Any]:
        """The items of a list, page by page as the Link headers say."""
        answer = self._send("GET", self._url(path), params={"per_page": 100, **params})
        for _ in range(MAX_PAGES):
            yield from answer.json()
            following = answer.links.get("next", {}).get("url", "")
            if not following:
                return
            if urlsplit(following)[:2] != urlsplit(self.api)[:2]:
                raise GitHubError(f"GET {path}: the next page is at another server")
            answer = self._send("GET", following)

    def write(self, method: str, path: str, body: Mapping[str, Any]) -> Any:
        """A request that changes something; PATCH may be sent twice, POST may not."""
        if self.dry:
            self.dry(json.dumps({"method": method, "path": self._url(path).removeprefix(self.api), "body": body}))
            return {}
        self._between_writes()
        return self._send(method, self._url(path), body=body, twice=method != "POST").json()

    def query(self, document: str, variables: Mapping[str, Any]) -> Any:
        """The data of a GraphQL query."""
        return self._graphql(document, variables)

    def mutate(self, document: str, variables: Mapping[str, Any]) -> None:
        """A GraphQL mutation that may be sent twice."""
        if self.dry:
            self.dry(json.dumps({"graphql": " ".join(document.split()), "variables": variables}))
            return
        self._between_writes()
        self._graphql(document, variables)

    def _graphql(self, document: str, variables: Mapping[str, Any]) -> Any:
        for attempt in range(MAX_TRIES):
            body = {"query": document, "variables": variables}
            answer = self._send("POST", self.graphql, body=body).json()
            errors = answer.get("errors") or []
            if not errors:
                return answer["data"]
            kinds = {error.get("type") for error in errors}
            if "RATE_LIMITED" not in kinds:
                status = 403 if "FORBIDDEN" in kinds else 404 if "NOT_FOUND" in kinds else 0
                raise GitHubError(f"GraphQL: {_short(errors[0].get('message'))}", status)
            self._wait(60.0 * 2**attempt, "GraphQL")
        raise GitHubError("GraphQL: still over the rate limit")

    def _url(self, path: str) -> str:
        return f"{self.api}/repos/{self.repo}/{path}"

    def _between_writes(self) -> None:
        if self._wrote:
            self.sleep(_PAUSE)
        self._wrote = True

    def _send(
        self,
        method: str,
        url: str,
        *,
        params: Mapping[str, str | int] | None = None,
        body: Mapping[str, Any] | None = None,
        twice: bool = True,
    ) -> httpx.Response:
        what = f"{method} {urlsplit(url).path}"
        for attempt in range(MAX_TRIES):
            patience = 2.0**attempt + random.random()
            try:
                answer = self._http.request(method, url, params=params or None, json=body)
            except httpx.TransportError as error:
                if not twice and not isinstance(error, httpx.ConnectError):
                    raise UncertainError(f"{what}: {error!r}") from error
                self._wait(patience, what)
                continue
            if answer.is_success:
                return answer
            limited = _limited(answer, attempt, self.now())
            if limited is not None:
                self._wait(limited, what)
            elif answer.status_code >= 500:
                if not twice:
                    raise UncertainError(f"{what}: status {answer.status_code}", answer.status_code)
                self._wait(patience, what)
            else:
                raise GitHubError(f"{what}: status {answer.status_code}: {_message(answer)}", answer.status_code)
        raise GitHubError(f"{what}: no answer after {MAX_TRIES} tries")

    def _wait(self, seconds: float, what: str) -> None:
        self._waited += seconds
        if self._waited > MAX_WAIT:
            raise GitHubError(f"{what}: GitHub asks to wait longer than a run may take ({MAX_WAIT:.0f} seconds)")
        self.sleep(seconds)


def _limited(answer: httpx.Response, attempt: int, now: float) -> float | None:
    """How long to wait, if the answer says that there were too many requests."""
    if answer.status_code not in {403, 429}:
        return None
    after = answer.headers.get("retry-after", "")
    if after.isdecimal():
        return float(int(after))
    if answer.headers.get("x-ratelimit-remaining") == "0":
        reset = answer.headers.get("x-ratelimit-reset", "")
        return max(1.0, float(reset) - now + 1) if reset.isdecimal() else 60.0
    if answer.status_code == 429 or "rate limit" in _message(answer).lower():
        return 60.0 * 2.0**attempt
    return None


def _message(answer: httpx.Response) -> str:
    try:
        value = answer.json()
    except ValueError:
        return _short(answer.text)
    if not isinstance(value, dict):
        return _short(value)
    return _short("; ".join(str(part) for part in (value.get("message"), *(value.get("errors") or ())) if part))


def _short(text: object) -> str:
    return " ".join(str(text).split())[:300]
