"""Functions of Nodes: reductions, views, products, statistics."""
