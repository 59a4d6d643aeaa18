"""The gate: a book is rendered only after every number and every figure in it has been recomputed.

`extension` hooks it into every build. `notebooks` says what a notebook must be before it is run,
`prose` reads the numbers in a page's text, `kernel` is what notebooks run in, `plugin` makes nbval
check both in one kernel, `run` starts it and words what it found, `accept` stores new outputs,
`speed` measures what it costs, `newest` tries it with versions yet to be locked, `read` serves the
result.
"""
