"""The numbers in a page's text, and what the page computed for them.

An author writes plain sentences. Below them, in an HTML comment that no reader sees, stands what
each number is, in order, as Python expressions over the page's own variables:

    The mean of (2, 2, 6, 6) is 4, and the std is about 1.2.
    <!-- check: x; steps.mean; steps.std -->

A check covers the text back to the check before it. An array stands for as many numbers as it
holds. A number is right when it is its expression's value, rounded to the decimals that the text
prints; a number without decimals must be exact, unless the text says "about", "nearly", "roughly",
≈ or ~ before it.

A Markdown page, which has no cells, computes its variables in a comment as well:

    <!-- values:
    from lnlib import layer_norm_steps
    x = [2, 2, 6, 6]
    -->

A fenced snippet with >>> prompts is run, and what it shows is compared. On a Markdown page its
variables stay, for snippets and checks below it. In a notebook they go: no cell may depend on them.

Not results, and so not checked: subscripts and exponents (but 10^{-5} is a number), digits that
are part of a name, list markers, link targets, shell commands, and what the short list
`gate_plain_numbers` in _config.yml allows. Numbers in words are not read: write results in digits.
"""

import ast
import builtins
from dataclasses import dataclass
import doctest
import math
import re
import unicodedata

import numpy as np

COMMENT = re.compile(r"<!--\s*(check|values):(.*?)-->", re.S)
SNIPPET = re.compile(r"^(?P<fence>```+|~~~+)[ ]*(?:python|pycon)\b.*?\n(?P<code>.*?)^(?P=fence)", re.S | re.M)
MATH = re.compile(
    r"\$\$.*?\$\$|\$[^$\n]+\$|\\begin\{(\w+\*?)\}.*?\\end\{\1\}|\{math\}`[^`]*`|^```+\{math\}.*?^```", re.S | re.M
)
# What puts text or a picture on the page that is not in the page's own source.
UNREAD = re.compile(
    r"\{(?:include|literalinclude|raw|csv-table|eval-rst|glue)[}:]|<(?:img|svg|object|embed|iframe|video|script)\b"
)

# Where no result can stand, blanked before formulas are looked for, and after.
NO_RESULT = [
    r"(?<![`\\])<!--(?!>).*?-->",
    r"^(```+|~~~+)[ ]*(?:bash|sh)\b.*?^\1",
    r"^%.*?$",  # a comment of MyST
    r"https?://[^\s)>]+",
]
NO_RESULT_OUTSIDE_MATH = [
    r"^:(?:name|label|widths?|height|class|align|open|target|header-rows):.*?$",  # options of a directive
    r"\{(?:ref|numref|eq|doc|term|cite(?::\w+)?)\}`[^`<]*`",  # a reference
    r"\[\^[\w-]+\]:?",  # a footnote
    r"^\([\w:-]+\)=[ ]*$|(?<=x)[ ]\([\w:-]+\)[ ]*$",  # a label: of a section, of a formula
    r"\]\([^)\s]*(?=[)\s])",  # a link's target
    r"</?(?:a|b|br|code|details|div|em|i|kbd|p|span|strong|sub|summary|sup)"
    r"(?:\s+(?:class|id|href|open)(?:=\"[^\"]*\")?)*\s*/?>",
]
GREEK = r"alpha|beta|gamma|delta|(?:var)?epsilon|mu|nu|pi|rho|sigma|theta|lambda"
ONE_GROUP = r"\{(?:[^{}=]|\{[^{}=]*\})*\}"
SCRIPT = rf"(?<!(?<!\d)10)[_^](?:{ONE_GROUP}|\\?\w)|(?<=\\sum)_\{{[^{{}}]*\}}"
SHORT_SCRIPT = r"(?<!(?<!\d)10)[_^](?:\{\w{1,3}\}|\\?\w)"  # below a brace stands text, not a script

POWER = r"10(?:\^\{?\s*[-−]?\d+\s*\}?(?!\w)|⁻?[⁰¹²³⁴-⁹]+)"
PLAIN = (
    r"(?<!\d,)\d{1,3}(?:(?:,|_|\{,\}|\\,)\d{3})+(?:\.\d+)?(?!,?\d)"
    r"|(?:\d+(?:\.\d+)?|(?<![.\d])\.\d+)(?:[eE][-+−]?\d+)?"
)
NUMBER = re.compile(
    r"(?:(?<![^\W_])|(?<=\dx))(?<![^\W_]_)(?<!\d\.)"
    rf"(?:(?:(?P<factor>{PLAIN})\s*×\s*)?(?P<power>{POWER})|(?P<plain>{PLAIN})|(?P<fraction>[¼-¾⅐-⅞]))"
)
PLAIN_MINUS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻−", "0123456789--")
SIGN = re.compile(r"(?P<before>\S?)(?P<gap>\s*)[-−–](?P<after>[\s*`$({]*)$")
OPERAND = re.compile(r"[\w)\]}!'%]")
ABOUT = re.compile(r"(?:≈|~|\b(?:about|nearly|roughly))[\s$({~`*±]*$", re.I)


