"""Graphs inside a Node, in the making: what a body captures, loops opened and closed."""
