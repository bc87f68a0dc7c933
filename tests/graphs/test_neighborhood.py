"""Graphs in row-pointer form."""

import pytest
import torch

from pitgeo.graphs import neighborhood
from pitgeo.graphs.neighborhood import Neighborhood


@pytest.mark.parametrize("edges", [1, 7, 20, 10_000])
def test_parts_are_the_whole(edges):
    degree = torch.tensor([3, 0, 0, 9, 1, 12, 0, 5, 5, 0])
    graph = Neighborhood(torch.randint(0, 6, (35,)), degree, 6)
    found = list(graph.parts(edges))
    assert [rows.start for rows, _ in found] == [0, *(rows.stop for rows, _ in found[:-1])] and found[-1][0].stop == 10
    shifted = [part.edge_index + torch.tensor([[0], [rows.start]]) for rows, part in found]
    assert torch.equal(torch.cat(shifted, 1), graph.edge_index)
    for rows, part in found:
        assert part.num_targets == rows.stop - rows.start and part.num_sources == 6
        assert part.num_edges <= edges or part.num_targets == 1
    assert len(found) == {1: 9, 7: 6, 20: 3, 10_000: 1}[edges]


@pytest.mark.parametrize("rows", [[], [0], [1, 2, 6], [3, 5, 9], [9, 0, 5, 5], list(range(10))])
def test_some_targets_keep_their_sources(rows):
    degree = torch.tensor([3, 0, 0, 9, 1, 12, 0, 5, 5, 0], dtype=torch.int32)
    graph = Neighborhood(torch.randint(0, 6, (35,), dtype=torch.int32), degree, 6)
    found = graph.restricted(torch.tensor(rows, dtype=torch.long))
    lists = graph.index.split(degree.tolist())
    assert found.num_sources == 6 and found.degree.tolist() == [int(degree[row]) for row in rows]
    assert found.index.tolist() == [int(number) for row in rows for number in lists[row]]
    assert found.index.dtype == graph.index.dtype and found.degree.dtype == graph.degree.dtype


@pytest.mark.parametrize("rows", [slice(None), slice(2, 5), slice(8, 30), slice(4, 4)])
def test_a_range_of_targets_is_those_numbers(rows):
    degree = torch.tensor([3, 0, 0, 9, 1, 12, 0, 5, 5, 0])
    graph = Neighborhood(torch.randint(0, 6, (35,)), degree, 6)
    assert torch.equal(graph.restricted(rows).edge_index, graph.restricted(torch.arange(10)[rows]).edge_index)


def test_padding_repeats_the_last_source_of_a_target():
    degree = torch.tensor([4, 5, 5, 4], dtype=torch.int32)
    graph = Neighborhood(torch.arange(18, dtype=torch.int32).flip(0), degree, 18)
    padded, absent = graph.padded
    assert padded.width == 5 and padded.degree.dtype == torch.int32 and padded.num_sources == 18
    assert torch.equal(padded.index[~absent], graph.index) and torch.equal(padded.target[~absent], graph.target)
    assert absent.nonzero().flatten().tolist() == [4, 19] and padded.index[[4, 19]].tolist() == [14, 0]
    assert graph.width == 0 and graph.padded[0] is padded


@pytest.mark.parametrize(("degree", "width"), [([3, 3, 3], 3), ([3, 0, 3], 0), ([1, 1, 3], 0), ([0, 0], 0), ([], 0)])
def test_no_padding_where_none_is_needed_or_too_much_would_be(degree, width):
    graph = Neighborhood(torch.zeros(sum(degree), dtype=torch.int32), torch.tensor(degree, dtype=torch.int32), 1)
    padded, absent = graph.padded
    assert padded is graph and absent is None and graph.width == width


def test_ranges_of_sources_are_the_whole(monkeypatch):
    monkeypatch.setattr(neighborhood, "SOURCES_AT_ONCE", 4)
    monkeypatch.setattr(neighborhood, "_EDGES_AT_ONCE", 5)
    degree = torch.tensor([3, 0, 7, 1, 0, 6])
    index = torch.cat([torch.randperm(11)[:count].sort().values for count in degree.tolist()])
    graph, found = Neighborhood(index, degree, 11), []
    for columns, part in graph.source_parts():
        assert part.num_targets == 6 and part.num_sources == columns.stop - columns.start <= 4
        found.append(part.edge_index + torch.tensor([[columns.start], [0]]))
    edges = torch.cat(found, 1)
    assert torch.equal(edges[:, edges[1].argsort(stable=True)], graph.edge_index)


def test_sources_that_do_not_ascend_have_no_ranges():
    graph = Neighborhood(torch.tensor([0, 2, 1]), torch.tensor([1, 2]), 3)
    assert graph.source_cuts is None
    with pytest.raises(ValueError, match="ascending"):
        list(graph.source_parts())
