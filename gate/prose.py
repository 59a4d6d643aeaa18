"""The numbers in a page's text, and what the page computed for them.

An author writes plain sentences. Below them, in an HTML comment that no reader sees, stands what
each number is, in order, as Python expressions over the page's own variables:

    The mean of (2, 2, 6, 6) is 4, and the std is about 1.2.
    <!-- check: x; steps.mean; steps.std -->

A check covers the text back to the check before it. An array stands for as many numbers as it
holds. A number is right when it is its expression's value, rounded to the decimals that the text
prints; a number without decimals must be exact, unless the text says ≈, \\approx or "about".

A Markdown page, which has no cells, computes its variables in a comment as well:

    <!-- values:
    from lnlib import layer_norm_steps
    x = [2, 2, 6, 6]
    -->

A fenced snippet with >>> prompts is run, and what it shows is compared.

Not results, and so not checked: subscripts and exponents (but 10^{-5} is a number), digits that
are part of a name, list markers, link targets, shell commands, and what the short list
`gate_plain_numbers` in _config.yml allows.
"""

import ast
from dataclasses import dataclass
import doctest
import math
import re

import numpy as np

COMMENT = re.compile(r"<!--\s*(check|values):(.*?)-->", re.S)
SNIPPET = re.compile(r"^(?P<fence>```+|~~~+)[ ]*(?:python|pycon)\b.*?\n(?P<code>.*?)^(?P=fence)", re.S | re.M)
MATH = re.compile(r"\$\$.*?\$\$|\$[^$\n]+\$|\\begin\{(\w+\*?)\}.*?\\end\{\1\}", re.S)

# Where no result can stand. Order matters: a comment may hold what looks like a link.
NO_RESULT = [
    r"<!--.*?-->",
    r"^(```+|~~~+)[ ]*(?:bash|console|sh)\b.*?^\1",
    r"^:(?:name|width|height|class|align|open|target):.*?$",  # options of a directive
    r"\{[\w:-]+\}`[^`]*`",  # a role: a citation, a reference
    r"\]\([^)\s]*\)",  # a link's target
    r"<https?://[^>]*>|https?://\S+",
    r"</?(?:a|b|br|code|details|div|em|i|kbd|p|span|strong|sub|summary|sup)\b"
    r"(?![^<>]*(?:aria-label|title)=)[^<>]*>",
    r"^\s*\d+[.)][ ](?=\S)",  # a list marker
]
NO_RESULT_IN_MATH = [
    r"\\\\\[[^\]]*\]|\\[hv]space\{[^}]*\}",  # distances
    r"(?<!10)[_^](?:\{[^{}]*\}|\\?\w)",  # subscripts and exponents
]
POWER = r"10(?:\^\{?[-−]?\d+\}?|[⁻⁰¹²³⁴-⁹]+)"
PLAIN = r"\d{1,3}(?:(?:,|\{,\})\d{3})+(?:\.\d+)?(?![\d,])|\d+(?:\.\d+)?(?:e[-+]?\d+)?"
NUMBER = re.compile(
    rf"(?<![^\W_])(?<![^\W_]_)(?<!\.)(?P<sign>[-−](?=\d))?(?:(?:(?P<factor>{PLAIN})\s*×\s*)?(?P<power>{POWER})|(?P<plain>{PLAIN}))"
)
SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻−", "0123456789--")
OPERAND_BEFORE = re.compile(r"[\w)\]}!']$")
ABOUT = re.compile(r"(?:≈|\babout)[\s$({~`]*$")


@dataclass(frozen=True)
class Number:
    """A number as the text prints it: its value, the size of its last digit, whether it is rounded."""

    text: str
    value: float
    last_digit: float  # the size of one unit in the last printed place
    exact: bool
    line: int
    sentence: str

    def matches(self, computed):
        """Tell whether computed, printed as this number is printed, is this number."""
        if not math.isfinite(computed):
            return False
        error = abs(computed - self.value)
        if self.exact:
            return error <= 1e-9 * abs(self.value) if self.value else error <= 1e-12
        return error <= 0.5 * self.last_digit * (1 + 1e-9)


@dataclass(frozen=True)
class Passage:
    """One thing to check: text up to its check, code to run, or a snippet to run and compare."""

    line: int
    numbers: tuple = ()
    expressions: tuple = ()
    code: str = ""
    snippet: str = ""


def is_instruction(comment):
    """Tell whether an HTML comment speaks to the gate."""
    return bool(COMMENT.fullmatch(comment.strip()))


def passages(text, plain_numbers=()):
    """Split the Markdown of a page or of a cell into passages, in their order.

    plain_numbers: regular expressions for text whose numbers are no results.
    """
    hidden = _hide(text, plain_numbers)
    found, start = [], 0
    for match in sorted([*COMMENT.finditer(text), *SNIPPET.finditer(text)], key=lambda m: m.start()):
        line = text.count("\n", 0, match.start()) + 1
        if match.re is SNIPPET:
            found.append(Passage(line, snippet=match["code"]))
        elif match[1] == "values":
            found.append(Passage(line, code=match[2].strip("\n")))
        else:
            expressions = tuple(e.strip() for e in match[2].split(";") if e.strip())
            found.append(Passage(line, tuple(_numbers(text, hidden, start, match.start())), expressions))
            start = match.end()
    rest = tuple(_numbers(text, hidden, start, len(text)))
    return [*found, Passage(text.count("\n") + 1, rest)] if rest else found


