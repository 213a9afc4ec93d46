"""One HTML file that shows programs. In: a document of plain values. Out: a page that needs no
network.
"""

from .html import page

__all__ = ["page"]