@dataclass(frozen=True)
class Number:
    """A number as the text prints it: its value, the size of its last digit, whether it is rounded."""

    text: str
    value: float
    last_digit: float  # the size of one unit in the last printed place
    exact: bool
    line: int
    start: int  # where it stands in the text
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


def refusal(text):
    """Return what in a text no check can read, or ''."""
    if re.match(r"---\n.*?(jupytext|mystnb).*?\n---\n", text, re.S) or re.search(r"^```+\{code-cell\}", text, re.M):
        return "nothing verifies a notebook written as Markdown: store it as .ipynb"
    match = UNREAD.search(text)
    return f"{match[0]} brings in what no check reads" if match else ""


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

    evaluate(expressions) returns what the function of that name returns; known() returns {name:
    [floats]}, the page's variables, from which a missing check is suggested. Raises NameError when
    an expression names something that is not there, or not yet.
    """
    computed = []
    for expression, answer in zip(passage.expressions, evaluate(passage.expressions)):
        if isinstance(answer, dict):
            if answer["error"] == "NameError":
                raise NameError(answer["message"])
            yield passage.line, f"the check {expression!r} cannot be used: {answer['message']}"
            return
        computed += [(value, expression) for value in answer]
    for number, (value, expression) in zip(passage.numbers, computed):
        if not number.matches(value):
            rounded = number.exact and abs(value - number.value) <= 0.5 * number.last_digit
            hint = ' (say "about" before a rounded number)' if rounded else ""
            yield number.line, (
                f"the text says {number.text}, but {expression} is {value:.10g}{hint}\n"
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


def _names(expression):
    """Return the names that an expression takes from its page."""
    names = [node for node in ast.walk(ast.parse(expression, mode="eval")) if isinstance(node, ast.Name)]
    bound = {name.id for name in names if isinstance(name.ctx, ast.Store)}
    return {name.id for name in names if not name.id.startswith("_")} - bound - set(dir(builtins))


def evaluate(expressions, namespace):
    """Return each expression's value as a flat list of floats, or {"error": its type, "message": its text}."""
    answers = []
    for expression in expressions:
        try:
            if not _names(expression):
                raise ValueError("it names nothing that the page computes")
            value = np.asarray(eval(expression, namespace))
            if value.dtype.kind not in "iuf":
                raise ValueError(f"it is no number but {value.dtype}")
            answers.append(np.ravel(value).astype(float).tolist())
        except Exception as error:
            answers.append({"error": type(error).__name__, "message": str(error)})
    return answers


def known_values(namespace):
    """Return the small numeric variables of a namespace, and those in its records, as flat lists."""
    known = {}
    for name, value in namespace.items():
        if name.startswith("_"):
            continue
        fields = getattr(value, "__dataclass_fields__", None)
        inside = {name: value}
        if fields and not isinstance(value, type):
            inside = {f"{name}.{field}": getattr(value, field) for field in fields}
        for label, item in inside.items():
            try:
                flat = np.ravel(np.asarray(item, float)).tolist()
            except (TypeError, ValueError):
                continue
            if len(flat) <= 16:
                known[label] = flat
    return known


def run_snippet(code, namespace):
    """Run a snippet with >>> prompts in the namespace; return what differs from what it shows, or ''."""
    if ">>>" not in code:
        return "nothing runs this Python snippet: write it with >>> prompts, or make it a cell"
    parts = doctest.DocTestParser().parse(code)
    if any(part.strip() if isinstance(part, str) else part.options for part in parts):
        return "only examples with >>> and what they show may stand here, without doctest options"
    report = []
    test = doctest.DocTestParser().get_doctest(code, namespace, "snippet", None, 0)
    doctest.DocTestRunner(verbose=False).run(test, out=report.append, clear_globs=False)
    namespace.update(test.globs)  # doctest works on a copy
    return "\n".join(line for line in "".join(report).splitlines() if not set(line) <= {"*"})


def _blank(match):
    return re.sub(r"[^\n]", " ", match[0])


