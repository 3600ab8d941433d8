"""GitHub's published API descriptions, if `make test` brought them: OpenAPI for REST, the schema for GraphQL."""

from __future__ import annotations

import functools
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from graphql import GraphQLSchema, build_schema
from openapi_schema_validator import OAS30Validator

FOLDER = Path(os.environ.get("GITHUB_API_DESCRIPTIONS") or Path(__file__).parent.parent / ".venv/github")
OPENAPI, GRAPHQL = FOLDER / "api.github.com.json", FOLDER / "schema.graphql"
THERE = OPENAPI.exists() and GRAPHQL.exists()

# What of the schema the bot needs, for where the published one is not there.
_EXCERPT = """
scalar BigInt
interface Actor { login: String! }
type User implements Actor { login: String! }
type Bot implements Actor { login: String! }
type PageInfo { hasNextPage: Boolean! endCursor: String }
interface Minimizable { isMinimized: Boolean! minimizedReason: String }
type PullRequestReviewComment implements Minimizable {
  id: ID! fullDatabaseId: BigInt body: String! isMinimized: Boolean! minimizedReason: String author: Actor
}
type IssueComment implements Minimizable {
  id: ID! fullDatabaseId: BigInt body: String! isMinimized: Boolean! minimizedReason: String author: Actor
}
type CommentConnection { totalCount: Int! pageInfo: PageInfo! nodes: [PullRequestReviewComment] }
type IssueCommentConnection { totalCount: Int! pageInfo: PageInfo! nodes: [IssueComment] }
type PullRequestReviewThread {
  id: ID! isResolved: Boolean! isOutdated: Boolean! path: String! line: Int startLine: Int resolvedBy: User
  comments(first: Int, after: String): CommentConnection!
}
type ThreadConnection { totalCount: Int! pageInfo: PageInfo! nodes: [PullRequestReviewThread] }
type PullRequest {
  reviewThreads(first: Int, after: String): ThreadConnection!
  comments(first: Int, after: String): IssueCommentConnection!
}
type Repository { pullRequest(number: Int!): PullRequest }
type Query { viewer: User! repository(owner: String!, name: String!): Repository }
enum ReportedContentClassifiers { ABUSE DUPLICATE OFF_TOPIC OUTDATED RESOLVED SPAM }
input ThreadInput { threadId: ID! }
input MinimizeCommentInput { subjectId: ID! classifier: ReportedContentClassifiers! }
input UnminimizeCommentInput { subjectId: ID! }
type ThreadPayload { thread: PullRequestReviewThread }
type MinimizeCommentPayload { minimizedComment: Minimizable }
type UnminimizeCommentPayload { unminimizedComment: Minimizable }
type Mutation {
  resolveReviewThread(input: ThreadInput!): ThreadPayload
  unresolveReviewThread(input: ThreadInput!): ThreadPayload
  minimizeComment(input: MinimizeCommentInput!): MinimizeCommentPayload
  unminimizeComment(input: UnminimizeCommentInput!): UnminimizeCommentPayload
}
"""


@functools.cache
def graphql_schema() -> GraphQLSchema:
    return build_schema(GRAPHQL.read_text("utf-8") if THERE else _EXCERPT, assume_valid=True)


