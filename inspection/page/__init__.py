"""One HTML file that shows programs. In: a document of plain values. Out: a page that needs no network."""
