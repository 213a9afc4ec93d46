"""Where boxes and nodes lie in a page's graph: order of layers, no overlap, few crossings,
quickly."""

from __future__ import annotations

import itertools
import random
import time

import documents
import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from weft.inspection.page import lines
from weft.inspection.page.homes import homes
from weft.inspection.page.layered import Layered, acyclic, layered
from weft.inspection.page.layout import layout

GAP = (10.0, 20.0)


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[tuple[float, float]], list[tuple[int, int]]]:
    """Boxes of any size and edges in any direction."""
    sizes = draw(
        st.lists(st.tuples(st.integers(10, 90), st.integers(10, 60)), min_size=1, max_size=12)
    )
    vertex = st.integers(0, len(sizes) - 1)
    edges = draw(st.lists(st.tuples(vertex, vertex).filter(lambda e: e[0] != e[1]), max_size=24))
    return [(float(w), float(h)) for w, h in sizes], edges


def overlaps(places: list[list[float]], gap: float = 0.0) -> list[tuple[int, int]]:
    pairs = itertools.combinations(enumerate(places), 2)
    return [
        (i, j)
        for (i, (x, y, w, h)), (j, (p, q, v, k)) in pairs
        if x + w + gap > p + 0.01
        and p + v + gap > x + 0.01
        and y + h > q + 0.01
        and q + k > y + 0.01
    ]


def rectangles(found: Layered, sizes: list[tuple[float, float]]) -> list[list[float]]:
    return [[*corner, *size] for corner, size in zip(found.corners, sizes, strict=True)]


@given(graphs())
@examples(60)
def test_boxes_do_not_overlap(graph) -> None:
    sizes, edges = graph
    assert overlaps(rectangles(layered(sizes, edges, GAP), sizes), GAP[0]) == []


@given(graphs())
@examples(60)
def test_boxes_lie_in_the_picture(graph) -> None:
    sizes, edges = graph
    found = layered(sizes, edges, GAP)
    for x, y, w, h in rectangles(found, sizes):
        assert -0.01 <= x <= x + w <= found.width + 0.01
        assert -0.01 <= y <= y + h <= found.height + 0.01


@given(graphs())
@examples(60)
def test_edges_lead_down_once_cycles_are_cut(graph) -> None:
    sizes, edges = graph
    found = layered(sizes, edges, GAP)
    for a, b in acyclic(len(sizes), edges):
        assert found.corners[a][1] + sizes[a][1] < found.corners[b][1]


@given(graphs())
@examples(60)
def test_only_edges_of_cycles_are_turned_round(graph) -> None:
    sizes, edges = graph
    downwards = [(min(e), max(e)) for e in edges]
    assert acyclic(len(sizes), downwards) == downwards


def test_a_cycle_is_drawn() -> None:
    found = layered([(10, 10)] * 3, [(0, 1), (1, 2), (2, 0)], GAP)
    assert [y for _, y in found.corners] == [0, 30, 60]


def test_bends_are_in_the_order_of_the_edge() -> None:
    found = layered([(10, 10)] * 4, [(0, 1), (1, 2), (2, 3), (0, 3), (3, 0)], GAP)
    (_, first), (_, last) = found.bends[3][0], found.bends[3][-1]
    assert (first, last) == (30, 70) and found.bends[4][0][
        1
    ] == 70  # from the top of the second layer to the end of the third


def crossed(
    found: Layered,
    size: tuple[float, float],
    edge: tuple[int, int],
    bends: list[tuple[float, float]],
) -> list[int]:
    """The boxes that a line goes through, besides those at its ends."""
    (w, h), (a, b) = size, sorted(edge, key=lambda v: found.corners[v][1])
    (x, y), (p, q) = found.corners[a], found.corners[b]
    line = [(x + w / 2, y + h), *sorted(bends, key=lambda point: point[1]), (p + w / 2, q)]
    steps = [
        (s + (u - s) * i / 50, t + (v - t) * i / 50)
        for (s, t), (u, v) in itertools.pairwise(line)
        for i in range(51)
    ]
    inside = {
        v
        for v, (s, t) in enumerate(found.corners)
        for i, j in steps
        if s + 1 < i < s + w - 1 and t + 1 < j < t + h - 1
    }
    return sorted(inside - {a, b})


@pytest.mark.parametrize("bends", [lines.BENDS, 3])
@given(graphs())
@examples(40)
def test_lines_go_around_boxes(bends: int, graph) -> None:
    boxes, edges = graph
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "BENDS", bends)
        found = layered([(40.0, 20.0)] * len(boxes), edges, GAP)
    through = {e: crossed(found, (40, 20), e, b) for e, b in zip(edges, found.bends, strict=True)}
    assert {e: boxes for e, boxes in through.items() if boxes} == {}
    assert all(-0.01 <= x <= found.width + 0.01 for bends in found.bends for x, _ in bends)


def test_a_chain_is_straight() -> None:
    found = layered([(10, 10), (50, 10), (20, 10)], [(0, 1), (1, 2)], GAP)
    assert [x for x, _ in found.corners] == [20, 0, 15]


def crossings(found: Layered, edges: list[tuple[int, int]]) -> int:
    """Pairs of edges between the same two layers that cross."""
    at = [(found.corners[a], found.corners[b]) for a, b in edges]
    pairs = itertools.combinations(at, 2)
    return sum(
        a[1] == c[1] and b[1] == d[1] and (a[0] - c[0]) * (b[0] - d[0]) < 0
        for (a, b), (c, d) in pairs
    )


