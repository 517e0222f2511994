"""Small ONNX models by hand, and what onnxruntime makes of them."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

__all__ = ["make", "node", "run", "saved"]

ort = pytest.importorskip("onnxruntime")


def run(path, x):
    """What onnxruntime computes for each row of `x`, one row at a time where the batch is 1."""
    session = ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    (value,) = session.get_inputs()
    dtype = {"tensor(float)": np.float32, "tensor(double)": np.float64}[value.type]
    rows = [np.reshape(row, [s if isinstance(s, int) else 1 for s in value.shape]) for row in x]
    return np.array([session.run(None, {value.name: row.astype(dtype)})[0].ravel() for row in rows])


def make(nodes, constants, shape=(1, 2), output="Y", outputs=2, kind=TensorProto.DOUBLE):
    """A model from input `X` of the given shape, with float64 initializers."""
    tensors = [numpy_helper.from_array(np.asarray(v, dtype=np.float64), k) for k, v in constants.items()]
    x = helper.make_tensor_value_info("X", kind, shape)
    y = helper.make_tensor_value_info(output, kind, [1, outputs])
    graph = helper.make_graph(nodes, "test", [x], [y], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def node(op, inputs, output, **attributes):
    """A node named after its operator and output."""
    return helper.make_node(op, inputs, [output], f"{op}_to_{output}", **attributes)


def saved(model, folder):
    """The path of the model as a file."""
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path
