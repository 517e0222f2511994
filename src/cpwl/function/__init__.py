"""The function as a value: pieces, laws, components; algebra; what is wrong with it.

`CPWL` declares its methods. The chapters imported here, and those that they import, have their algorithms.
"""

from cpwl.function import coarser, evaluate, examine, picture  # noqa: F401 - for their methods
from cpwl.function.cpwl import CPWL
from cpwl.function.questions import sets, slopes  # noqa: F401 - for their methods

__all__ = ["CPWL"]
