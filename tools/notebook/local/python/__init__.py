"""What runs inside the Python process of a notebook.

`main` is the loop that runs cells, `wire` the private channel to the program
that drives it, `show` turns values and exceptions into text and pictures,
`variables` saves and restores globals, and `helpers`, `llm` and `schema` are
what a cell may call. Standard library only, Python 3.8 or later.
"""
