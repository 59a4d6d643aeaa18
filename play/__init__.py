"""What a reader can move: each plaything is a directive, its script and its styles.

`row_explorer`, `batch_or_layer`, `flashcards` and `questions` are the playthings, `anki` is the flashcards
as a deck for Anki. `pages` brings a plaything's script and styles to the pages it stands on. For all of
them, `norms.js` is the arithmetic, `numbers.js` how numbers are read and written, `elements.js` how parts
of a page are made.
"""
