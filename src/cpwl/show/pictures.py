"""Pictures as SVG text, under one name: functions of one or two variables, and the layers of a network."""

from cpwl.function.picture import COLOURS, Polygon, clip, colour, curve, map_of_pieces, polygons
from cpwl.network.picture import layer_bars

__all__ = ["COLOURS", "Polygon", "clip", "colour", "curve", "layer_bars", "map_of_pieces", "polygons"]
