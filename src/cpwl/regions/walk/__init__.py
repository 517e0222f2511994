"""From cell to cell across facets, for networks that bend in many directions."""
