"""A formula as a mixed-integer program: where is it largest, under a constraint of your own?"""

import highspy

import cpwl

tariff = cpwl.parse("max(min(x + 2*y - 1, 3), -x) - abs(y - 1)/2")
milp = cpwl.io.to_milp(tariff, "tariff.mps", box=(-2, 4))
print(milp)
print("ranges of neurons are", milp.bounds.how)

value, x = milp.optimum([1], largest=True)
print(f"largest value {value:.6f} at {x.round(6).tolist()}; exactly {milp.bounds.layers[-1][0][1]}")

# A row of your own: x + y <= 1.
columns = [milp.columns["x0"], milp.columns["x1"]]
milp.highs.addRow(-highspy.kHighsInf, 1.0, 2, columns, [1.0, 1.0])
value, x = milp.optimum([1], largest=True)
print(f"with x + y <= 1: {value:.6f} at {x.round(6).tolist()}, where the formula is {tariff(x)[0]:.6f}")
