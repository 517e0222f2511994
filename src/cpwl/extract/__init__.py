"""Network -> CPWL: every linear region, exactly."""

from __future__ import annotations

from cpwl.extract.cells import Cells, cells
from cpwl.extract.extract import extract
from cpwl.extract.regions import Regions, count_regions

__all__ = ["Cells", "Regions", "cells", "count_regions", "extract"]
