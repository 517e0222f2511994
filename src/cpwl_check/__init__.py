"""A stand-alone checker of proofs that ReLU networks compute piecewise-linear functions.

    python -m cpwl_check law.json net.json law.proof.json

or ``python cpwl_check.pyz ..``, which is this package in one file and needs nothing but Python. Only the standard
library, no code of `cpwl`, only integers and fractions. Read `decide` first; `main` prints the verdict.
"""
