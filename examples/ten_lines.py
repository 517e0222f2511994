"""From a table of values to a proved network: a pyramid over a square, given on four triangles."""

import cpwl

points = [[0, 0], [2, 0], [2, 2], [0, 2], [1, 1]]
triangles = [[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]]
p = cpwl.CPWL.from_simplices(points, triangles, values=[0, 0, 0, 0, 1])

compiled = cpwl.compile(p)
certificate = cpwl.certify(p, compiled.network)
print(p, compiled.network, compiled.sizes, certificate.statement, sep="\n")
print("function", p([["1/3", "1/2"]])[0, 0], " network", compiled.network([["1/3", "1/2"]])[0, 0])

certificate.save("pyramid.proof.json")
cpwl.io.to_onnx(compiled.network, "pyramid.onnx")
