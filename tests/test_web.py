"""What a page gets beside its text: meanings on hover, and formulas."""

from copy import copy
from pathlib import Path
import re
import unicodedata

from bs4 import BeautifulSoup
from fontTools.ttLib import TTFont
import pytest

from conftest import ROOT
from web.mathml import rendered
from web.meanings import Meaning, plain_formula, symbol_pattern, symbols_of


@pytest.fixture(scope="module")
def articles(soups):
    """The text of every built chapter, parsed. Copy what you change."""
    return {Path(path).name: soup.article for path, soup in soups.items() if path.startswith("chapters/")}


@pytest.fixture(scope="module")
def definitions(articles):
    """{anchor: the definition as it stands on the page, without its formulas}."""
    found = {}
    for item in articles["glossary.html"].select("dl.glossary dd"):
        words = copy(item.p)
        for formula in words.select(".math"):
            formula.string = " … "
        text = " ".join(words.get_text().split())
        term = item.find_previous_sibling()
        while term and term.name == "dt":
            found[term["id"]] = text
            term = term.find_previous_sibling()
    return found


def test_every_link_to_a_term_says_what_it_means(articles, definitions):
    links = [link for article in articles.values() for link in article.select('a.reference[href*="#term-"]')]
    assert len(links) > 100
    for link in links:
        pieces = definitions[link["href"].partition("#")[2]].split("…")
        assert re.fullmatch(".+".join(re.escape(piece.strip()) + r"\s*" for piece in pieces), link["title"])


# Each with a formula of a chapter that the symbol stands in, and the beginning of its meaning.
SYMBOLS = [
    (r"\mu = \frac{10}{4}", "μ, mean: The sum of the row"),
    (r"x_4", "x_i, raw value: The feature at place i"),
    (r"\frac{\hat x_i - 2}{3}", "x̂_i, normalized value: The deviation"),
    (r"\hat{x}_1 = 2", "x̂_i, normalized value: The deviation"),
    (r"\sum \hat x_i^2", "x̂_i, normalized value: The deviation"),
    (r"\sigma = 2", "σ, std: The root of the variance"),
    (r"\sigma^{2} = 4", "σ², variance: The mean of the squared deviations."),
    (r"t^2 + \epsilon", "ε, eps: A small number"),
    (r"\gamma \cdot 0", "γ_i, gamma: The learned number by which"),
    (r"1 + \beta_2", "β_i, beta: The learned number that is added"),
    (r"y_2", "y_i, output value: What the layer passes on"),
    (r"H = 4", "H: The number of features"),
]


@pytest.fixture(scope="module")
def known(articles):
    """The meanings of all symbols that are explained on any page."""
    titles = [tag["title"] for a in articles.values() for tag in a.select(":is(span, div)[title]")]
    lines = {re.split("[,:]", line)[0]: line for title in titles for line in title.splitlines()}
    return [Meaning(line, symbol_pattern(symbol, lines), line) for symbol, line in lines.items()]


@pytest.mark.parametrize("tex, meaning", SYMBOLS)
def test_a_symbol_has_one_meaning(known, tex, meaning):
    assert [line.startswith(meaning) for line in symbols_of(tex, known)] == [True]


@pytest.mark.parametrize(
    "tex", [r"y = x + f(x)", r"\mu_i", r"\sigma_i^2", r"\text{softmax}(s)", r"\operatorname{sign}(a)", "e^2"]
)
def test_what_the_glossary_does_not_define_gets_no_meaning(known, tex):
    assert symbols_of(tex, known) == []


def test_the_formula_of_layer_norm_is_explained_symbol_by_symbol(articles):
    formula = articles["glossary.html"].select_one("div[title]:has(div.math)")
    symbols = [re.split("[,:]", line)[0] for line in formula["title"].splitlines()]
    assert symbols == ["x̂_i", "x_i - μ", "x_i", "μ", "√(σ² + ε)", "σ²", "ε"]


def test_most_formulas_are_explained(articles):
    """The others hold numbers only, or letters that their sentence explains."""
    unexplained = [
        plain_formula(formula.annotation.get_text())
        for article in articles.values()
        for formula in article.select(".math")
        if not formula.parent.get("title")
    ]
    assert unexplained
    assert [f for f in unexplained if re.search(r"[γβε]|x_i|y_i|[μσ](?!_)|x̂_", f)] == []


