"""Integers that a program does not know: polynomials of symbols. In: arithmetic on extents. Out:
the same as Python's integers would give, for every value of the symbols.

A program that serves many sizes is compiled once, over shapes that hold such integers. The compiler
computes with them as with others. What it asks of them is answered in one of three ways:

- proven: the answer is the same for all values, as for `n < 4 * n`;
- recorded: it holds for the values at hand, and becomes a guard of the program;
- refused: a plain integer is needed, as for `range(n)`. NotSymbolic is raised, and the program is
  compiled for the values at hand alone.

While a program is laid out for given values (`Scope.at`), all this is plain arithmetic.
"""
