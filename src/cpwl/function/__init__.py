"""The function as a value: pieces, laws, components; algebra; what is wrong with it.

`CPWL` declares its methods; the chapters of this folder have their algorithms, which are attached here.
"""

from cpwl.function import evaluate, examine, flags
from cpwl.function.algebra import arithmetic, composition, extremes
from cpwl.function.answers import Report
from cpwl.function.coarser import approximate
from cpwl.function.cpwl import CPWL, attach
from cpwl.function.merge import merge as merge_pieces
from cpwl.function.picture import picture as svg_picture
from cpwl.function.picture import plot, plot_findings
from cpwl.function.questions import extent, sets, slopes
from cpwl.function.snap.snap import snap as snap_data

__all__ = ["CPWL"]

attach(Report, plot=plot_findings)
attach(
    CPWL,
    __call__=evaluate.evaluate,
    __eq__=flags.is_same,
    __hash__=flags.hashed,
    fingerprint=flags.fingerprint,
    doctor=examine.doctor,
    merge=merge_pieces,
    snap=snap_data,
    plot=plot,
    _repr_svg_=svg_picture,
)
attach(
    CPWL,
    __add__=arithmetic.add,
    __radd__=arithmetic.add,
    __sub__=arithmetic.subtract,
    __rsub__=arithmetic.subtracted_from,
    __mul__=arithmetic.times,
    __rmul__=arithmetic.times,
    __neg__=arithmetic.negative,
    __rmatmul__=arithmetic.linear_image,
    __matmul__=composition.after,
    __getitem__=arithmetic.output,
    __abs__=extremes.absolute,
    clip=extremes.clip,
    relu=extremes.positive_part,
    restrict=extremes.restrict,
    extend=extremes.extend,
    compose=composition.compose,
)
attach(
    CPWL,
    range=extent.value_range,
    argmax=extent.argmax,
    argmin=extent.argmin,
    integral=extent.integral,
    mean=extent.mean,
    lipschitz=slopes.lipschitz,
    is_monotone=slopes.is_monotone,
    depends_on=slopes.depends_on,
    is_convex=slopes.is_convex,
    is_concave=slopes.is_concave,
    solve=sets.solve,
    level_set=sets.level_set,
    distance=extent.distance,
    approximate=approximate,
)