def test_a_changed_meaning_reaches_the_pages_that_did_not_change(book):
    glossary = "\n```{glossary}\nmean\n  $\\mu$, say mew. Where the row sits.\n```\n"
    index = book.path("index.md")
    index.write_text(index.read_text("utf-8") + glossary, "utf-8")
    book.change(lambda cells: cells[0].update(source=cells[0].source + "\n\nIts {term}`mean` is $\\mu$."))

    def titles():
        result = book.build()
        assert result.returncode == 0, result.stderr
        page = BeautifulSoup((book.folder / "_build/html/chapters/alpha.html").read_text("utf-8"), "html.parser")
        return {tag["title"] for tag in page.article.select("a[title], span[title]")}

    assert {"μ, say mew. Where the row sits.", "μ, mean: Where the row sits."} <= titles()
    book.replace("Where the row sits.", "The point of balance.", "chapters/index.md")
    assert {"μ, say mew. The point of balance.", "μ, mean: The point of balance."} <= titles()
    book.replace("$\\mu$, say mew. The point of balance.", "$\\mu$ is the point of balance", "chapters/index.md")
    assert {"μ is the point of balance", "μ, mean: μ is the point of balance"} <= titles()


def test_changed_extensions_and_styles_reach_the_pages_that_did_not_change(book):
    book.change(lambda cells: cells[0].update(source=cells[0].source + "\n\nIts mean is $\\mu$."))
    page = book.folder / "_build/html/chapters/alpha.html"
    assert book.build().returncode == 0
    assert 'class="kept"' in page.read_text("utf-8")
    book.replace('KEPT = "kept"', 'KEPT = "held"', "web/formulas.py")
    book.replace("/* Papers have a line", "/* Papers have two lines", "_static/course.css")
    assert book.build().returncode == 0
    assert 'class="held"' in page.read_text("utf-8")
    [styles] = BeautifulSoup(page.read_text("utf-8"), "html.parser").select("link[rel=stylesheet]")
    assert "/* Papers have two lines" in (page.parent / styles["href"]).read_text("utf-8")


@pytest.mark.parametrize(
    "tex, colors",
    [
        (r"x_i - \mu", {"x": "raw", "μ": "mean"}),
        (r"\hat x_i = \frac{d_i}{\sqrt{\sigma^2}}", {"x": "normalized", "d": "raw", "σ": "spread"}),
        (r"y = \gamma \hat x", {"y": "output", "x": "normalized"}),
        (r"\mathbf{x}", {"𝐱": "raw"}),
        (r"\sqrt d + H", {}),
    ],
)
def test_letters_have_the_color_of_what_they_mean(tex, colors):
    formula = BeautifulSoup(rendered(tex, False), "html.parser")
    colored = formula.select("[class^=color]")
    assert {tag.find("mi").text if tag.name != "mi" else tag.text: tag["class"][0][6:] for tag in colored} == colors
    assert formula.annotation.text == tex


@pytest.mark.parametrize("tex", [r"\foo x", r"\frac{a}", r"\begin{aligned} a"])
def test_a_formula_that_cannot_be_read_fails_the_build(book, tex):
    book.change(lambda cells: cells[0].update(source=cells[0].source + f"\n\nIts mean is ${tex}$."))
    result = book.build()
    assert result.returncode != 0
    assert "alpha.ipynb" in result.stderr and f"the formula {tex!r} cannot be read" in result.stderr


def test_the_font_has_every_character_of_the_formulas_and_the_styles_every_class(articles):
    formulas = [formula for article in articles.values() for formula in article.select("math")]
    assert len(formulas) > 300
    characters = {c for formula in formulas for tag in formula.select("mi, mn, mo, mtext") for c in tag.text}
    font = TTFont(ROOT / "_static" / "math.woff2")
    shown = {c for c in characters if not c.isspace() and unicodedata.category(c) != "Cf"}
    assert shown - set(map(chr, font.getBestCmap())) == set()
    # A letter alone in <mi> is shown slanted, by another character.
    letters = {c for formula in formulas for tag in formula.select("mi") if len(tag.text) == 1 for c in tag.text}
    assert {c for c in letters if c.isascii() and c.isalpha() and slanted(c) not in font.getBestCmap()} == set()
    styles = (ROOT / "_static" / "formulas.css").read_text("utf-8")
    classes = {name for formula in formulas for tag in formula.select("[class]") for name in tag["class"]}
    assert {name for name in classes if not re.search(rf"\.{name}(?![\w-])", styles)} == set()


def slanted(letter):
    """Return the code of a Latin letter's italic form in mathematics."""
    if letter == "h":
        return ord("ℎ")
    return (0x1D44E + ord(letter) - ord("a")) if letter.islower() else (0x1D434 + ord(letter) - ord("A"))
