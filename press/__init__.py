"""The course as files to take along.

`downloads` is the list of them on the front page, and the zip of the notebooks. `pdf` and `epub` make
the two that hold the whole course, `python -m press` has them made.
"""
