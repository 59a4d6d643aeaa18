"""What a reader can move: each plaything is a directive, its script and its styles.

`pages` brings a plaything's script and styles to the pages it stands on. `norms.js` is the arithmetic
and `numbers.js` how numbers are read and written, for all of them.
"""
