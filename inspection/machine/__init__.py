"""The limits of a machine, measured. In: a device. Out: rates of memory and arithmetic, and what
they predict.
"""