class OpenApi:
    """The REST description: which requests there are, what their bodies must be, what their answers are."""

    def __init__(self, description: Mapping[str, Any]) -> None:
        self._root = description
        self._paths = {
            re.compile(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(path)) + "$"): path for path in description["paths"]
        }

    def faults(self, method: str, path: str, query: Mapping[str, str], body: Any) -> list[str]:
        """What is wrong with a request."""
        operation = self._operation(method, path)
        if operation is None:
            return [f"there is no {method} {path}"]
        known = {self._resolved(item)["name"] for item in operation.get("parameters", ())}
        found = [f"there is no parameter {name}" for name in query if name not in known]
        content = operation.get("requestBody", {}).get("content", {}).get("application/json")
        if (content is None) != (body is None):
            return [*found, "a body where there must be none, or none where there must be one"]
        return found if content is None else [*found, *self._mismatches(content["schema"], body, "body")]

    def _mismatches(self, schema: Mapping[str, Any], value: Any, where: str) -> list[str]:
        whole = {**schema, "components": self._root["components"]}
        found = [f"{where}: {error.message}" for error in OAS30Validator(whole).iter_errors(value)]
        return found + self._unknown(schema, value, where)

    def _unknown(self, schema: Mapping[str, Any], value: Any, where: str) -> list[str]:
        """Keys that the description does not have: GitHub passes over them, and they would be a mistake of ours."""
        schema = self._resolved(schema)
        if isinstance(value, list):
            return [fault for one in value for fault in self._unknown(schema.get("items", {}), one, f"{where}[]")]
        properties = schema.get("properties")
        if not isinstance(value, dict) or properties is None:
            return []
        unknown = [f"{where}: there is no {key}" for key in value if key not in properties]
        inner = (self._unknown(properties[k], v, f"{where}.{k}") for k, v in value.items() if k in properties)
        return unknown + [fault for faults in inner for fault in faults]

    def answer(self, method: str, path: str, status: int, ours: Any) -> Any:
        """An answer that has all that the real one has; what we do not say is made up."""
        operation = self._operation(method, path)
        assert operation is not None
        response = self._resolved(operation["responses"][str(status)])
        content = response.get("content", {}).get("application/json")
        if content is None:
            return ours
        value = self._filled(content["schema"], ours)
        faults = self._mismatches(content["schema"], value, "answer")
        assert not faults, (method, path, faults[:5])
        return value

    def _filled(self, schema: Mapping[str, Any], ours: Any) -> Any:
        schema = self._merged(schema)
        if isinstance(ours, list):
            return [self._filled(schema.get("items", {}), one) for one in ours]
        if isinstance(ours, dict):
            properties = schema.get("properties", {})
            made = {key: self._filled(properties.get(key, {}), value) for key, value in ours.items()}
            for key in schema.get("required", ()):
                if key not in made:
                    made[key] = self._made_up(properties.get(key, {}))
            return made
        return ours

    def _made_up(self, schema: Mapping[str, Any]) -> Any:
        if schema.get("nullable"):
            return None
        schema = self._merged(schema)
        if schema.get("nullable"):
            return None
        if "enum" in schema:
            return schema["enum"][0]
        match schema.get("type"):
            case "array":
                return []
            case "integer" | "number":
                return 1
            case "boolean":
                return False
            case "string":
                return {"date-time": "2024-05-01T12:00:00Z", "uri": "https://example.invalid/"}.get(
                    schema.get("format", ""), "x"
                )
        return self._filled(schema, {})

    def _merged(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        """A schema without references, unions and sums: the first of what it may be."""
        schema = dict(self._resolved(schema))
        for one in schema.get("oneOf", schema.get("anyOf", ()))[:1]:
            schema = {**schema, **self._merged(one)}
        for one in schema.get("allOf", ()):
            other = self._merged(one)
            schema = {
                **schema,
                **other,
                "required": [*schema.get("required", ()), *other.get("required", ())],
                "properties": {**schema.get("properties", {}), **other.get("properties", {})},
            }
        return schema

    def _resolved(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        while "$ref" in schema:
            here: Any = self._root
            for step in schema["$ref"].removeprefix("#/").split("/"):
                here = here[step]
            schema = here
        return schema

    def _operation(self, method: str, path: str) -> Mapping[str, Any] | None:
        matching = [template for pattern, template in self._paths.items() if pattern.match(path)]
        best = min(matching, key=lambda template: template.count("{"), default=None)
        found: Mapping[str, Any] | None = self._root["paths"][best].get(method.lower()) if best else None
        return found


@functools.cache
def openapi() -> OpenApi | None:
    return OpenApi(json.loads(OPENAPI.read_text("utf-8"))) if THERE else None
