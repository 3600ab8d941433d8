"""The bot's conversation with a GitHub that enforces the real rules (fake_github.py)."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import buildfix
from fake_github import BOT, REPO, FakeGitHub, Fault, Files, Thread, Token

from buildfix.github import artefact, comment, conversation, render
from buildfix.github.artefact import Artefact
from buildfix.github.client import Client, GitHubError

BASE: Files = {
    ".buckconfig": "[cells]\n  root = .\n",
    "crane/BUCK": """\
python_library(name = "hook", srcs = ["hook.py"])
python_library(name = "rope", srcs = ["rope.py"])
""",
    "crane/hook.py": "H = 1\n",
    "crane/rope.py": "R = 1\n",
    "deck/BUCK": """\
python_library(
    name = "deck",
    srcs = ["deck.py"],
    deps = [
        "//crane:hook",
        "//crane:rope",
    ],
)
""",
    "deck/deck.py": "import crane.hook\nimport crane.rope\n",
    "cargo/BUCK": """\
python_test(
    name = "test_cargo",
    srcs = ["test_cargo.py"],
    deps = [
        "//deck:deck",
    ],
)
""",
    "cargo/test_cargo.py": "import deck.deck\n",
}
# What the pull request does: deck stops using the rope, a test begins to, and a new package lacks one dep and has one
# too many.
HEAD: Files = {
    **BASE,
    "deck/BUCK": BASE["deck/BUCK"].replace('["deck.py"]', '["deck.py", "mast.py"]'),
    "deck/deck.py": "import crane.hook\n",
    "deck/mast.py": "M = 1\n",
    "cargo/test_cargo.py": "import deck.deck\nimport crane.rope\n",
    "hold/BUCK": """\
python_library(
    name = "hold",
    srcs = ["hold.py"],
    deps = [
        "//crane:rope",
        "//deck:deck",
    ],
)
""",
    "hold/hold.py": "import crane.hook\nimport deck.deck\n",
}
MISSING_ROPE = ("BF001", "//cargo:test_cargo", "//crane:rope")
UNUSED_ROPE = ("BF002", "//deck:deck", "//crane:rope")
MISSING_HOOK = ("BF001", "//hold:hold", "//crane:hook")
UNUSED_IN_HOLD = ("BF002", "//hold:hold", "//crane:rope")


def fingerprint(key: tuple[str, str, str]) -> str:
    return artefact.Key(*key).fingerprint


def judge(folder: Path, fake: FakeGitHub) -> Artefact:
    """Stage one: check the head's files, and pack the report."""
    root = folder / fake.sha
    for path, text in fake.head.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, "utf-8")
    return artefact.decode(artefact.pack(buildfix("--output-format", "json", cwd=root).stdout.encode(), fake.sha))


class Bot:
    """Stage two, in this process: it does not really wait."""

    def __init__(self, fake: FakeGitHub, folder: Path) -> None:
        self.fake, self.folder, self.said, self.waits = fake, folder, list[str](), list[float]()

    def client(self, **options: object) -> Client:
        fake = self.fake
        return Client("bot-token", REPO, fake.url, f"{fake.url}/graphql", sleep=self.waits.append, **options)  # type: ignore[arg-type]

    def run(self, known: Artefact | None = None) -> list[tuple[str, str, object]]:
        """One run; the requests that it wrote with."""
        before = len(self.fake.writes())
        with self.client() as client:
            try:
                comment.run(client, known or judge(self.folder, self.fake), self.said.append)
            except comment.StopError as stop:
                self.said.append(str(stop))
        return self.fake.writes()[before:]

    def thread(self, key: tuple[str, str, str]) -> Thread:
        (found,) = [one for one in self.fake.threads if render.marked(one.comments[0].body) == fingerprint(key)]
        return found

    def body(self, key: tuple[str, str, str]) -> str:
        return self.thread(key).comments[0].body