def _hide(text, plain_numbers):
    """Blank out, letter for letter, everything where no result can stand."""
    text = SNIPPET.sub(_blank, text).replace("&minus;", "      −")
    for pattern in NO_RESULT:
        text = re.sub(pattern, _blank, text, flags=re.S | re.M)
    outside = MATH.sub(lambda match: re.sub(r"[^\n]", "x", match[0]), text)
    for pattern in NO_RESULT_OUTSIDE_MATH:
        outside = re.sub(pattern, _blank, outside, flags=re.S | re.M)
    hidden = list(_hide_list_markers(outside))
    for match in MATH.finditer(text):
        hidden[match.start() : match.end()] = _hide_in_formula(match[0])
    for pattern in plain_numbers:
        for match in re.finditer(pattern, text):
            hidden[match.start() : match.end()] = _blank(match)
    return "".join(hidden)


def _hide_list_markers(text):
    """Blank "2." where it begins a list item; in running text it ends a sentence."""
    lines, state = [], ""  # what the line above was: "", "list", "text" or "code"
    for line in text.splitlines(keepends=True):
        marker = re.match(r"[ \t]*(\d+)[.)][ ](?=\S)", line)
        if re.match(r"[ \t]*(```|~~~)", line):
            state = "" if state == "code" else "code"
        elif state == "code":
            pass
        elif marker and (state != "text" or marker[1] == "1"):
            line, state = " " * marker.end() + line[marker.end() :], "list"
        elif not line.strip():
            state = ""
        elif re.match(r"[ \t]*[-*+] ", line):
            state = "list"
        else:
            state = state or "text"
        lines.append(line)
    return "".join(lines)


def _hide_in_formula(tex):
    """Blank scripts, distances and commands; leave a ' where a blanked symbol was an operand."""

    def operand(match):
        return _blank(match)[:-1] + "'"

    tex = re.sub(r"\\\\\[[^\]]*\]|\\[hvm]?(?:space|kern|skip)\*?(?:\{[^}]*\}|[\d.]+\w\w)", _blank, tex)
    tex = re.sub(r"\\(?:label|tag|eqref|ref)\{[^}]*\}|^:label:.*?$", _blank, tex, flags=re.M)
    tex = re.sub(r"(?<!\d)\\[,;:! ]|\\,(?!\d{3})", _blank, tex)
    tex = re.sub(SHORT_SCRIPT if "brace" in tex else SCRIPT, operand, tex)
    for command, sign in ((r"\approx", "≈"), (r"\simeq", "≈"), (r"\times", "×"), (r"\cdot", "×"), (r"\pm", "±")):
        tex = re.sub(re.escape(command) + r"(?![a-zA-Z])", sign.rjust(len(command)), tex)
    tex = re.sub(rf"\\(?:{GREEK})(?![a-zA-Z])", operand, tex)
    return re.sub(r"\\[a-zA-Z]+", _blank, tex)  # so that \frac1 does not read as a name


def _is_negative(before, in_math):
    """Tell whether a number after this text carries a minus, rather than being subtracted."""
    sign = SIGN.search(before)
    if not sign:
        return False
    operand = bool(OPERAND.match(sign["before"]))
    if in_math or not sign["gap"] or re.search(r"\s", sign["after"]):
        return not operand  # "x-2", "7 - 2" subtract; "= - 2" and "(-2" do not
    return True  # "is −2"


def _numbers(text, hidden, start, end):
    formulas = [(m.start(), m.end()) for m in MATH.finditer(text)]
    for match in NUMBER.finditer(hidden, start, end):
        before = hidden[start : match.start()]
        in_math = any(a < match.start() < b for a, b in formulas)
        exponent = 0
        if match["fraction"]:
            digits = repr(unicodedata.numeric(match["fraction"]))
        elif match["power"]:
            digits = match["factor"] or "1"
            exponent = int(re.sub(r"[{}^\s]", "", match["power"][2:]).translate(PLAIN_MINUS))
        else:
            digits, _, tail = match["plain"].lower().partition("e")
            exponent = int(tail.translate(PLAIN_MINUS) or 0)
        digits = re.sub(r"[{},_\\]", "", digits)
        decimals = len(digits.partition(".")[2])
        line = text.count("\n", 0, match.start()) + 1
        yield Number(
            text=text[match.start() : match.end()],
            value=float(f"{digits}e{exponent}") * (-1 if _is_negative(before, in_math) else 1),
            last_digit=float(f"1e{exponent - decimals}"),
            exact=not decimals and not ABOUT.search(before),
            line=line,
            start=match.start(),
            sentence=text.splitlines()[line - 1].strip(),
        )
