"""Functions as pictures: what is seen in a window, as polygons, as SVG, and with matplotlib."""
