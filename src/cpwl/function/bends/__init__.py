"""Where and how strongly a function bends: neighbours, edges and bends in the plane, tables, profiles on a line."""
