"""What the prose checker reads as a number, and when it calls a number right."""

import numpy as np
import pytest

from gate import prose


def numbers(text, plain_numbers=()):
    return [n for p in prose.passages(text, plain_numbers) for n in p.numbers]


def values(text, plain_numbers=()):
    return [n.value for n in numbers(text, plain_numbers)]


def said(text, **names):
    """Return the messages for a text whose checks see the given names."""
    return [
        message
        for passage in prose.passages(text)
        for _, message in prose.problems(
            passage, lambda e: prose.evaluate(e, dict(names)), lambda: prose.known_values(names)
        )
    ]


@pytest.mark.parametrize(
    "text, expected",
    [
        ("The row (2, 2, 6, 6) has mean 4.", [2, 2, 6, 6, 4]),
        ("from −1 to 1, or -1.5", [-1, 1, -1.5]),
        ("7 - 2, x - 2, x-2 and 7−2", [7, 2, 2, 2, 7, 2]),
        ("(-2)", [-2]),
        ("1,536 values, not 1,53", [1536, 1, 53]),
        ("1,536, of which 1,000,000, and 1,000,2", [1536, 1_000_000, 1, 0, 2]),
        ("1e-5 and 10⁻⁵ and 3.2 × 10⁻³", [1e-5, 1e-5, 3.2e-3]),
        ("±0.99999875 and 50%", [0.99999875, 50]),
        ("**4**, _5_, `6` and ~7~", [4, 5, 6, 7]),
        ("float32 x1 x_1 H2O", []),
        ("| a | 3 |\n|---|---|\n| 4 | b |", [3, 4]),
        ("1. first 5\n2. second", [5]),
        ("[see 3](page2.md#s4) https://a.b/5 <https://a.b/6>", [3]),
        ("![a picture of 3 dots](f4.svg)", [3]),
        ("{ref}`s2` and {cite}`ba2016`", []),
        ('<summary class="c1">Solution 2</summary>', [2]),
        ("```bash\npip install x==1\n```\nand 2", [2]),
        ("```{figure} f.svg\n:width: 30\n:alt: A row of 4\n\nCaption with 5\n```", [4, 5]),
        ("```text\nmean 4\n```", [4]),
        ("<!-- a note with 3 -->", []),
        (r"$\mu = \frac{2 + 2}{4} = \frac12$", [2, 2, 4, 12]),
        (r"$\sigma^2 = (-2)^2 + 2^{2} = x_1 + x_{12} - 3$", [-2, 2, 3]),
        (r"$10^{-5}$, $2 \times 10^{3}$, $2\cdot10^4$, $\alpha 10^6$", [1e-5, 2000, 20000, 1e6]),
        (r"$$" "\n" r"a = 1 \\[2pt] b = 6{,}144" "\n" r"$$", [1, 6144]),
        (r"\begin{aligned} x_1 &= 3 \end{aligned}", [3]),
        ("costs 2 and 3^2 outside a formula", [2, 3, 2]),
        ("```console\n$ python -c 'print(5)'\n5\n```", [5, 5]),
        ("The mean is\n5. The std is 2", [5, 2]),
        ("```text\n5. mean\n```", [5]),
        (".71 and ±.5 and 2x4x768 and 1..5", [0.71, 0.5, 2, 4, 768, 1, 5]),
        ("(2,4,768) and `1_536` and $1\\,536$", [2, 4, 768, 1536, 1536]),
        ("1E-5, 1e−5, ½", [1e-5, 1e-5, 0.5]),
        ("10⁻ⁿ", [10]),
        ("−**1**, −`1`, −$1$, &minus;1, is –2, 1–3", [-1, -1, -1, -1, -2, 1, 3]),
        (r"$= - 2$, $(- 2)$, $-\frac{1}{2}$", [-2, -2, -1, 2]),
        (r"$x_1-4$, $\mu-4$, $x^2-4$, $6 -4$, $x^2 - 4$", [4, 4, 4, 6, 4, 4]),
        (r"{math}`\mu = 5` and {ref}`the 6 rows <lab>` and {ref}`lab7`", [5, 6]),
        ("```{math}\n:label: eq-1\nx_1 = y^2 + 3\n```", [3]),
        ("$$a = 3$$ (eq-1)\n\n(sec-2)=\ntext[^1]\n\n[^1]: note 4", [3, 4]),
        (r"$x^{\frac{1}{2}} + 110^2 \tag{7}$ \(8\)", [110, 8]),
        (r"$\underbrace{\frac{2}{4}}_{\mu = 5} + \sum_{i=1}^{H} x_i$", [2, 4, 5, 1]),
        (r"$\frac{1}{H} \sum_{i=1}^{H} x_i + \hspace{2em} 3$", [1, 3]),
        ("a <b and 5> c", [5]),
        ("`<!--` code 5 `-->`", [5]),
        ("% a comment 5\nand 6", [6]),
        (':::{admonition} Note 3\nand 4\n:::', [3, 4]),
    ],
)
def test_what_is_read_as_a_number(text, expected):
    assert values(text) == expected


