"""Proofs of kind "sums": a network whose neurons fall apart into networks of fewer inputs.

Neurons that do not read each other, on whatever way, are parts of the network; those that read the same inputs
``L x`` are one part. What a part is on a line, a walk along it says; what it is of more inputs, its weights say at a
point in each piece of a slice. What is left of the function on its pieces is the part of all inputs. See docs/sums.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.documents.write import function_document, network_document
from cpwl.exact.integers import linked
from cpwl.exact.rational import fraction_array, text
from cpwl.exact.sparse import RationalMatrix
from cpwl.function import CPWL
from cpwl.function.evaluate import inner_points
from cpwl.function.sums import Summand, contained, rest_of, slice_of, span_of, with_laws
from cpwl.network import Network
from cpwl.network.network import exact_layers
from cpwl.proofs.entries import NoProof, NotRecognised
from cpwl.proofs.question import Proposal, Question, proof_head
from cpwl.proofs.rounding import Bound
from cpwl_check.line import Walk
from cpwl_check.pieces import read_network

_Neurons = list[NDArray[np.int64]]
"""The neurons of a part, layer by layer."""


def propose_sums(question: Question, prove: Callable[[Question], Proposal]) -> Iterator[Proposal]:
    """The sum of what the parts of a network are, each with the proof that `prove` finds for it.

    >>> from cpwl import CPWL, compile
    >>> p = CPWL.from_grid([range(12), range(4)], [[(7 * i * i) % 11 + j * j for j in range(4)] for i in range(12)])
    >>> made = compile(p, construction="sums", certify=True)
    >>> made.certificate.kind, len(made.certificate.document["parts"])
    ('sums', 2)
    """
    p, network = question.p, question.network
    groups = _groups(network)
    parts: list[tuple[Summand, _Neurons]] = []
    others: list[_Neurons] = []
    for rows, columns, neurons in groups:
        own = _restricted(network, neurons, columns)
        function = _on_line(own) if len(rows) == 1 else _of_inputs(p, rows, columns, own)
        at = None if function is None else contained(p, rows, function)
        if function is None or at is None:
            others.append(neurons)
        else:
            parts.append((Summand(rows, columns, function, at), neurons))
    bias, zero = exact_layers(network)[-1][1], np.zeros(p.outputs, dtype=object) + Fraction(0)
    rest = rest_of(p, [part for part, _ in parts])
    if others:
        neurons = [np.sort(np.concatenate(layer)) for layer in zip(*others, strict=True)]
        identity = fraction_array(np.eye(p.dim, dtype=np.int64))
        parts.append((Summand(identity, np.arange(p.dim), rest, np.arange(p.num_pieces)), neurons))
    else:  # the biases of the outputs are all that is left
        first, own_neurons = parts[0]
        law = np.concatenate([np.zeros((p.outputs, len(first.rows)), dtype=object), bias[:, None]], axis=1)
        parts[0] = (Summand(first.rows, first.columns, with_laws(first.function, law), first.at), own_neurons)
    if len(parts) < 2:
        raise NotRecognised("the network does not fall apart into networks of fewer inputs")
    entries, bound = [], Fraction(0)
    for k, (part, neurons) in enumerate(parts):
        level = bias if k == (len(parts) - 1 if others else 0) else zero
        inner = Question(part.function, _restricted(network, neurons, part.columns, level))
        found = prove(inner)
        bound += _number(found.bound)
        entries.append(
            {
                "rows": [[text(v) for v in row] for row in part.rows],
                "columns": part.columns.tolist(),
                "neurons": [layer.tolist() for layer in neurons],
                "bias": [text(Fraction(v)) for v in level],
                "function": function_document(part.function),
                "at": part.at.tolist(),
                "proof": found.document,
            }
        )
    yield Proposal(bound, proof_head("sums", p.dim, bound) | {"parts": entries})


def _number(bound: Bound) -> Fraction:
    if isinstance(bound, tuple):
        raise NoProof("the error of a part grows without bound")
    return bound


def _groups(network: Network) -> list[tuple[NDArray[np.object_], NDArray[np.int64], _Neurons]]:
    """The inputs ``L x`` and the neurons of parts that do not read each other; those of the same inputs are one."""
    layers = exact_layers(network)
    widths = [weight.shape[0] for weight, _ in layers[:-1]]
    if len(widths) < 2:
        raise NotRecognised("one hidden layer is proved as a whole")
    first = np.concatenate([[0], np.cumsum(widths)])
    ends = [(first[l + 1] + weight.rows, first[l] + weight.indices) for l, (weight, _) in enumerate(layers[1:-1])]
    one, two = (np.concatenate(end) for end in zip(*ends, strict=True))
    label = linked(np.stack([one, two], axis=1), int(first[-1]))
    count = int(label.max(initial=-1)) + 1
    if count < 2:
        raise NotRecognised("the neurons of the network are all connected")
    weight, found = layers[0][0].toarray(), dict[tuple[Any, ...], tuple[Any, Any, list[int]]]()
    for k in range(count):
        rows, columns = span_of(weight[np.flatnonzero(label[: widths[0]] == k)])
        found.setdefault(tuple(map(tuple, rows)), (rows, columns, []))[2].append(k)
    groups = []
    for rows, columns, own in found.values():
        mine = np.isin(label, own)
        neurons = [np.flatnonzero(mine[a:b]) for a, b in pairwise(first)]
        if not len(rows) or not all(map(len, neurons)):
            raise NotRecognised("some neurons read no input, or are not read")
        groups.append((rows, columns, neurons))
    if len(groups) < 2:
        raise NotRecognised("the neurons of the network all read the same inputs")
    return groups


def _restricted(
    network: Network, neurons: _Neurons, columns: NDArray[np.int64], bias: NDArray[np.object_] | None = None
) -> Network:
    """The network of some neurons, which read their inputs through these columns."""
    layers, before = [], columns
    for l, (weight, level) in enumerate(exact_layers(network)):
        last = l == len(neurons)
        own = np.arange(weight.shape[0]) if last else neurons[l]
        number = np.full(weight.shape[1], -1, dtype=np.int64)
        number[before] = np.arange(len(before))
        rows = weight.take_rows(own)
        keep, shape = number[rows.indices] >= 0, (len(own), len(before))
        made = RationalMatrix.from_triples(rows.rows[keep], number[rows.indices[keep]], rows.data[keep], shape)
        if last:
            level = np.zeros(len(own), dtype=object) + Fraction(0) if bias is None else bias
        layers.append((made, level[own]))
        before = own
    return Network(layers)


def _on_line(network: Network) -> CPWL:
    """What a network of one input is, from a walk along the line."""
    walk = Walk([Fraction(1)], read_network(network_document(network), 1, network.outputs))
    forms = [np.array(form, dtype=object) for form in walk.outputs]
    places, kept = [], [forms[0]]
    for t, form in zip(walk.places, forms[1:], strict=True):
        if (form != kept[-1]).any():
            places.append(t)
            kept.append(form)
    if not places:
        places = [Fraction(0)]
        kept = [forms[0], forms[0]]
    heights = [(form[:, 0] * t + form[:, 1]).tolist() for t, form in zip(places, kept, strict=False)]
    return CPWL.from_breakpoints(
        places, heights, left_slope=kept[0][:, 0].tolist(), right_slope=kept[-1][:, 0].tolist()
    )


def _of_inputs(p: CPWL, rows: NDArray[np.object_], columns: NDArray[np.int64], network: Network) -> CPWL | None:
    """What a network of some of the inputs is on the pieces of a slice of the function."""
    if len(rows) == p.dim:
        return None
    section = slice_of(p, rows, columns)
    if section is None:
        return None
    inside = inner_points(section, range(section.num_pieces))
    if len(inside) < section.num_pieces:
        return None
    laws = np.array([_law_at(network, fraction_array(inside[i])) for i in range(section.num_pieces)], dtype=object)
    return with_laws(section, laws, instead=True)


def _law_at(network: Network, x: NDArray[np.object_]) -> NDArray[np.object_]:
    """The law of a network near a point at which no neuron is 0, or what it is on one side of those that are."""
    form = np.concatenate([fraction_array(np.eye(len(x), dtype=np.int64)), np.zeros((len(x), 1), dtype=object)], axis=1)
    layers = exact_layers(network)
    for l, (weight, bias) in enumerate(layers):
        form = weight.toarray().dot(form)
        form[:, -1] += bias
        if l + 1 < len(layers):
            form[form[:, :-1].dot(x) + form[:, -1] <= 0] = Fraction(0)
    return form