def problems(passage, evaluate, known):
    """Yield (line, message) for each number of a passage that is not what its check says.

    evaluate(expression) returns a list of floats or raises, and a NameError is passed on; known() returns {name: [floats]}, the
    page's variables, from which a missing check is suggested.
    """
    computed = []
    for expression in passage.expressions:
        try:
            if not any(isinstance(node, ast.Name) for node in ast.walk(ast.parse(expression, mode="eval"))):
                raise ValueError("it names nothing that the page computes")
            computed += [(value, expression) for value in evaluate(expression)]
        except NameError:
            raise
        except Exception as error:
            yield passage.line, f"the check {expression!r} cannot be used: {error}"
            return
    for number, (value, expression) in zip(passage.numbers, computed):
        if not number.matches(value):
            yield number.line, (
                f"the text says {number.text}, but {expression} is {value:.10g}\n"
                f"    in: {number.sentence}"
            )
            if len(computed) != len(passage.numbers):
                return  # all that follow are out of step
    for number in passage.numbers[len(computed) :]:
        names = [
            name if len(values) == 1 else f"{name}[{i}]"
            for name, values in known().items()
            for i, value in enumerate(values)
            if number.matches(value)
        ]
        hint = f"it could be {', '.join(names[:4])}" if names else "nothing on the page has this value"
        yield number.line, (
            f"the text says {number.text}, and no check says what that is ({hint})\n"
            f"    in: {number.sentence}"
        )
    if len(computed) > len(passage.numbers):
        value, expression = computed[len(passage.numbers)]
        yield passage.line, f"the check {expression!r} is {value:.10g}, but no number in the text is left for it"


def evaluate(expression, namespace):
    """Return the value of an expression as a flat list of floats."""
    return np.ravel(np.asarray(eval(expression, namespace), float)).tolist()  # noqa: S307


def known_values(namespace):
    """Return the small numeric variables of a namespace, and those in its records, as flat lists."""
    known = {}
    for name, value in namespace.items():
        if name.startswith("_"):
            continue
        fields = getattr(value, "__dataclass_fields__", None)
        inside = {f"{name}.{f}": getattr(value, f) for f in fields} if fields and not isinstance(value, type) else {name: value}
        for label, item in inside.items():
            try:
                flat = np.ravel(np.asarray(item, float)).tolist()
            except (TypeError, ValueError):
                continue
            if len(flat) <= 16:
                known[label] = flat
    return known


def run_snippet(code, namespace):
    """Run a snippet with >>> prompts; return what differs from what it shows, or ''."""
    if ">>>" not in code:
        return "nothing runs this Python snippet: write it with >>> prompts, or make it a cell"
    report = []
    test = doctest.DocTestParser().get_doctest(code, namespace, "snippet", None, 0)
    doctest.DocTestRunner(verbose=False).run(test, out=report.append, clear_globs=False)
    return "\n".join(line for line in "".join(report).splitlines() if not set(line) <= {"*"})


def _blank(match):
    return re.sub(r"[^\n]", " ", match[0])


def _hide(text, plain_numbers):
    """Blank out, letter for letter, everything where no result can stand."""
    text = SNIPPET.sub(_blank, text)
    for pattern in NO_RESULT:
        text = re.sub(pattern, _blank, text, flags=re.S | re.M)
    for pattern in plain_numbers:
        text = re.sub(pattern, _blank, text)

    def formula(match):
        tex = match[0]
        for pattern in NO_RESULT_IN_MATH:
            tex = re.sub(pattern, _blank, tex)
        for command, sign in ((r"\approx", "≈"), (r"\times", "×"), (r"\cdot", "×")):
            tex = re.sub(re.escape(command) + r"(?![a-zA-Z])", sign.ljust(len(command)), tex)
        return re.sub(r"\\[a-zA-Z]+", _blank, tex)  # so that \frac1 does not read as a name

    return MATH.sub(formula, text)


def _numbers(text, hidden, start, end):
    for match in NUMBER.finditer(hidden, start, end):
        # In "x-2" and "7 - 2" the sign subtracts; in "(-2" and "is −2" it belongs to the number.
        negative = match["sign"] and not OPERAND_BEFORE.search(hidden[start : match.start()])
        if match["power"]:
            digits = match["factor"] or "1"
            exponent = int(re.sub(r"[{}^]", "", match["power"][2:]).translate(SUPERSCRIPTS))
        else:
            digits, _, tail = match["plain"].partition("e")
            exponent = int(tail or 0)
        digits = digits.replace("{,}", "").replace(",", "")
        decimals = len(digits.partition(".")[2])
        line = text.count("\n", 0, match.start()) + 1
        yield Number(
            text=text[match.start() : match.end()],
            value=float(f"{'-' if negative else ''}{digits}e{exponent}"),
            last_digit=float(f"1e{exponent - decimals}"),
            exact=not decimals and not ABOUT.search(hidden[start : match.start()]),
            line=line,
            sentence=text.splitlines()[line - 1].strip(),
        )
