"""A GitHub for tests: one repository with one pull request, over real HTTP on this machine, with the real rules.

A review with one comment outside of the diff is refused as a whole; a comment's place moves, or is lost, when commits
are pushed; a token can do what it was made for and no more; lists come in pages; too many requests are refused. Each
request and each answer must be what GitHub's published description says, where that is there (github_api.py).
"""

from __future__ import annotations

import difflib
import hashlib
import itertools
import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import github_api
from graphql import GraphQLError, graphql_sync

BOT = "github-actions[bot]"
REPO = "orchard/farm"
Files = dict[str, str]
_MUTATIONS: Mapping[str, tuple[str, Any]] = {
    "resolveReviewThread": ("resolve", True),
    "unresolveReviewThread": ("resolve", False),
    "minimizeComment": ("minimizedComment", ""),
    "unminimizeComment": ("unminimizedComment", ""),
}


@dataclass
class Token:
    """Who a token is, and what it may write."""

    login: str = BOT
    writes: frozenset[str] = frozenset(("pull_requests", "contents"))


@dataclass
class Comment:
    id: int
    login: str
    body: str
    hidden: str = ""


@dataclass
class Thread:
    """A review thread. `line` is where it stands at the head, None once its lines are gone."""

    id: int
    path: str
    start: int
    line: int | None
    comments: list[Comment]
    resolved_by: str = ""


@dataclass
class Fault:
    """An answer to give instead of the right one, to the next request that fits; `done`: after carrying it out."""

    fits: Callable[[str, str], bool]
    status: int
    headers: dict[str, str] = field(default_factory=dict)
    message: str = "fault"
    done: bool = False