def test_what_the_short_list_allows_is_not_read():
    assert values("GPT-2 has 768", [r"\bGPT-2\b"]) == [768]
    assert values("`axis=-1` and axis=-1", [r"`axis=-1`"]) == [-1]


@pytest.mark.parametrize(
    "text, computed, right",
    [
        ("is 4", 4.0, True),
        ("is 4", 4.0 + 1e-12, True),
        ("is 4", 4.0004, False),
        ("is about 4", 4.4, True),
        ("is about 4", 4.6, False),
        ("is ≈ 4", 3.6, True),
        (r"$\sigma \approx 4$", 4.4, True),
        ("is 1.118", 1.1180339, True),
        ("is 1.119", 1.1180339, False),
        ("is 1.11", 1.1180339, False),
        ("is 0", 1e-17, True),
        ("is 0", 1e-7, False),
        ("is −1.342", -1.3416, True),
        ("is 1.342", -1.3416, False),
        ("is 1e-5", 1.00001e-5, False),
        ("is 3.2e-3", 0.00316, True),
        ("is 3.2e-3", 0.00326, False),
        ("is 768", 768, True),
        ("is about **4**", 4.4, True),
        ("is ≈ ±1", 0.9, True),
        ("is 4", float("nan"), False),
        ("is 4", float("inf"), False),
    ],
)
def test_when_a_number_is_right(text, computed, right):
    (number,) = numbers(text)
    assert number.matches(computed) is right


def test_a_check_covers_the_text_back_to_the_one_before():
    text = "A 1.\n<!-- check: a -->\nB 2, 3.\n\nMore 4.\n<!-- check: b; c -->"
    assert said(text, a=1, b=[2, 3], c=4) == []
    assert said(text, a=1, b=[2, 3], c=5) == ["the text says 4, but c is 5\n    in: More 4."]


def test_a_number_without_a_check_is_reported_with_what_it_could_be():
    (message,) = said("The mean is 4.", row=[2, 4], other=5)
    assert message.startswith("the text says 4, and no check says what that is (it could be row[1])")
    (message,) = said("The mean is 9.", row=[2, 4])
    assert "nothing on the page has this value" in message


def test_a_rounded_number_is_told_how_to_say_so():
    (message,) = said("The mean is 4.\n<!-- check: a -->", a=4.2)
    assert 'a is 4.2 (say "about" before a rounded number)' in message


def test_too_many_checks_are_reported():
    (message,) = said("The mean is 4.\n<!-- check: a; b -->", a=4, b=5)
    assert message == "the check 'b' is 5, but no number in the text is left for it"


def test_a_missing_check_in_the_middle_is_reported_once_and_in_place():
    (message,) = said("Row 1, 2, 3.\n<!-- check: a; c -->", a=1, b=2, c=3)
    assert message.startswith("the text says 2, but c is 3")


@pytest.mark.parametrize("nothing", ["2 + 2", "int(4)", "[4 for i in 'a'][0]", "len('four')", "(y := 4)", "__name__"])
def test_a_check_must_name_something_computed(nothing):
    (message,) = said(f"It is 4.\n<!-- check: {nothing} -->", x=4)
    assert "names nothing that the page computes" in message


def test_a_check_must_be_a_number():
    (message,) = said("It is 1.\n<!-- check: x == 4 -->", x=4)
    assert "it is no number but bool" in message


def test_a_broken_check_is_reported():
    (message,) = said("It is 4.\n<!-- check: a[3] -->", a=[1])
    assert "the check 'a[3]' cannot be used" in message
    (message,) = said("It is 4.\n<!-- check: a + -->", a=1)
    assert "cannot be used" in message


def test_a_name_that_is_not_there_yet_is_left_to_the_caller():
    with pytest.raises(NameError):
        said("It is 4.\n<!-- check: later -->")


def test_lines_are_counted_in_the_source():
    assert [n.line for n in numbers("# T\n\nA 1\nB 2\n\n$$\n3\n$$")] == [3, 4, 7]


def test_a_snippet_is_run_and_compared():
    (passage,) = prose.passages("```python\n>>> x + 1\n3\n```")
    namespace = {"x": 2}
    assert prose.run_snippet(passage.snippet, namespace) == ""
    assert "Got:\n    4" in prose.run_snippet(passage.snippet, {"x": 3})
    (passage,) = prose.passages("```python\nx = 1\n```")
    assert "nothing runs this Python snippet" in prose.run_snippet(passage.snippet, {})
    for hidden in (">>> 2 + 2  # doctest: +SKIP\n5\n", "mean 5\n>>> 2 + 2\n4\n"):
        assert "only examples" in prose.run_snippet(hidden, {})


def test_known_values_look_into_records():
    from lnlib import layer_norm_steps

    known = prose.known_values({"steps": layer_norm_steps([2, 2, 6, 6]), "big": np.zeros(99), "word": "a", "_x": 1})
    assert known["steps.mean"] == [4]
    assert not {"big", "word", "_x"} & set(known)
