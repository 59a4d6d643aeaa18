"""What a page gets beside its text, made at build time by Sphinx extensions.

`meanings` shows what a term or a letter means where the pointer rests on it, `mathml` makes formulas
readable without a script, `formulas` keeps them and their punctuation together, `flashcards` is the
form in which a flashcard is written, `lean` rids written pages of what they do not need, `math_font`
made the font of the formulas. `downloads` offers the course as files to take along, `press` and
`ebook` make two of them.
"""