def test_a_tree_has_no_crossings() -> None:
    order = list(range(1, 15))
    random.Random(0).shuffle(order)
    edges = [((i - 1) // 2, i) for i in order]
    assert crossings(layered([(10, 10)] * 15, edges, GAP), edges) == 0


def test_twisted_ladders_are_untangled() -> None:
    edges = [(0, 5), (1, 4), (2, 3), (3, 6), (4, 7), (5, 8)]
    assert crossings(layered([(10, 10)] * 9, edges, GAP), edges) == 0


def test_many_results_of_one_box_are_in_several_layers() -> None:
    found = layered([(10, 10)] * 41, [(0, i) for i in range(1, 41)], GAP)
    assert found.width < 40 * 20 / 2 and found.height == 6 * 30 - 20


def test_neither_boxes_nor_edges_are_needed() -> None:
    assert layered([], [], GAP) == Layered(0, 0, [], [])


@pytest.mark.slow
def test_a_long_chain_needs_no_recursion() -> None:
    assert (
        layered([(10, 10)] * 5000, [(i, i + 1) for i in range(4999)], GAP).height == 5000 * 30 - 20
    )


@pytest.fixture(scope="module")
def small() -> dict:
    return documents.program(2)


def test_nodes_lie_in_the_box_of_their_kernel(small: dict) -> None:
    found = layout(small)
    for node, home, (x, y, w, h) in zip(
        small["nodes"], found["home"], found["operations"]["nodes"], strict=True
    ):
        p, q, v, k = found["operations"]["groups"][home]
        assert node["kernel"] in (None, found["groups"][home])
        assert p - 0.2 <= x <= x + w <= p + v + 0.2 and q - 0.2 <= y <= y + h <= q + k + 0.2


@pytest.mark.parametrize("picture", ["operations", "kernels"])
def test_groups_do_not_overlap(small: dict, picture: str) -> None:
    assert overlaps([box for box in layout(small)[picture]["groups"] if box]) == []


def test_the_picture_of_kernels_has_no_inputs(small: dict) -> None:
    found = layout(small)
    assert [g is not None for g in found["kernels"]["groups"]] == [
        k is not None for k in found["groups"]
    ]


def test_nodes_do_not_overlap(small: dict) -> None:
    assert overlaps(layout(small)["operations"]["nodes"]) == []


def test_every_edge_has_its_place(small: dict) -> None:
    found = layout(small)["operations"]
    assert {(a, b) for kind in ("inner", "outer", "loose") for a, b, *_ in found[kind]} == edges_of(
        small
    )


def edges_of(program: dict) -> set[tuple[int, int]]:
    return {(s, n["id"]) for n in program["nodes"] for s in n["src"]}


def test_edges_of_inputs_that_many_kernels_read_are_loose() -> None:
    many = documents.program(6)
    rate = {"id": len(many["nodes"]), "op": "input", "label": "rate", "src": [], "kernel": None}
    many["nodes"].append(rate)
    for k in many["kernels"]:
        many["nodes"][k["node_ids"][0]]["src"].append(rate["id"])
    assert len([a for a, _ in layout(many)["operations"]["loose"] if a == rate["id"]]) == len(
        many["kernels"]
    )


def test_edges_between_kernels_are_drawn_once(small: dict) -> None:
    found = layout(small)
    pairs = [(a, b) for a, b, *_ in found["kernels"]["outer"]]
    assert len(pairs) == len(set(pairs))
    between = {(found["home"][a], found["home"][b]) for a, b, *_ in found["operations"]["outer"]}
    assert {(a, b) for a, b in between if found["groups"][a] is not None} == set(pairs)


def test_a_view_is_at_home_with_its_only_user(small: dict) -> None:
    found = layout(small)
    users = {
        n["src"][0]: n["kernel"]
        for n in small["nodes"]
        if n["op"] == "mul" and n["kernel"] is not None
    }
    views = [
        n for n in small["nodes"] if n["op"] == "expand" and n["id"] in users and not n["gradient"]
    ]
    assert views and all(found["groups"][found["home"][v["id"]]] is not None for v in views)


def test_what_several_inputs_lead_to_is_one_group_when_each_kernel_computes_it_for_itself() -> None:
    leaf = {"op": "input", "label": "input", "kernel": None, "src": []}
    nodes = [{**leaf, "id": i} for i in range(2)]
    nodes += [
        {"op": "add", "label": "add", "kernel": None, "id": 2 + i, "src": [i, i + 1]}
        for i in range(2)
    ]
    nodes += [
        {"op": "exp", "label": "exp", "kernel": i % 2, "id": 4 + i, "src": [2 + i // 2]}
        for i in range(4)
    ]
    found = homes({"nodes": nodes, "kernels": [{}, {}]})
    assert found.home[2] == found.home[3] == found.shared and found.given == {0, 1, 2, 3}


def test_a_program_may_have_no_nodes() -> None:
    found = layout({"nodes": [], "kernels": []})
    assert found["operations"]["width"] == found["kernels"]["height"] == 0


def test_sources_that_are_not_there_are_no_edges() -> None:
    stray = {"id": 7, "src": [3, 7], "kernel": 5, "op": "add", "label": "add"}
    assert layout({"nodes": [stray], "kernels": []})["operations"]["inner"] == []


def test_2000_nodes_take_less_than_a_second() -> None:
    large = documents.program(2000 // 20)
    assert len(large["nodes"]) >= 2000
    seconds = []
    for _ in range(3):
        start = time.process_time()
        layout(large)
        seconds.append(time.process_time() - start)
        if seconds[-1] < 1:
            break
    assert min(seconds) < 1
