"""Prove that a closed loop stays inside: a double integrator under its explicit-MPC law, all states, for ever."""

import sys
from importlib.resources import files

import cpwl

bundled = files("cpwl.show").joinpath("examples", "mpc_double_integrator_27.json")
law = cpwl.read(sys.argv[1] if len(sys.argv) > 1 else str(bundled))
law = law.snap().function  # floats as a solver left them: from here on all is exact
loop = cpwl.dynamics.closed_loop([[1, 1], [0, 1]], [[0], [1]], law)  # x -> A x + B u(x)
print("the law takes values in", law.range(), "and the loop has", loop.num_pieces, "pieces")

# |x_1| is at most 5, now and after one, two, three and four steps of the largest input.
rows = [[1, 0], [1, 1], [1, 2], [1, 3], [1, 4]]
safe = (rows + [[-a, -b] for a, b in rows], [5, 5, 6, 8, 11] * 2)
kept = cpwl.dynamics.is_invariant(loop, domain=safe)
print("is the set kept?", kept)
kept.check()  # adds up the proof, sum by sum, in rationals

box = cpwl.dynamics.is_invariant(loop, box=(-1, 1))
print("is the box [-1, 1]^2 kept?", box)

print("equilibria:", [[str(v) for v in x] for x in cpwl.dynamics.equilibria(loop).points])

# Six steps as one function, and as one network with a proof.
six = cpwl.dynamics.iterate(loop.restrict(domain=safe), 6)
network = cpwl.compile(six, precision="exact").network
print(f"six steps: {six.num_pieces} pieces, {network.sizes.neurons} neurons; {cpwl.certify(six, network).statement}")
print("after six steps x_1 is in", six.range(output=0), "and x_2 in", six.range(output=1))