class RefusedError(Exception):
    def __init__(self, status: int, message: str, errors: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.status, self.message, self.errors = status, message, errors


class FakeGitHub:
    """The state, and the actions of people. `page` is the most items that a page has here."""

    def __init__(self, base: Files, head: Files, page: int = 100) -> None:
        self.base, self.head = dict(base), dict(head)
        self.number, self.state, self.page = 7, "open", page
        self.fork = False
        self.tokens = {"bot-token": Token()}
        self.threads: list[Thread] = []
        self.comments: list[Comment] = []
        self.reviews: list[dict[str, Any]] = []
        self.faults: list[Fault] = []
        self.log: list[tuple[str, str, Any]] = []
        self._ids = itertools.count(3_000_000_000)  # more than fits into 32 bits, as the real ones
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> FakeGitHub:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def sha(self) -> str:
        return hashlib.sha1(json.dumps(self.head, sort_keys=True).encode()).hexdigest()

    # What people do

    def push(self, files: Files, base: Files | None = None) -> None:
        """New files at the head (and below it, after a rebase): threads move with their lines, or lose them."""
        before, self.head = self.head, dict(files)
        self.base = dict(base) if base is not None else self.base
        for thread in self.threads:
            if thread.line is None:
                continue
            moved = _moved(before.get(thread.path, ""), files.get(thread.path, ""), thread.start, thread.line)
            shown = moved and any(moved[0] in hunk and moved[1] in hunk for hunk in self._shown(thread.path))
            thread.start, thread.line = moved if moved and shown else (thread.start, None)

    def reply(self, thread: Thread, login: str, body: str) -> None:
        thread.comments.append(Comment(next(self._ids), login, body))

    def say(self, login: str, body: str) -> Comment:
        self.comments.append(Comment(next(self._ids), login, body))
        return self.comments[-1]

    def accept(self, thread: Thread) -> Files:
        """Commit a suggestion, as the button does; returns the files then."""
        found = re.search(r"^(`{3,})suggestion\n(.*?)^\1$", thread.comments[0].body, re.MULTILINE | re.DOTALL)
        assert found is not None and thread.line is not None, thread
        lines = self.head[thread.path].splitlines(keepends=True)
        lines[thread.start - 1 : thread.line] = found[2].splitlines(keepends=True)
        self.push({**self.head, thread.path: "".join(lines)})
        return self.head

    def open_threads(self) -> list[Thread]:
        return [one for one in self.threads if not one.resolved_by and not one.comments[0].hidden]

    def writes(self) -> list[tuple[str, str, Any]]:
        """The requests that wanted to change something."""
        return [
            (method, path, body)
            for method, path, body in self.log
            if method != "GET" and not (path == "/graphql" and "mutation" not in body["query"])
        ]

    # The diff

    def _patch(self, path: str) -> str:
        before, after = self.base.get(path, ""), self.head.get(path, "")
        lines = difflib.unified_diff(before.splitlines(), after.splitlines(), n=3, lineterm="")
        return "\n".join(list(lines)[2:])

    def _changed(self) -> list[str]:
        return [p for p in sorted({*self.base, *self.head}) if self.base.get(p) != self.head.get(p)]

    def _shown(self, path: str) -> list[range]:
        """The right side's lines that the diff shows, hunk by hunk."""
        found = re.findall(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@", self._patch(path), re.MULTILINE)
        return [range(int(start), int(start) + int(count or 1)) for start, count in found]

    # REST

    def rest(self, method: str, path: str, query: Mapping[str, str], body: Any, token: Token) -> tuple[int, Any]:
        """(status, answer); a list is the whole of it, before it is cut into pages."""
        inner = path.removeprefix(f"/repos/{REPO}/")
        if inner == path:
            raise RefusedError(404, "Not Found")
        match method, inner.split("/"):
            case "GET", ["commits", sha, "pulls"]:
                if sha != self.sha and len(sha) == 40:
                    raise RefusedError(422, f"No commit found for SHA: {sha}")
                return 200, [] if self.fork else [self._pull()]
            case "GET", ["pulls"]:
                return 200, [self._pull()] if query.get("state", "open") == self.state else []
            case "GET", ["pulls", number]:
                self._must(number == str(self.number))
                return 200, self._pull()
            case "GET", ["pulls", number, "files"]:
                self._must(number == str(self.number))
                return 200, [self._file(one) for one in self._changed()]
            case "POST", ["pulls", number, "reviews"]:
                self._must(number == str(self.number))
                self._may(token, "pull_requests")
                return 200, self._review(body, token)
            case "PATCH", ["pulls", "comments", number]:
                self._may(token, "pull_requests")
                comment = self._own(number, [one.comments[0] for one in self.threads], token)
                comment.body = self._body(body)
                thread = next(one for one in self.threads if one.comments[0] is comment)
                return 200, self._review_comment(thread, comment)
            case "POST", ["issues", number, "comments"]:
                self._must(number == str(self.number))
                self._may(token, "pull_requests")
                return 201, _comment(self.say(token.login, self._body(body)))
            case "PATCH", ["issues", "comments", number]:
                self._may(token, "pull_requests")
                comment = self._own(number, self.comments, token)
                comment.body = self._body(body)
                return 200, _comment(comment)
        raise RefusedError(404, "Not Found")

    def _must(self, there: bool) -> None:
        if not there:
            raise RefusedError(404, "Not Found")

    def _may(self, token: Token, what: str) -> None:
        if what not in token.writes:
            raise RefusedError(403, "Resource not accessible by integration")

    def _body(self, body: Any) -> str:
        text = body["body"]
        if not text.strip() or len(text) > 65_536:
            raise RefusedError(422, "Validation Failed", ("body is too long or blank",))
        return str(text)

    def _own(self, number: str, comments: list[Comment], token: Token) -> Comment:
        found = next((one for one in comments if str(one.id) == number), None)
        if found is None:
            raise RefusedError(404, "Not Found")
        if found.login != token.login:
            raise RefusedError(403, "Must have admin rights to Repository.")
        return found

    def _review(self, body: Any, token: Token) -> Any:
        if body.get("event") == "COMMENT" and not body.get("body"):
            raise RefusedError(422, "Unprocessable Entity", ("body is required",))
        if body.get("commit_id", self.sha) != self.sha:
            raise RefusedError(422, "Unprocessable Entity", ("commit_id is not part of the pull request",))
        made = []
        for one in body.get("comments", ()):
            line, start = one.get("line"), one.get("start_line", one.get("line"))
            hunks = self._shown(one["path"]) if one["path"] in self._changed() else []
            if one.get("side", "RIGHT") != "RIGHT" or not any(line in hunk for hunk in hunks):
                raise RefusedError(
                    422, "Unprocessable Entity", ("Pull request review thread line must be part of the diff",)
                )
            if not any(start in hunk and line in hunk for hunk in hunks):
                raise RefusedError(
                    422, "Unprocessable Entity", ("start_line must be part of the same hunk as the line.",)
                )
            if start > line or ("start_line" in one and start == line):
                raise RefusedError(422, "Unprocessable Entity", ("start_line must precede the end line.",))
            comment = Comment(next(self._ids), token.login, self._body(one))
            made.append(Thread(next(self._ids), one["path"], start, line, [comment]))
        self.threads += made
        review = {"id": next(self._ids), "body": body["body"], "state": "COMMENTED", "commit_id": self.sha}
        self.reviews.append(review)
        return review

    def _pull(self) -> Any:
        repo = {"full_name": REPO, "name": "farm"}
        return {
            "number": self.number,
            "state": self.state,
            "head": {"sha": self.sha, "ref": "topic", "label": "x:topic", "repo": dict(repo), "user": _user("ada")},
            "base": {"sha": "b" * 40, "ref": "main", "label": "x:main", "repo": dict(repo), "user": _user("ada")},
        }

    def _file(self, path: str) -> Any:
        status = "added" if path not in self.base else "removed" if path not in self.head else "modified"
        return {"filename": path, "status": status, "sha": "c" * 40, "patch": self._patch(path)}

    def _review_comment(self, thread: Thread, comment: Comment) -> Any:
        return {"id": comment.id, "path": thread.path, "body": comment.body, "user": _user(comment.login)}

    # GraphQL

    def graphql(self, body: Any, token: Token) -> Any:
        result = graphql_sync(
            github_api.graphql_schema(),
            body["query"],
            root_value={
                "viewer": {"__typename": "User", "login": token.login},
                "repository": lambda _, owner, name, **__: self._repository(f"{owner}/{name}"),
                **{name: self._mutation(token, *what) for name, what in _MUTATIONS.items()},
            },
            variable_values=body.get("variables"),
        )
        errors = [{"message": e.message, **(e.extensions or {})} for e in result.errors or ()]
        return {"data": result.data, **({"errors": errors} if errors else {})}

    def _mutation(self, token: Token, what: str, value: Any) -> Callable[..., Any]:
        def run(_: Any, **arguments: Any) -> Any:
            given = arguments["input"]
            if what == "resolve":
                return self._resolve(given["threadId"], token, token.login if value else "")
            return self._minimize(what, given["subjectId"], token, given.get("classifier", value))

        return run

    def _repository(self, name: str) -> Any:
        if name != REPO:
            raise GraphQLError("Could not resolve to a Repository", extensions={"type": "NOT_FOUND"})
        return {"pullRequest": lambda _, number: self._pull_request() if number == self.number else None}

    def _pull_request(self) -> Any:
        return {
            "reviewThreads": lambda _, **args: self._connection([self._thread_node(t) for t in self.threads], **args),
            "comments": lambda _, **args: self._connection(
                [_comment_node(c, "IssueComment") for c in self.comments], **args
            ),
        }

    def _connection(self, nodes: list[Any], first: int = 30, after: str | None = None, **_: Any) -> Any:
        start = int(after or 0)
        end = start + min(first, self.page)
        return {
            "totalCount": len(nodes),
            "pageInfo": {"hasNextPage": end < len(nodes), "endCursor": str(end)},
            "nodes": nodes[start:end],
        }

    def _thread_node(self, thread: Thread) -> Any:
        by = thread.resolved_by
        nodes = [_comment_node(c, "PullRequestReviewComment") for c in thread.comments]
        return {
            "id": f"T{thread.id}",
            "isResolved": bool(by),
            "isOutdated": thread.line is None,
            "path": thread.path,
            "line": thread.line,
            "startLine": thread.start if thread.line and thread.start != thread.line else None,
            "resolvedBy": None if by == BOT or not by else {"login": by},
            "comments": lambda _, **args: self._connection(nodes, **args),
        }

    def _resolve(self, id_: str, token: Token, by: str) -> Any:
        if "contents" not in token.writes:  # strange, and so
            raise GraphQLError("Resource not accessible by integration", extensions={"type": "FORBIDDEN"})
        thread = next(one for one in self.threads if f"T{one.id}" == id_)
        thread.resolved_by = by
        return {"thread": self._thread_node(thread)}

    def _minimize(self, name: str, id_: str, token: Token, why: str) -> Any:
        if "pull_requests" not in token.writes:
            raise GraphQLError("Resource not accessible by integration", extensions={"type": "FORBIDDEN"})
        inline = [(one, "PullRequestReviewComment") for thread in self.threads for one in thread.comments]
        comment, kind = next(
            (c, k) for c, k in (*inline, *((c, "IssueComment") for c in self.comments)) if f"C{c.id}" == id_
        )
        comment.hidden = why.lower()
        return {name: _comment_node(comment, kind)}


def _comment_node(comment: Comment, kind: str) -> Any:
    login = comment.login
    author = {"__typename": "Bot" if login.endswith("[bot]") else "User", "login": login.removesuffix("[bot]")}
    return {
        "__typename": kind,
        "id": f"C{comment.id}",
        "fullDatabaseId": str(comment.id),
        "body": comment.body,
        "isMinimized": bool(comment.hidden),
        "minimizedReason": comment.hidden or None,
        "author": author,
    }


def _comment(comment: Comment) -> Any:
    return {"id": comment.id, "body": comment.body, "user": _user(comment.login)}


def _user(login: str) -> Any:
    return {"login": login, "type": "Bot" if login.endswith("[bot]") else "User"}


def _moved(before: str, after: str, start: int, line: int) -> tuple[int, int] | None:
    """Where lines are after a change, if they are whole still."""
    blocks = difflib.SequenceMatcher(None, before.splitlines(), after.splitlines(), autojunk=False)
    for i, j, size in blocks.get_matching_blocks():
        if i < start and line <= i + size:
            return start - i + j, line - i + j
    return None


def _handler(fake: FakeGitHub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            self._answer()

        do_POST = do_PATCH = do_DELETE = do_GET

        def _answer(self) -> None:
            split = urlsplit(self.path)
            length = int(self.headers.get("content-length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            fake.log.append((self.command, split.path, body))
            fault = next((one for one in fake.faults if one.fits(self.command, split.path)), None)
            if fault is not None:
                fake.faults.remove(fault)
            try:
                if fault is not None and not fault.done:
                    raise RefusedError(fault.status, fault.message)
                status, value, headers = self._value(split.path, dict(parse_qsl(split.query)), body)
                if fault is not None:
                    raise RefusedError(fault.status, fault.message)
            except RefusedError as refused:
                status, headers = refused.status, fault.headers if fault else {}
                value = {"message": refused.message, "errors": list(refused.errors)}
            data = json.dumps(value).encode()
            self.send_response(status)
            for name, text in headers.items():
                self.send_header(name, text)
            self.send_header("content-type", "application/json; charset=utf-8")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def _value(self, path: str, query: dict[str, str], body: Any) -> tuple[int, Any, dict[str, str]]:
            token = fake.tokens.get(self.headers.get("authorization", "").removeprefix("Bearer "))
            if token is None:
                raise RefusedError(401, "Bad credentials")
            if path == "/graphql":
                return 200, fake.graphql(body, token), {}
            described = github_api.openapi()
            faults = described.faults(self.command, path, query, body) if described else []
            if faults:
                raise RefusedError(400, "not as described", tuple(faults))
            status, value = fake.rest(self.command, path, query, body, token)
            value, headers = self._page(path, query, value) if isinstance(value, list) else (value, {})
            return status, described.answer(self.command, path, status, value) if described else value, headers

        def _page(self, path: str, query: dict[str, str], items: list[Any]) -> tuple[list[Any], dict[str, str]]:
            size = min(int(query.get("per_page", 30)), 100, fake.page)
            number = int(query.get("page", 1))
            links = []
            if number * size < len(items):
                following = urlencode({**query, "page": number + 1})
                links.append(f'<{fake.url}{path}?{following}>; rel="next"')
            return items[(number - 1) * size : number * size], {"link": ", ".join(links)} if links else {}

    return Handler


def serve(base: Files, head: Files, page: int = 100) -> Iterator[FakeGitHub]:
    with FakeGitHub(base, head, page) as fake:
        yield fake
