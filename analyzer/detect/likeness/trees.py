"""Extremely randomised trees over marks: how they are packed and scored with NumPy alone.

The nodes of all trees lie behind one another, each before its own two: a run that lacks the node's mark goes on at the next
node, one that has it at ``turn``. A leaf has no mark, and ``turn`` is its number; of its distribution over the labels the
shares above zero are listed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from analyzer.record import NamedTuple

if TYPE_CHECKING:
    import numpy.typing as npt

LEAF = -1
"""Instead of a mark."""

WHOLE = 255
"""Of a share in one byte."""


class Trees(NamedTuple):
    """Trees of one model.

    Attributes:
        roots: int32, shape (trees,): first node of each.
        mark: int16, shape (nodes,): column of the mark that is asked for, or ``LEAF``.
        turn: int32, shape (nodes,): where runs with the mark go on; of a leaf its number.
        start: int32, shape (leaves + 1,): first entry of each leaf.
        label: uint8, shape (entries,).
        share: uint8, shape (entries,): of ``WHOLE``.
    """

    roots: npt.NDArray[np.int32]
    mark: npt.NDArray[np.int16]
    turn: npt.NDArray[np.int32]
    start: npt.NDArray[np.int32]
    label: npt.NDArray[np.uint8]
    share: npt.NDArray[np.uint8]

    def shares(self, present: npt.NDArray[np.bool_], labels: int) -> npt.NDArray[np.float64]:
        """Mean distribution of the leaves that a run falls into, shape (labels,).

        Args:
            present: bool, shape (marks,): which marks the run has.
            labels: How many labels there are.
        """
        at = self.roots.astype(np.int64)
        while len(inner := np.flatnonzero(self.mark[at] != LEAF)):
            node = at[inner]
            at[inner] = np.where(present[self.mark[node]], self.turn[node], node + 1)
        leaves = self.turn[at]
        spans = [np.arange(self.start[leaf], self.start[leaf + 1]) for leaf in leaves]
        entries = np.concatenate(spans)
        total = np.bincount(self.label[entries], self.share[entries], labels)
        return np.asarray(total / max(float(total.sum()), 1.0))


def trees_of(stored: Mapping[str, Any]) -> Trees:
    """The trees in the arrays of a model file."""
    return Trees(**{name: stored[f"tree_{name}"] for name in Trees._fields})


def pack_trees(fitted: Any) -> dict[str, Any]:
    """The arrays of a model file for scikit-learn's trees over marks that are 0 or 1."""
    roots, marks, turns, starts, labels, shares = [], [], [], [0], [], []
    nodes = leaves = 0
    for each in fitted.estimators_:
        tree = each.tree_
        is_leaf = tree.children_left < 0
        numbers = leaves + np.cumsum(is_leaf) - 1
        roots.append(nodes)
        marks.append(np.where(is_leaf, LEAF, tree.feature))
        turns.append(np.where(is_leaf, numbers, tree.children_right + nodes))
        for row in tree.value[is_leaf, 0]:
            packed = np.round(row / row.sum() * WHOLE).astype(np.uint8)
            there = np.flatnonzero(packed)
            labels.append(there)
            shares.append(packed[there])
            starts.append(starts[-1] + len(there))
        nodes, leaves = nodes + tree.node_count, leaves + int(is_leaf.sum())
    return {
        "tree_roots": np.array(roots, np.int32),
        "tree_mark": np.concatenate(marks).astype(np.int16),
        "tree_turn": np.concatenate(turns).astype(np.int32),
        "tree_start": np.array(starts, np.int32),
        "tree_label": np.concatenate(labels).astype(np.uint8),
        "tree_share": np.concatenate(shares).astype(np.uint8),
    }
