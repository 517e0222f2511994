"""PyTorch modules, with PyTorch as the oracle."""

import sys

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import cpwl
from cpwl.errors import InputError, LimitError
from cpwl.exact.rational import to_float
from cpwl.io.torch import from_torch, to_torch
from cpwl.network import Network
from cpwl.network.algorithms import extremum, identity
from support.functions import delaunay
from support.strategies import networks, points

torch = pytest.importorskip("torch")
nn = torch.nn


def run(module, x):
    """What the module computes, in NumPy."""
    dtype = next(module.parameters()).dtype
    with torch.no_grad():
        return module(torch.tensor(x, dtype=dtype)).numpy()


@given(st.data())
def test_module_computes_the_network(data):
    """PyTorch gives the values of the network, up to float64 rounding."""
    network = data.draw(networks())
    x = to_float(data.draw(points(network.inputs)))
    np.testing.assert_allclose(run(to_torch(network), x), network(x), rtol=1e-12, atol=1e-10)


def test_float32_module():
    """A float32 module has the weights rounded to float32."""
    module = to_torch(Network([([[0.1]], [0.3])]), dtype="float32")
    assert module[0].weight.dtype == torch.float32
    assert module[0].weight.item() == float(np.float32(0.1))


def test_module_is_linear_and_relu():
    """The module alternates Linear and ReLU, begins and ends with Linear, and is in evaluation mode."""
    module = to_torch(extremum([[1.0], [2.0], [3.0]], [0, 0, 0]))
    assert [type(m) for m in module] == [nn.Linear, nn.ReLU, nn.Linear, nn.ReLU, nn.Linear]
    assert not module.training


def test_random_state_stays():
    """Building a module draws no random numbers."""
    state = torch.get_rng_state()
    to_torch(identity(3, 3))
    assert torch.equal(state, torch.get_rng_state())


@given(networks(exact=False))
def test_round_trip(network):
    """What was built is read back, weight for weight."""
    again = from_torch(to_torch(network))
    assert again.exact is None
    for (weight, bias), (weight_2, bias_2) in zip(network.layers, again.layers, strict=True):
        assert (weight.toarray() == weight_2.toarray()).all()
        assert (bias == bias_2).all()


SHARED = nn.ReLU()
MODULES = {
    "nested": nn.Sequential(nn.Sequential(nn.Linear(2, 3), nn.ReLU()), nn.Sequential(nn.Linear(3, 1))),
    "no bias": nn.Sequential(nn.Linear(2, 3, bias=False), nn.ReLU(), nn.Linear(3, 1, bias=False)),
    "one ReLU used twice": nn.Sequential(nn.Linear(2, 3), SHARED, nn.Linear(3, 3), SHARED, nn.Linear(3, 1)),
    "flatten, identity, dropout": nn.Sequential(
        nn.Flatten(), nn.Linear(2, 3), nn.Dropout(0.5), nn.ReLU(inplace=True), nn.Identity(), nn.Linear(3, 2)
    ).eval(),
    "relu at both ends": nn.Sequential(nn.ReLU(), nn.Linear(2, 3), nn.ReLU()),
    "two linear layers": nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 2)),
    "a single layer": nn.Linear(2, 3),
    "float64": nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 2)).double(),
    "bfloat16 weights": nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 2)).bfloat16().float(),
}


@pytest.mark.parametrize("case", MODULES)
def test_reads_modules(case):
    """PyTorch and the network read from the module agree up to float32 rounding."""
    x = np.random.default_rng(0).normal(size=(50, 2))
    x = x.astype(np.float32).astype(np.float64)
    np.testing.assert_allclose(from_torch(MODULES[case])(x), run(MODULES[case], x), rtol=0, atol=1e-5)