Serve = Callable[..., Bot]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    started: list[FakeGitHub] = []

    def start(base: Files = BASE, head: Files = HEAD, page: int = 100) -> Bot:
        started.append(FakeGitHub(base, head, page).__enter__())
        return Bot(started[-1], tmp_path)

    yield start
    for fake in started:
        fake.__exit__()


def test_the_life_of_a_pull_request(serve: Serve) -> None:
    bot = serve()
    fake = bot.fake

    # Opened: one review with a comment for each finding, each at its line.
    assert [(method, path) for method, path, _ in bot.run()] == [("POST", f"/repos/{REPO}/pulls/7/reviews")]
    assert len(fake.threads) == 4 and not fake.comments
    assert (bot.thread(MISSING_ROPE).path, bot.thread(MISSING_ROPE).line) == ("cargo/test_cargo.py", 2)
    assert (bot.thread(UNUSED_ROPE).path, bot.thread(UNUSED_ROPE).line) == ("deck/BUCK", 6)
    assert bot.thread(MISSING_HOOK).path == "hold/BUCK"
    assert "```suggestion" in bot.body(MISSING_HOOK)
    assert "suggestion" not in bot.body(UNUSED_ROPE) and "```diff" in bot.body(UNUSED_ROPE)  # it breaks the test alone
    assert "//cargo:test_cargo" in bot.body(UNUSED_ROPE)
    assert bot.run() == []

    # Pushed: the lines move, the conversation stays, and what it says is put right.
    fake.push({**fake.head, "hold/BUCK": "# What is below deck.\n" + fake.head["hold/BUCK"]})
    written = bot.run()
    assert all(method == "PATCH" for method, _, _ in written)
    assert len(fake.threads) == 4

    # Pushed again, by the button of a suggestion: what it repairs is resolved, without a word.
    fake.accept(bot.thread(MISSING_HOOK))
    assert '"//crane:hook"' in fake.head["hold/BUCK"]
    written = bot.run()
    assert not [path for method, path, _ in written if method == "POST" and path != "/graphql"]
    assert bot.thread(MISSING_HOOK).resolved_by == BOT
    assert bot.thread(UNUSED_IN_HOLD).resolved_by == BOT
    assert {render.marked(t.comments[0].body) for t in fake.open_threads()} == {
        fingerprint(MISSING_ROPE),
        fingerprint(UNUSED_ROPE),
    }

    # Rebased: nothing is said again.
    new_base = {**BASE, "deck/BUCK": "# The deck.\n" + BASE["deck/BUCK"], "pier.txt": "new\n"}
    fake.push({**fake.head, "deck/BUCK": "# The deck.\n" + fake.head["deck/BUCK"], "pier.txt": "new\n"}, base=new_base)
    written = bot.run()
    assert all(method == "PATCH" for method, _, _ in written)
    assert len(fake.threads) == 4

    # Partly fixed, by hand, and answered: the drop is harmless now, and offered as such.
    fake.reply(bot.thread(UNUSED_ROPE), "ada", "I thought the tests need it?")
    fixed = BASE["cargo/BUCK"].replace('"//deck:deck"', '"//crane:rope",\n        "//deck:deck"')
    fake.push({**fake.head, "cargo/BUCK": fixed})
    bot.run()
    assert bot.thread(MISSING_ROPE).resolved_by == BOT
    assert not bot.thread(UNUSED_ROPE).resolved_by
    assert "```suggestion" in bot.body(UNUSED_ROPE)
    assert bot.thread(UNUSED_ROPE).comments[1].body == "I thought the tests need it?"

    # Fixed: resolved; the answer stays, and nobody is praised.
    files = fake.head
    fake.accept(bot.thread(UNUSED_ROPE))
    assert '"//crane:rope"' not in fake.head["deck/BUCK"]
    bot.run()
    assert bot.thread(UNUSED_ROPE).resolved_by == BOT
    assert [c.login for c in bot.thread(UNUSED_ROPE).comments] == [BOT, "ada"]
    assert not fake.open_threads() and not fake.comments
    assert bot.run() == []

    # Back again, and reopened: the same thread goes on.
    fake.state = "closed"
    fake.push(files)
    assert bot.run() == []
    assert "no open pull request" in bot.said[-1]
    fake.state = "open"
    bot.run()
    assert not bot.thread(UNUSED_ROPE).resolved_by
    assert len(fake.threads) == 4 and len(fake.reviews) == 1 and not fake.comments


