"""The meaning of a term or of a letter in a formula, for whoever points at it, taps it or comes by keyboard.

It is written into the page as a title, and `_static/meanings.js` shows it. The glossary is the only
place where a meaning is written. A definition that begins with a formula, as "$\\mu$, say mew. The sum
of the row, ...", explains that symbol: in every formula of the course the symbol has the definition's
next sentence as its meaning.
"""

from dataclasses import dataclass, replace
from html import escape
import re

from docutils import nodes
from pylatexenc.latex2text import LatexNodes2Text
from sphinx import addnodes
from sphinx.transforms.post_transforms import SphinxPostTransform


PLAIN = LatexNodes2Text(math_mode="text")


class explained(nodes.General, nodes.Inline, nodes.Element):
    """A formula and the meaning of its symbols."""


@dataclass(frozen=True)
class Meaning:
    """What the glossary says: of a term in `text`, of a symbol in one line as well."""

    text: str
    symbol: re.Pattern | None = None
    line: str = ""


def setup(app):
    app.add_node(explained, html=(open_explained, close_explained))
    app.add_post_transform(ShowMeanings)
    app.connect("env-get-outdated", read_all_again)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def open_explained(translator, node):
    tag = "div" if isinstance(node[0], nodes.math_block) else "span"
    translator.body.append(f'<{tag} class="explained" title="{escape(node["meaning"])}">')  # starttag would join the lines
    translator.context.append(f"</{tag}>")


def close_explained(translator, node):
    translator.body.append(translator.context.pop())


def read_all_again(app, env, added, changed, removed):
    """Let no page keep a meaning that the glossary no longer gives."""
    return env.found_docs if (added | changed | removed) & set(glossaries(env)) else []


def glossaries(env):
    """Return the names of the pages that define terms."""
    objects = env.get_domain("std").objects
    return sorted({page for (kind, _), (page, _) in objects.items() if kind == "term"})


class ShowMeanings(SphinxPostTransform):
    """Give links to terms, and formulas, a title that says what they mean."""

    default_priority = 20  # links lead to terms only when references have been resolved
    formats = ("html",)

    def run(self):
        meanings = {}
        for page in glossaries(self.env):
            for glossary in self.env.get_doctree(page).findall(addnodes.glossary):
                meanings |= read_meanings(glossary)
        for link in self.document.findall(nodes.reference):
            anchor = link.get("refid") or link.get("refuri", "").partition("#")[2]
            if anchor in meanings:
                link["reftitle"] = meanings[anchor].text
                link["classes"].append("explained")
        for formula in [*self.document.findall(nodes.math), *self.document.findall(nodes.math_block)]:
            lines = symbols_of(formula.astext(), meanings.values())
            if lines:
                formula.replace_self(explained("", formula.deepcopy(), meaning="\n".join(lines)))


def read_meanings(glossary):
    """Return {anchor: Meaning} for all terms of a glossary."""
    items = list(glossary.findall(nodes.definition_list_item))
    firsts = [next(item.findall(nodes.paragraph)) for item in items]
    symbols = [plain(first[0]) if isinstance(first[0], nodes.math) else "" for first in firsts]
    meanings = {}
    for item, first, symbol in zip(items, firsts, symbols):
        terms = [node for node in item if isinstance(node, nodes.term)]
        meaning = Meaning("".join(plain(node) for node in first))
        if symbol:
            names = ", ".join(dict.fromkeys([symbol, terms[0].astext()]))
            sentences = re.split(r"(?<=\.)\s+", meaning.text)
            line = f"{names}: {sentences[1] if len(sentences) > 1 else meaning.text}"
            meaning = replace(meaning, symbol=symbol_pattern(symbol, symbols), line=line)
        meanings |= {anchor: meaning for term in terms for anchor in term["ids"]}
    return meanings


def symbols_of(tex, meanings):
    """Return a line for each symbol that a formula contains, in their order in the formula."""
    formula = plain_formula(tex)
    found = {m.line: match.start() for m in meanings if m.symbol and (match := m.symbol.search(formula))}
    return sorted(found, key=found.get)


def symbol_pattern(symbol, symbols):
    """Return what finds one of the glossary's symbols in a plain formula, but not in a word or another symbol.

    A subscript of the glossary stands for every subscript. A Latin letter must have one, as without
    it the letter may mean anything; the mean must not, as with one it is that of something else.
    """
    letter, subscript, power = re.fullmatch(r"(.+?)(_\w)?(²)?", symbol).groups("")
    if subscript:
        subscript = r"_\w" if letter.isascii() else r"(?:_\w)?"
    elif f"{letter}²" in symbols:
        power = power or "(?!²)"
    return re.compile(rf"(?<![^\W\d_]){re.escape(letter)}{subscript}(?![_\u0302]){power}(?![^\W\d_²])")


def plain(node):
    """Return the text of a node, its formulas in plain characters."""
    return plain_formula(node.astext()) if isinstance(node, nodes.math) else node.astext()


def plain_formula(tex):
    return PLAIN.latex_to_text(f"${tex}$").replace("^2", "²").replace("ϵ", "ε")