IMAGES = {
    "convolution": (nn.Sequential(nn.Conv2d(2, 3, 2), nn.ReLU(), nn.Flatten(), nn.Linear(36, 2)), (2, 4, 5)),
    "convolution, all options": (nn.Conv2d(2, 4, (2, 3), stride=2, padding=1, dilation=(1, 2), groups=2), (2, 6, 7)),
    "convolution to the same size": (nn.Conv2d(1, 2, (3, 5), padding="same", dilation=(2, 1), bias=False), (1, 5, 5)),
    "one dimension": (nn.Sequential(nn.Conv1d(1, 2, 3), nn.ReLU(), nn.Conv1d(2, 1, 2)), (1, 7)),
    "batch normalization": (nn.Sequential(nn.Conv2d(1, 3, 2), nn.BatchNorm2d(3), nn.ReLU()).eval(), (1, 3, 3)),
    "averages": (nn.Sequential(nn.AvgPool2d(2, padding=1), nn.Conv2d(1, 1, 2)), (1, 4, 4)),
    "maxima": (nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(1, 1, 2)), (1, 5, 4)),
    "maxima on a line": (
        nn.Sequential(nn.Conv1d(2, 2, 1), nn.MaxPool1d(3, stride=2, padding=1), nn.AvgPool1d(2)),
        (2, 7),
    ),
    "averages in space": (nn.Sequential(nn.AvgPool3d(2), nn.MaxPool3d((1, 2, 1)), nn.Conv3d(1, 1, 1)), (1, 4, 4, 2)),
    "leaky": (nn.Sequential(nn.Linear(3, 4), nn.LeakyReLU(0.125), nn.Linear(4, 2)), (3,)),
    "prelu": (nn.Sequential(nn.Conv1d(1, 3, 2), nn.PReLU(3)), (1, 4)),
    "clipped": (nn.Sequential(nn.Linear(3, 4), nn.ReLU6(), nn.Linear(4, 3), nn.Hardtanh(-0.5, 0.25)), (3,)),
    "normalised vector": (nn.Sequential(nn.BatchNorm1d(3, affine=False), nn.Linear(3, 1)).eval(), (3,)),
}


@pytest.mark.parametrize("case", IMAGES)
def test_reads_other_layers(case):
    """PyTorch and the network agree on samples of the given shape, up to float64 rounding."""
    torch.manual_seed(0)
    module, shape = IMAGES[case]
    module = module.double()
    for layer in module.modules():
        if isinstance(layer, nn.modules.batchnorm._BatchNorm):
            layer.running_mean.uniform_(-1, 1)
            layer.running_var.uniform_(0.5, 2)
    x = np.random.default_rng(0).normal(size=(20, int(np.prod(shape))))
    theirs = run(module, x.reshape(20, *shape)).reshape(20, -1)
    network = from_torch(module, shape=shape)
    np.testing.assert_allclose(network(x), theirs, rtol=0, atol=1e-12)


def test_integer_weights_are_exact():
    """On integers PyTorch computes without rounding: rational values are equal to its own."""
    rng = np.random.default_rng(0)
    module = nn.Sequential(nn.Linear(2, 4), nn.LeakyReLU(0.5), nn.Linear(4, 3), nn.ReLU6(), nn.Linear(3, 1))
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.tensor(rng.integers(-3, 4, size=parameter.shape)))
    x = rng.integers(-4, 5, size=(20, 2))
    assert (from_torch(module)(x.astype(object)) == run(module, x)).all()


class Doubled(nn.Linear):
    """A layer that is not what it looks like."""

    def forward(self, x):
        """Twice the layer."""
        return 2 * super().forward(x)


class Free(nn.Module):
    """A module with layers, a buffer, and a `forward` that is given as a function."""

    def __init__(self, forward, **layers):
        super().__init__()
        for name, layer in layers.items():
            self.add_module(name, layer)
        self.register_buffer("k", torch.tensor([1.0, -2.0], dtype=torch.float64))
        self.rule = forward

    def forward(self, x):
        """Whatever was given."""
        return self.rule(self, x)


def residual(m, x):
    """Skips, a branch, a mean, a slice, and activations of every kind."""
    h = nn.functional.relu(m.a(x), inplace=True)
    g = m.d(m.n(torch.relu(m.b(h)) + h))
    y = m.c(torch.cat([h, g], 1))
    return torch.maximum(y, -y) * m.k - y.mean(1, keepdim=True) / 3 + x[:, 1:3].clamp(-1, 1) + 0.5


def small_image(m, x):
    """A convolution, both kinds of pooling, and reshaping."""
    x = nn.functional.avg_pool2d(m.p(torch.relu(m.a(x))), 2)
    x = m.q(x)
    return m.l(x.view(x.size(0), -1)) - torch.flatten(x, 1)


def extremes(m, x):
    """Reductions, permutations, selections and the other operations."""
    y = x.view(-1, 2, 3).permute(0, 2, 1)
    z = torch.minimum(y.amax(dim=1), y.sum(dim=1)) - 2 * y.transpose(1, 2).amin(2).abs()
    part = nn.functional.leaky_relu(y[:, 1], 0.25) - nn.functional.relu6(y.select(1, 2))
    return 1 - torch.add(z, part, alpha=2) @ m.a.weight.T.contiguous()


