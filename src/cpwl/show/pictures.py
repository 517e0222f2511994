"""Pictures as SVG text, under one name: functions of one or two variables, and the layers of a network."""

from cpwl.function.picture.polygons import Polygon, clip, polygons
from cpwl.function.picture.svg import COLOURS, colour, curve, map_of_pieces
from cpwl.network.picture import layer_bars

__all__ = ["COLOURS", "Polygon", "clip", "colour", "curve", "layer_bars", "map_of_pieces", "polygons"]
