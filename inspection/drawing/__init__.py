"""`wf.draw`. In: an expression. Out: its steps with values and gradients, as text and as a
picture.
"""