FREE = {
    "residual": (
        lambda: Free(
            residual, a=nn.Linear(4, 6), b=nn.Linear(6, 6), c=nn.Linear(12, 2), n=nn.BatchNorm1d(6), d=nn.Dropout()
        ),
        (4,),
    ),
    "image": (
        lambda: Free(
            small_image,
            a=nn.Conv2d(1, 2, 3, padding=1),
            p=nn.MaxPool2d(2),
            q=nn.AdaptiveAvgPool2d(1),
            l=nn.Linear(2, 2),
        ),
        (1, 8, 8),
    ),
    "extremes": (lambda: Free(extremes, a=nn.Linear(2, 2)), (6,)),
    "doubled": (lambda: nn.Sequential(Doubled(2, 3), nn.ReLU()), (2,)),
    "entries moved": (
        lambda: Free(
            lambda m, x: (
                torch.stack([m.a(x).flip(1), m.a(x).roll(1, 1), m.a(x)[:, [2, 0, 1]]], 2).flatten(1)
                + torch.cat([part.repeat(1, 3) for part in m.a(x).split(1, 1)], 1)
                + m.a(x)[:, :1].expand(-1, 9)
            ),
            a=nn.Linear(3, 3),
        ),
        (3,),
    ),
    "constants": (lambda: Free(lambda m, x: m.a(x) * torch.relu(m.k).sum() + torch.ones(2), a=nn.Linear(3, 2)), (3,)),
}


@pytest.mark.parametrize("case", FREE)
def test_modules_with_a_forward_of_their_own(case):
    """What `torch.export` traces is the network: both agree at random samples, up to float64 rounding."""
    torch.manual_seed(1)
    make, shape = FREE[case]
    module = make().double().eval()
    x = np.random.default_rng(0).normal(size=(20, int(np.prod(shape))))
    network = from_torch(module, shape=shape)
    np.testing.assert_allclose(network(x), run(module, x.reshape(20, *shape)).reshape(20, -1), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("forward", "message"),
    [
        (lambda m, x: m.a(x) * x, "two values that depend on the input"),
        (lambda m, x: torch.tanh(m.a(x)), "`aten.tanh.default` of the module is not supported"),
        (lambda m, x: m.a(x) - m.a(x).mean(0), "along the samples"),
        (lambda m, x: m.a(x) - m.a(x).mean(0, keepdim=True), "along the samples"),
        (lambda m, x: m.a(x).view(1, -1), "sample of a batch by itself"),
        (lambda m, x: m.a(x) + m.a(x).sum(1), "have 2 and 1 dimensions"),
        (lambda m, x: m.a(x).T, "moves the samples|sample of a batch"),
        (lambda m, x: torch.cat([m.a(x), x], 0), "sample of a batch by itself"),
        (lambda m, x: m.a(x).flip(0), "sample of a batch by itself"),
        (lambda m, x: m.a(x).roll(1, 0), "sample of a batch by itself"),
        (lambda m, x: m.a(x)[:1].expand(3, -1), "sample of a batch by itself"),
        (lambda m, x: m.a(x) + torch.rand(3), "it is random"),
        (lambda m, x: m.a(x) + torch.arange(9.0).view(3, 3), "differ from sample to sample"),
        (lambda m, x: m.a(x) if x.sum() > 0 else x, "cannot trace the module"),
        (lambda m, x: (m.a(x), x), "one input and one output"),
        (lambda m, _: m.k, "does not depend on its input|cannot trace"),
        (lambda m, x: nn.functional.dropout(m.a(x)), "is not supported"),
    ],
)
def test_refuses_what_is_not_piecewise_linear_or_mixes_samples(forward, message):
    """An operation that is unknown, random, or looks at several samples at once, is named and refused."""
    with pytest.raises(InputError, match=message):
        from_torch(Free(forward, a=nn.Linear(3, 3)).double().eval())


def test_refuses_modules_in_training_mode():
    """Statistics of the batch at hand are not a function of a sample."""
    with pytest.raises(InputError, match=r"\.eval\(\)"):
        from_torch(Free(lambda m, x: m.n(m.a(x)), a=nn.Linear(3, 3), n=nn.BatchNorm1d(3)).double())


def with_hook():
    """A layer whose output is changed by a hook."""
    layer = nn.Linear(2, 2)
    layer.register_forward_hook(lambda *_: None)
    return layer


class Called(nn.Linear):
    """A layer that is called in a way of its own."""

    def __call__(self, x):
        """Twice the layer."""
        return 2 * super().__call__(x)