def test_a_clean_pull_request_gets_no_word(serve: Serve) -> None:
    bot = serve(head={**BASE, "pier.txt": "new\n"})
    assert bot.run() == []
    assert bot.said == ["#7 is up to date"]


def test_what_belongs_to_no_line_is_in_one_summary_that_is_edited(serve: Serve) -> None:
    broken = {**BASE, "deck/deck.py": "import crane.hook\n"}
    bot = serve(base={**broken, "pier.txt": "old\n"}, head={**broken, "pier.txt": "new\n"})
    assert [path for _, path, _ in bot.run()] == [f"/repos/{REPO}/issues/7/comments"]
    (summary,) = bot.fake.comments
    assert "//deck:deck" in summary.body and "```diff" in summary.body
    bot.fake.push({**bot.fake.head, "pier.txt": "newer\n"})
    assert [method for method, _, _ in bot.run()] == ["PATCH"]  # the commit that it is about
    bot.fake.push({**BASE, "pier.txt": "newest\n"})
    bot.run()
    assert summary.hidden == "resolved" and "no findings" in summary.body
    assert bot.run() == []
    bot.fake.push({**broken, "pier.txt": "and back\n"})
    bot.run()
    assert not summary.hidden and "//deck:deck" in summary.body
    assert bot.fake.comments == [summary]


def test_a_comment_of_others_is_never_taken_for_ours(serve: Serve) -> None:
    bot = serve()
    bot.run()
    mine, copied = bot.thread(MISSING_ROPE), bot.body(MISSING_ROPE)
    bot.fake.threads.remove(mine)
    mine.comments[0].login = "mallory"
    bot.fake.threads.append(mine)
    fake_summary = bot.fake.say("github-actions", render.marker(render.SUMMARY))  # a person of the bot's name
    bot.run()
    assert mine.comments[0].body == copied and not mine.resolved_by
    assert fake_summary.body == render.marker(render.SUMMARY)
    assert [t.comments[0].login for t in bot.fake.threads if t.path == mine.path] == ["mallory", BOT]


def test_what_people_closed_stays_closed(serve: Serve) -> None:
    bot = serve()
    bot.run()
    bot.thread(UNUSED_ROPE).resolved_by = "ada"
    bot.thread(MISSING_ROPE).comments[0].hidden = "off_topic"
    bot.fake.push({**bot.fake.head, "pier.txt": "new\n"})
    assert bot.run() == []


def test_where_threads_cannot_be_resolved_comments_are_hidden_unless_answered(serve: Serve) -> None:
    bot = serve()
    bot.fake.tokens["bot-token"] = Token(writes=frozenset(("pull_requests",)))
    bot.run()
    bot.fake.reply(bot.thread(UNUSED_ROPE), "ada", "Really?")
    bot.fake.push({**BASE, "pier.txt": "new\n"})
    bot.run()
    assert bot.thread(MISSING_HOOK).comments[0].hidden == "resolved"
    assert not bot.thread(UNUSED_ROPE).comments[0].hidden
    assert len(bot.fake.threads) == 4
    bot.fake.push(HEAD)
    bot.run()
    assert not bot.thread(MISSING_HOOK).comments[0].hidden and len(bot.fake.threads) == 4


def test_a_head_that_moved_is_left_to_the_next_run(serve: Serve) -> None:
    bot = serve()
    known = judge(bot.folder, bot.fake)
    bot.fake.push({**bot.fake.head, "pier.txt": "new\n"})
    assert bot.run(known) == []
    assert "no open pull request" in bot.said[-1]


