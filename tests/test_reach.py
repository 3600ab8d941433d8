"""Closures and components agree with the plainest possible search, on any graph."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from buildfix.closure import bits_of, closures, components

Graph = list[list[int]]


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    size = draw(st.integers(1, 12))
    node = st.integers(0, size - 1)
    return draw(st.lists(st.lists(node, max_size=5), min_size=size, max_size=size))


def searched(graph: Graph, start: int) -> set[int]:
    found, todo = {start}, [start]
    while todo:
        for child in graph[todo.pop()]:
            if child not in found:
                found.add(child)
                todo.append(child)
    return found


@given(graphs())
def test_a_closure_holds_all_that_a_search_finds(graph: Graph) -> None:
    assert [set(bits_of(bits)) for bits in closures(graph)] == [searched(graph, node) for node in range(len(graph))]


@given(graphs())
def test_components_are_the_nodes_that_reach_each_other_and_come_after_what_they_reach(graph: Graph) -> None:
    found = components(graph)
    reach = [searched(graph, node) for node in range(len(graph))]
    assert sorted(node for component in found for node in component) == list(range(len(graph)))
    place = {node: i for i, component in enumerate(found) for node in component}
    for one in range(len(graph)):
        for other in range(len(graph)):
            assert (place[one] == place[other]) == (other in reach[one] and one in reach[other])
            if other in reach[one]:
                assert place[other] <= place[one]