def patched():
    """A layer whose own `forward` was replaced."""
    layer = nn.Linear(2, 2)
    layer.forward = lambda x: 2 * x
    return layer


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (nn.Sequential(patched()), r"module `0` \(Linear\) has been given a `forward`"),
        (nn.Sequential(Called(2, 2)), r"module `0` \(Called\) has been given a `forward` or `__call__`"),
        (nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.Tanh())), r"module `1\.0` \(Tanh\) is not one of"),
        (
            nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5)),
            r"module `1` \(Dropout\) is random in training mode",
        ),
        (nn.Sequential(nn.Flatten(0), nn.Linear(2, 2)), "must flatten all but the first"),
        (nn.Sequential(with_hook()), "has hooks"),
        (nn.Sequential(nn.ReLU()), "no layer with weights"),
        (nn.Linear(2, 2, dtype=torch.complex64), "must be real floats"),
        (nn.Conv2d(1, 1, 1), r"the module \(Conv2d\) needs the shape of a sample"),
        (
            nn.Sequential(nn.Linear(2, 3), nn.Linear(2, 3)),
            r"module `1` \(Linear\) does not fit an input of shape \(3,\)",
        ),
        (nn.Sequential(nn.BatchNorm1d(2)), r"module `0` \(BatchNorm1d\) normalises by the batch at hand"),
        (nn.Sequential(nn.Linear(2, 2), nn.Softmax(1)), r"module `1` \(Softmax\) is not one of"),
    ],
)
def test_refuses_other_modules(module, message):
    """Anything else is refused with the place and type of the module."""
    with pytest.raises(InputError, match=message):
        from_torch(module)


def test_refuses_global_hooks():
    """A hook that every module runs may compute anything."""
    handle = nn.modules.module.register_module_forward_hook(lambda *_: None)
    try:
        with pytest.raises(InputError, match="PyTorch has global hooks"):
            from_torch(nn.Linear(2, 2))
    finally:
        handle.remove()
    assert from_torch(nn.Linear(2, 2)).inputs == 2


def test_refuses_classes_that_were_changed(monkeypatch):
    """A `forward` that was put in the place of PyTorch's own."""
    monkeypatch.setattr(nn.ReLU, "forward", lambda self, x: -x)  # noqa: ARG005
    with pytest.raises(InputError, match="the `forward` of ReLU is not PyTorch's own"):
        from_torch(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))


def test_refuses_other_types():
    """Only float32 and float64 modules are built."""
    with pytest.raises(InputError, match='`dtype` must be one of "float32", "float64", not \'float16\''):
        to_torch(identity(1, 1), dtype="float16")


def test_float32_overflow():
    """A weight beyond float32 is our limit."""
    with pytest.raises(LimitError, match="float32 ends at"):
        to_torch(Network([([[1e39]], [0.0])]), dtype="float32")


def test_too_large_to_be_dense():
    """A network that would be huge when dense is refused before anything is built."""
    with pytest.raises(LimitError, match=r"GiB as dense float64, more than the 4 GiB"):
        to_torch(extremum(np.ones((30_000, 1)), np.arange(30_000)))


@pytest.mark.parametrize("call", [lambda: to_torch(identity(1, 1)), lambda: from_torch(None)])
def test_without_torch(monkeypatch, call):
    """Without PyTorch the error says what to install."""
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(LimitError, match="run `pip install torch`"):
        call()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ["even", "uneven and down", "scattered", "half-spaces"])
def test_a_function_by_lookup_is_what_the_c_code_computes(tmp_path, name, dtype):
    """Grids and buckets in torch operations, within the proved bound of the same tables; outside, too."""
    rng = np.random.default_rng(0)
    p = {
        "even": lambda: cpwl.CPWL.from_grid([range(4), range(5)], rng.integers(-9, 9, (4, 5, 2))),
        "uneven and down": lambda: cpwl.CPWL.from_simplices(
            [[0, 0], [-1, 0], [-5, 0], [0, 1], [-1, 1], [-5, 1], [0, 7], [-1, 7], [-5, 7]],
            [[0, 1, 4], [0, 3, 4], [1, 2, 5], [1, 4, 5], [3, 4, 7], [3, 6, 7], [4, 5, 8], [4, 7, 8]],
            rng.integers(-9, 9, 9),
        ),
        "scattered": lambda: delaunay(2, 14, 0),
        "half-spaces": lambda: cpwl.CPWL.from_breakpoints([0, 1, 3], [0, 2, 1], left_slope=0, right_slope=1),
    }[name]()
    module = cpwl.io.to_torch(p, dtype=dtype)
    code = cpwl.io.to_c(p, tmp_path / "law.h", form="grid", dtype=dtype)
    x = rng.uniform(-6, 8, (500, p.dim)).astype(dtype)
    found = module(torch.from_numpy(x)).numpy()
    assert found.dtype == np.dtype(dtype)
    size = np.abs(code(x)).max()
    assert np.abs(found - code(x)).max() <= 16 * np.finfo(dtype).eps * size * (1 + np.abs(x).max())