def test_a_head_that_moves_during_the_run_stops_it(serve: Serve) -> None:
    bot = serve()
    known = judge(bot.folder, bot.fake)

    def push_once(_: str, path: str) -> bool:
        if path.endswith("/files") and "pier.txt" not in bot.fake.head:
            bot.fake.push({**bot.fake.head, "pier.txt": "new\n"})
        return False

    bot.fake.faults.append(Fault(push_once, 0))
    assert bot.run(known) == []
    assert "has moved on" in bot.said[-1]


def test_a_pull_request_of_a_fork_is_found(serve: Serve) -> None:
    bot = serve()
    bot.fake.fork = True
    bot.run()
    assert len(bot.fake.threads) == 4


def test_lists_are_read_to_their_end(serve: Serve) -> None:
    bot = serve(page=1)
    for number in range(5):
        bot.fake.say("ada", f"words {number}")
    bot.run()
    assert len(bot.fake.threads) == 4
    assert bot.run() == []  # it found all of them again


def test_a_token_that_may_only_read_is_an_error(serve: Serve) -> None:
    bot = serve()
    bot.fake.tokens["bot-token"] = Token(writes=frozenset())
    with pytest.raises(GitHubError, match="Resource not accessible"):
        bot.run()
    assert not bot.fake.threads


def limited(status: int, headers: dict[str, str], message: str = "too many") -> Fault:
    return Fault(lambda method, path: path.endswith("/files"), status, headers, message)


