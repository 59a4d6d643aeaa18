"""What a page gets beside its text, made at build time by Sphinx extensions.

`meanings` says what a term or a letter means, `mathml` makes formulas readable without a script,
`formulas` keeps them and their punctuation together, `sharing` is what others see of the site, `lean`
rids written pages of what they do not need, `access` mends what keeps readers out, `math_font` made the
font of the formulas.
"""
