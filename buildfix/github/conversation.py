"""What of ours is in a pull request, read from GitHub, and carrying out a plan there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from buildfix.github import render
from buildfix.github.client import MAX_PAGES, Client, GitHubError
from buildfix.github.plan import Anchor, NewComment, Plan, State, Summary, Thread

THREADS = """
query Threads($owner: String!, $name: String!, $number: Int!, $after: String) {
  viewer { login }
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      items: reviewThreads(first: 50, after: $after) {
        pageInfo { hasNextPage endCursor }
        nodes {
          id isResolved isOutdated path line startLine
          resolvedBy { login }
          comments(first: 50) {
            totalCount
            nodes { id fullDatabaseId body isMinimized minimizedReason author { login __typename } }
          }
        }
      }
    }
  }
}
"""
COMMENTS = """
query Comments($owner: String!, $name: String!, $number: Int!, $after: String) {
  viewer { login }
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      items: comments(first: 100, after: $after) {
        pageInfo { hasNextPage endCursor }
        nodes { id fullDatabaseId body isMinimized minimizedReason author { login __typename } }
      }
    }
  }
}
"""
RESOLVE = "mutation Resolve($id: ID!) { resolveReviewThread(input: {threadId: $id}) { thread { id } } }"
UNRESOLVE = "mutation Unresolve($id: ID!) { unresolveReviewThread(input: {threadId: $id}) { thread { id } } }"
HIDE = """
mutation Hide($id: ID!) {
  minimizeComment(input: {subjectId: $id, classifier: RESOLVED}) { minimizedComment { isMinimized } }
}
"""
SHOW = """
mutation Show($id: ID!) { unminimizeComment(input: {subjectId: $id}) { unminimizedComment { isMinimized } } }
"""


def read(client: Client, number: int) -> State:
    """Our threads and our summary in a pull request; what others wrote is never taken for ours."""
    threads = tuple(thread for login, node in _nodes(client, THREADS, number) if (thread := _thread(node, login)))
    summaries = [made for login, node in _nodes(client, COMMENTS, number) if (made := _summary(node, login))]
    return State(threads, summaries[0] if summaries else None)


def _nodes(client: Client, document: str, number: int) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """(our login, item) for each item of a list of the pull request."""
    owner, _, name = client.repo.partition("/")
    after: str | None = None
    for _ in range(MAX_PAGES):
        data = client.query(document, {"owner": owner, "name": name, "number": number, "after": after})
        items = data["repository"]["pullRequest"]["items"]
        for node in items["nodes"]:
            yield data["viewer"]["login"], node
        after = items["pageInfo"]["endCursor"]
        if not items["pageInfo"]["hasNextPage"]:
            return


def _is_ours(node: Mapping[str, Any], login: str) -> bool:
    """Whether we wrote a comment. A bot's login has a suffix where it is the viewer, and none where it is an author."""
    author = node["author"] or {}
    bot = login.endswith("[bot]")
    return author.get("login") == login.removesuffix("[bot]") and (author.get("__typename") == "Bot") == bot


def _thread(node: Mapping[str, Any], login: str) -> Thread | None:
    first, *rest = node["comments"]["nodes"] or [None]
    if first is None or not _is_ours(first, login):
        return None
    mark = render.marked(first["body"])
    if not mark or mark == render.SUMMARY:
        return None
    by = (node["resolvedBy"] or {}).get("login")  # nobody, where it was a bot
    resolved_by_others = node["isResolved"] and by is not None and by != login
    return Thread(
        id=node["id"],
        comment=first["id"],
        number=int(first["fullDatabaseId"]),
        fingerprint=mark,
        body=first["body"],
        at=_place(node),
        resolved=node["isResolved"],
        hidden=first["isMinimized"],
        theirs=resolved_by_others or _hidden_by_others(first),
        answered=node["comments"]["totalCount"] > 1 + len(rest) or not all(_is_ours(one, login) for one in rest),
    )


def _place(node: Mapping[str, Any]) -> Anchor | None:
    if node["isOutdated"] or not node["line"]:
        return None
    return Anchor(node["path"], node["startLine"] or node["line"], node["line"])


def _summary(node: Mapping[str, Any], login: str) -> Summary | None:
    if not _is_ours(node, login) or render.marked(node["body"]) != render.SUMMARY:
        return None
    number = int(node["fullDatabaseId"])
    return Summary(node["id"], number, node["body"], node["isMinimized"], _hidden_by_others(node))


def _hidden_by_others(node: Mapping[str, Any]) -> bool:
    """GitHub does not tell who hid a comment, but why: another reason than ours is a person's."""
    return node["isMinimized"] and (node["minimizedReason"] or "").lower() != "resolved"


def carry_out(client: Client, number: int, head: str, plan: Plan) -> None:
    """Do what a plan says. Raises GitHubError; with status 422 the review was refused, the whole of it."""
    for comment in plan.show:
        client.mutate(SHOW, {"id": comment})
    for thread in plan.unresolve:
        client.mutate(UNRESOLVE, {"id": thread.id})
    for comment_number, body in plan.edit:
        client.write("PATCH", f"pulls/comments/{comment_number}", {"body": body})
    if plan.review:
        client.write("POST", f"pulls/{number}/reviews", review(plan.review, head))
    if plan.write_summary:
        client.write("POST", f"issues/{number}/comments", {"body": plan.write_summary})
    if plan.edit_summary:
        comment_number, body = plan.edit_summary
        client.write("PATCH", f"issues/comments/{comment_number}", {"body": body})
    for thread in plan.resolve:
        _close(client, thread)
    for comment in plan.hide:
        client.mutate(HIDE, {"id": comment})


def _close(client: Client, thread: Thread) -> None:
    """Resolve a thread; where the token may not, hide its comment, unless somebody answered it."""
    try:
        client.mutate(RESOLVE, {"id": thread.id})
    except GitHubError as error:
        if error.status != 403:
            raise
        if not thread.answered:
            client.mutate(HIDE, {"id": thread.comment})


def review(comments: tuple[NewComment, ...], head: str) -> dict[str, Any]:
    """The one review of a run."""
    number = len(comments)
    return {
        "commit_id": head,
        "event": "COMMENT",
        "body": f"{number} {'remark' if number == 1 else 'remarks'} on build dependencies.",
        "comments": [{"path": c.anchor.path, "body": c.body, **_lines(c.anchor)} for c in comments],
    }


def _lines(anchor: Anchor) -> dict[str, Any]:
    one = {"line": anchor.end, "side": "RIGHT"}
    return one if anchor.start == anchor.end else {"start_line": anchor.start, "start_side": "RIGHT", **one}