@pytest.mark.parametrize(
    ("fault", "waits"),
    [
        (limited(429, {"retry-after": "7"}), 7),
        (limited(403, {"retry-after": "9"}, "You have exceeded a secondary rate limit"), 9),
        (limited(403, {}, "You have exceeded a secondary rate limit"), 60),
        (limited(403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1030"}, "API rate limit exceeded"), 31),
        (limited(502, {}), 1),
    ],
)
def test_it_waits_as_long_as_it_is_told_to(serve: Serve, fault: Fault, waits: float) -> None:
    bot = serve()
    bot.fake.faults.append(fault)
    with bot.client(now=lambda: 1000.0) as client:
        comment.run(client, judge(bot.folder, bot.fake), bot.said.append)
    assert len(bot.fake.threads) == 4
    assert waits <= bot.waits[0] < waits + 1


def test_it_does_not_wait_for_ever(serve: Serve) -> None:
    bot = serve()
    bot.fake.faults.append(limited(429, {"retry-after": "3600"}))
    with pytest.raises(GitHubError, match="longer than a run may take"):
        bot.run()


@pytest.mark.parametrize("done", [True, False])
def test_a_review_that_was_answered_with_a_fault_is_posted_once(serve: Serve, done: bool) -> None:
    bot = serve()
    bot.fake.faults.append(Fault(lambda method, path: path.endswith("/reviews"), 502, done=done))
    bot.run()
    assert len(bot.fake.threads) == 4 and len(bot.fake.reviews) == 1


def test_a_review_that_is_refused_goes_into_the_summary(serve: Serve) -> None:
    bot = serve()
    bot.fake.faults.append(
        Fault(lambda method, path: path.endswith("/reviews"), 422, message="line must be part of the diff")
    )
    bot.run()
    assert not bot.fake.threads
    (summary,) = bot.fake.comments
    assert "//cargo:test_cargo" in summary.body and "//hold:hold" in summary.body


def test_no_more_than_ten_at_lines(serve: Serve) -> None:
    names = [f"l{number:02}" for number in range(14)]
    files = {
        **BASE,
        **{f"{n}/BUCK": f'python_library(name = "{n}", srcs = ["{n}.py"], deps = [])\n' for n in names},
        **{f"{n}/{n}.py": "import crane.hook\n" for n in names},
    }
    bot = serve(head=files)
    bot.run()
    assert len(bot.fake.threads) == 10 and len(bot.fake.reviews) == 1
    (summary,) = bot.fake.comments
    assert all(f"//{name}:{name}" in summary.body for name in names[10:])
    assert not any(f"//{name}:{name}`" in summary.body for name in names[:10])
    bot.fake.push({**bot.fake.head, "pier.txt": "new\n"})
    bot.run()
    assert len(bot.fake.threads) == 10 and len(bot.fake.comments) == 1


def test_the_command(serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bot = serve()
    root = tmp_path / "head"
    for path, text in HEAD.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, "utf-8")
    report, packed = tmp_path / "report.json", tmp_path / "artefact.json"
    report.write_text(buildfix("--output-format", "json", cwd=root).stdout)

    def run(*args: str | Path) -> subprocess.CompletedProcess[str]:
        return buildfix("comment", *args, cwd=tmp_path)

    done = run("--pack", report, "--head", bot.fake.sha)
    assert done.returncode == 0, done
    packed.write_text(done.stdout)

    assert run(packed, "--head", bot.fake.sha).returncode == 2  # no token
    monkeypatch.setenv("GITHUB_TOKEN", "bot-token")
    monkeypatch.setenv("GITHUB_REPOSITORY", REPO)
    monkeypatch.setenv("GITHUB_API_URL", bot.fake.url)
    monkeypatch.delenv("GITHUB_GRAPHQL_URL", raising=False)
    other = run(packed, "--head", "0" * 40)
    assert other.returncode == 2 and "is about the commit" in other.stderr
    assert run(report, "--head", bot.fake.sha).returncode == 2  # no artefact

    dry = run(packed, "--head", bot.fake.sha, "--dry-run")
    (request, _) = dry.stdout.splitlines()
    assert json.loads(request)["path"] == f"/repos/{REPO}/pulls/7/reviews"
    assert not bot.fake.writes()

    done = run(packed, "--head", bot.fake.sha)
    assert (done.returncode, done.stdout) == (0, "#7: 4 new at lines\n"), done
    assert len(bot.fake.threads) == 4
    assert all(thread.line for thread in bot.fake.threads)
    monkeypatch.setenv("GITHUB_TOKEN", "none")
    done = run(packed, "--head", bot.fake.sha)
    assert done.returncode == 3 and "Bad credentials" in done.stderr


def test_without_httpx_the_command_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "httpx.py").write_text("raise ModuleNotFoundError(\"No module named 'httpx'\", name='httpx')\n")
    (tmp_path / "run.py").write_text("from buildfix.cli import main\nmain(['comment', 'x', '--head', 'a' * 40])\n")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent.parent))
    done = subprocess.run(
        [sys.executable, tmp_path / "run.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2 and "pip install 'buildfix[github]'" in done.stderr, done


def test_what_the_bot_asks_by_graphql_is_asked_of_the_published_schema() -> None:
    import github_api
    from graphql import parse, validate

    names = ("THREADS", "COMMENTS", "RESOLVE", "UNRESOLVE", "HIDE", "SHOW")
    for name in names:
        assert not validate(github_api.graphql_schema(), parse(getattr(conversation, name)))


def test_the_published_descriptions_are_there() -> None:
    import github_api

    if not github_api.THERE:
        pytest.skip("GitHub's API descriptions are not there (make test brings them)")
    described = github_api.openapi()
    assert described is not None
    where = f"/repos/{REPO}/pulls/7/reviews"
    good = {"body": "b", "event": "COMMENT", "comments": [{"path": "p", "line": 1, "body": "b"}]}
    assert described.faults("POST", where, {}, good) == []
    for bad in ({"event": "PRAISE"}, {"comments": [{"path": "p"}]}, {"comments": [{**good, "lines": 1}]}, {"bodi": ""}):
        assert described.faults("POST", where, {}, {**good, **bad}), bad
    assert described.faults("GET", f"/repos/{REPO}/pulls/7/lines", {}, None)
    assert described.faults("GET", f"/repos/{REPO}/pulls", {"stat": "open"}, None)
