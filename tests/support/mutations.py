"""Files that were damaged at random: bytes of any file, and the parts of ONNX models and JSON documents."""

import copy
import json
import math

import numpy as np
import onnx
from onnx import AttributeProto, helper

__all__ = ["damaged_bytes", "damaged_json", "damaged_model", "damaged_numbers"]

_INTEGERS = (-(2**63), -(2**31), -2, -1, 0, 1, 2, 3, 7, 2**20, 2**31, 2**62)
_NUMBERS = (float("nan"), math.inf, -math.inf, -1.0, 0.0, 1e300, 5e-324, 0.1)
_NAMES = ("", "X", "Y", "W", "no such name", "\x1b[31m", "a" * 5000)
_OPERATORS = ("Relu", "Gemm", "MatMul", "Conv", "MaxPool", "Concat", "Clip", "Reshape", "Pad", "Slice", "Cast", "Split")


def damaged_bytes(data: bytes, rng: np.random.Generator) -> bytes:
    """The bytes with some of them changed, cut out, doubled, or the end cut off."""
    changed = bytearray(data)
    for _ in range(int(rng.integers(1, 5))):
        at = int(rng.integers(len(changed) + 1))
        match int(rng.integers(4)):
            case 0 if changed:
                changed[at % len(changed)] = int(rng.integers(256))
            case 1:
                del changed[at : at + int(rng.integers(1, 9))]
            case 2:
                changed[at:at] = changed[at : at + int(rng.integers(1, 33))]
            case _:
                del changed[max(at, len(changed) // 2) :]
    return bytes(changed)


def _pick(rng, options):
    return options[int(rng.integers(len(options)))]


def _attribute(rng) -> AttributeProto:
    names = ("axis", "axes", "pads", "kernel_shape", "strides", "group", "alpha", "to", "perm", "auto_pad", "epsilon")
    value = _pick(
        rng,
        (
            int(_pick(rng, _INTEGERS)),
            float(_pick(rng, _NUMBERS)),
            [int(_pick(rng, _INTEGERS)) for _ in range(int(rng.integers(1, 5)))],
            "SAME_UPPER",
            [0.5, -1.0],
        ),
    )
    return helper.make_attribute(_pick(rng, names), value)


def _change_node(proto, rng) -> None:
    match int(rng.integers(8)):
        case 0:
            proto.op_type = _pick(rng, _OPERATORS)
        case 1 if proto.input:
            proto.input[int(rng.integers(len(proto.input)))] = _pick(rng, _NAMES)
        case 2 if proto.output:
            proto.output[int(rng.integers(len(proto.output)))] = _pick(rng, _NAMES)
        case 3 if proto.attribute:
            del proto.attribute[int(rng.integers(len(proto.attribute)))]
        case 4 if proto.attribute:
            chosen = proto.attribute[int(rng.integers(len(proto.attribute)))]
            if chosen.ints:
                chosen.ints[int(rng.integers(len(chosen.ints)))] = _pick(rng, _INTEGERS)
            chosen.i, chosen.f = _pick(rng, _INTEGERS), _pick(rng, _NUMBERS)
        case 5 if proto.attribute:
            proto.attribute[0].type = int(rng.integers(0, 15))
        case 6 if proto.input:
            proto.input.append(proto.input[0]) if rng.random() < 0.5 else proto.input.pop()
        case _:
            proto.attribute.append(_attribute(rng))


def _change_tensor(tensor, rng) -> None:
    match int(rng.integers(4)):
        case 0:
            tensor.dims.append(_pick(rng, _INTEGERS))
        case 1 if tensor.dims:
            tensor.dims[int(rng.integers(len(tensor.dims)))] = _pick(rng, _INTEGERS)
        case 2:
            tensor.data_type = int(rng.integers(0, 25))
        case _:
            tensor.raw_data = damaged_bytes(tensor.raw_data or b"0", rng)


def _change_graph(model, rng) -> None:
    graph = model.graph
    match int(rng.integers(7)):
        case 0:
            del graph.node[int(rng.integers(len(graph.node)))]
        case 1:
            graph.node.append(copy.deepcopy(graph.node[int(rng.integers(len(graph.node)))]))
        case 2:
            model.opset_import[0].version = _pick(rng, (-1, 0, 1, 5, 6, 7, 9, 10, 11, 12, 18, 22, 99, 2**40))
        case 3:
            kind = graph.input[0].type.tensor_type
            kind.elem_type = int(rng.integers(0, 25))
        case 4:
            dims = graph.input[0].type.tensor_type.shape.dim
            if dims:
                dims[int(rng.integers(len(dims)))].dim_value = _pick(rng, _INTEGERS)
        case 5:
            graph.output[0].name = _pick(rng, _NAMES)
        case _:
            graph.node[0].domain = _pick(rng, ("", "ai.onnx", "com.microsoft"))


def damaged_model(model: onnx.ModelProto, rng: np.random.Generator) -> bytes:
    """A model with one to three of its nodes, attributes, tensors, shapes, names and versions changed."""
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    for _ in range(int(rng.integers(1, 4))):
        draw = rng.random()
        if draw < 0.55 and changed.graph.node:
            _change_node(changed.graph.node[int(rng.integers(len(changed.graph.node)))], rng)
        elif draw < 0.75 and changed.graph.initializer:
            _change_tensor(changed.graph.initializer[int(rng.integers(len(changed.graph.initializer)))], rng)
        elif changed.graph.node:
            _change_graph(changed, rng)
    return changed.SerializeToString()


def damaged_json(document: object, rng: np.random.Generator) -> str:
    """A document with a few of its members replaced, left out or doubled."""
    changed = copy.deepcopy(document)
    for _ in range(int(rng.integers(1, 4))):
        place = changed
        while isinstance(place, (dict, list)) and place:
            keys = list(place) if isinstance(place, dict) else range(len(place))
            key = _pick(rng, keys)
            if isinstance(place[key], (dict, list)) and place[key] and rng.random() < 0.8:
                place = place[key]
                continue
            others = (
                None,
                True,
                [],
                {},
                "",
                "1/0",
                "1/3",
                "x",
                -1,
                0,
                10**40,
                1e308,
                -1e-320,
                [[1]],
                "9" * 50,
                "1e999",
            )
            match int(rng.integers(3)):
                case 0:
                    del place[key]
                case 1:
                    place[key] = copy.deepcopy(_pick(rng, others))
                case _ if isinstance(place, list):
                    place.append(place[key])
                case _:
                    place["another"] = 1
            break
    return json.dumps(changed)


def damaged_numbers(document: object, rng: np.random.Generator) -> str:
    """A document with some of its numbers replaced by other numbers: often a valid document, and rarely a function."""
    changed = copy.deepcopy(document)
    places: list[tuple[list, int]] = []

    def collect(part):
        members = part.values() if isinstance(part, dict) else part
        for i, member in enumerate(members):
            if isinstance(member, (dict, list)):
                collect(member)
            elif isinstance(part, list):
                places.append((part, i))

    collect(changed)
    others = (0, 1, -1, 2, "1/3", 0.1, 1e-300, 1e300, 10**30, "-7/2", 5e-324, 1e16, 3)
    for _ in range(int(rng.integers(1, 4))):
        part, i = _pick(rng, places)
        part[i] = _pick(rng, others)
    return json.dumps(changed)
