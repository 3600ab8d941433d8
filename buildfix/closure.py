"""Graphs of numbers: what reaches what, and by which way.

A set of nodes is the bits of one int, which makes the closure of a whole repository a few thousand bitwise ORs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence


def components(adjacency: Sequence[Iterable[int]]) -> list[list[int]]:
    """The strongly connected components, each after all that it reaches (Tarjan, without recursion)."""
    index: list[int] = [-1] * len(adjacency)
    low = [0] * len(adjacency)
    on_stack = bytearray(len(adjacency))
    stack: list[int] = []
    found: list[list[int]] = []
    counter = 0
    for root in range(len(adjacency)):
        if index[root] >= 0:
            continue
        work: list[tuple[int, Iterator[int]]] = [(root, iter(adjacency[root]))]
        index[root] = low[root] = counter
        counter += 1
        stack.append(root)
        on_stack[root] = 1
        while work:
            node, rest = work[-1]
            for child in rest:
                if index[child] < 0:
                    index[child] = low[child] = counter
                    counter += 1
                    stack.append(child)
                    on_stack[child] = 1
                    work.append((child, iter(adjacency[child])))
                    break
                if on_stack[child]:
                    low[node] = min(low[node], index[child])
            else:
                work.pop()
                if work:
                    parent = work[-1][0]
                    low[parent] = min(low[parent], low[node])
                if low[node] == index[node]:
                    component = []
                    while True:
                        member = stack.pop()
                        on_stack[member] = 0
                        component.append(member)
                        if member == node:
                            break
                    found.append(component)
    return found


def closures(adjacency: Sequence[Iterable[int]]) -> list[int]:
    """For each node the bits of everything that it reaches, itself included."""
    reach = [0] * len(adjacency)
    for component in components(adjacency):
        bits = 0
        for node in component:
            bits |= 1 << node
        for node in component:
            for child in adjacency[node]:
                bits |= reach[child]
        for node in component:
            reach[node] = bits
    return reach


def bits_of(bits: int) -> Iterator[int]:
    """The numbers of the nodes in a set."""
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low


def path(
    adjacency: Sequence[Sequence[int]],
    start: int,
    goals: int,
    without: tuple[int, int] = (-1, -1),
    leads_there: Callable[[int], bool] = lambda _: True,
) -> list[int]:
    """The shortest way; nodes that do not lead there need not be tried."""
    wanted = set(bits_of(goals))
    if start in wanted:
        return [start]
    if not leads_there(start):
        return []
    came = {start: -1}
    queue = deque([start])
    while queue:
        here = queue.popleft()
        for child in adjacency[here]:
            if child in came or (here, child) == without:
                continue
            came[child] = here
            if child in wanted:
                way = [child]
                while came[way[-1]] >= 0:
                    way.append(came[way[-1]])
                return way[::-1]
            if leads_there(child):
                queue.append(child)
    return []
