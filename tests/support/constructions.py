"""The parts of constructions that tests look into, for a function instead of its analysis."""

from types import SimpleNamespace

from cpwl.construct.analysis import Analysis
from cpwl.construct.blocks import hinges
from cpwl.construct.blocks.common import max_of_mins, rows_of
from cpwl.construct.clamped import plan as clamped_gates
from cpwl.construct.clamped.clusters import TableStars
from cpwl.construct.gates import plan as in_space
from cpwl.construct.gates import plane_gates as in_the_plane
from cpwl.construct.lattice import plan as lattice
from cpwl.construct.lattice.separate import max_min_rows
from cpwl.construct.plan import Options
from cpwl.construct.strips import plan as in_strips
from cpwl.construct.table import TABLE
from cpwl.construct.univariate import plan as on_a_line


def planned(construction, p, **options):
    """The plan of a construction, in exact arithmetic unless the options say otherwise."""
    return TABLE[construction].plan(Analysis(p, Options(**options)))


def find_hinges(p):
    """The consistent jumps of all bend hyperplanes."""
    return hinges.find_hinges(Analysis(p))


def hinge(p):
    """The network of one hidden layer."""
    return hinges.hinge_network(Analysis(p))


def univariate(p, layers=None):
    """The network of a function that bends in one direction."""
    return on_a_line.smallest(Analysis(p), "neurons", layers)[0]


def plane_gates(p, **options):
    """Gates on lines, and what they are made of."""
    return in_the_plane.plane_gates(Analysis(p).exact, **options)


def space_gates(p):
    """Gates on planes, and what they are made of."""
    return in_space.space_gates(Analysis(p))


def clamped(p, **options):
    """Clamped gates, and into how many bumps they cut the function."""
    analysis = Analysis(p)
    network = clamped_gates.clamped(analysis, **options).build()
    bumps, _, _ = clamped_gates._sums(TableStars(analysis.exact.table), False)
    return SimpleNamespace(network=network, clusters=sum(map(len, bumps)))


def strips(p, **options):
    """Strips, and what they are made of; without cuts where one hidden layer of hinges does."""
    analysis = Analysis(p).exact
    laid = in_strips.lay_strips(analysis, **options)
    return laid or SimpleNamespace(network=hinges.hinge_network(analysis.solid), cuts=None)


def plain_lattice(p, output=0):
    """The max of mins of one output, and its rows."""
    sides = lattice.shared_lattice(Analysis(p)).sides[output]
    rows = max_min_rows(sides.above, sides.below)
    return SimpleNamespace(network=max_of_mins(p.components(output), rows), rows=[tuple(row.tolist()) for row in rows])


def shared_lattice(p):
    """The lattice of all outputs together, and its formulas."""
    return lattice.shared_lattice(Analysis(p))


def algorithm_1(p):
    """Algorithm 1's network for the first output, without a test of its rows."""
    return max_of_mins(p.components(0), rows_of(Analysis(p).orders[0]))
