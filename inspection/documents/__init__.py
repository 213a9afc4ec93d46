"""Programs as data. In: Compiled programs, scripts that run. Out: one JSON document for the
page.
"""
