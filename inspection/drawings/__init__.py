"""Drawings of small graphs. In: Tensors, typed expressions. Out: values, gradients, pictures as text and SVG."""
