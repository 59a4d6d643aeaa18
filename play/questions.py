"""The form in which a question with an answer box is written: its words, the right answer, and common others.

    :::{dropdown} Which variance does (3, 9, 11, 17) have?
    :name: ask-variance

    - [x] 25

      The squared deviations add up to 100, and a quarter of that is 25.

    - [ ] about 33.33

      You divided by one less than the count.

    - [ ] something else

      Subtract the mean, square each deviation, and take the mean of the squares.
    :::

The answers to be typed are numbers, or rows of as many numbers as the right one; a rounded one says
"about". The last entry is for whatever else a reader types. With `:class: choice` all answers are
shown, to choose one from, and none is something else. The name is the question's anchor.

What is written here stands on the page, folded, also without JavaScript and on paper, and the gate
checks its numbers. `questions.js` makes the answer box of it. The directive has the name of one that
JupyterLab knows, which folds the answers there.
"""

import re

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

from play import pages

ELSE = "something else"
RIGHT, OTHER = "[x] ", "[ ] "
NUMBER = r"[-−]?\d+(?:\.\d+)?"
STATED = re.compile(rf"(?P<about>about )?(?:(?P<one>{NUMBER})|\((?P<row>{NUMBER}(?:, {NUMBER})+)\))")


def choice_only(argument):
    return directives.choice(argument, ["choice"])


class question_box(nodes.General, nodes.Element):
    """A question: its words, what there is to choose from, its answers."""


class asked(nodes.TextElement):
    """The words of a question."""


class answers(nodes.General, nodes.Element):
    """What comes of each answer, folded."""


class answer(nodes.General, nodes.Element):
    """One answer, as the first child, and its explanation."""


class Question(SphinxDirective):
    required_arguments = 1
    final_argument_whitespace = True
    option_spec = {"name": directives.unchanged_required, "class": choice_only}
    has_content = True

    def run(self):
        self.assert_has_content()
        name = self.options.get("name", "")
        if not name.startswith("ask-"):
            raise self.error("a question needs a name that begins with ask-, as in :name: ask-mean")
        if name in self.state.document.nameids:
            raise self.error(f"two questions of this page have the name {name}")
        words, messages = self.parse_inline(self.arguments[0])
        box = question_box("", asked("", "", *words))
        self.add_name(box)
        found = self.parse_answers()
        if self.options.get("class") == "choice":
            items = [nodes.list_item("", one[0].deepcopy()) for one in found]
            box += nodes.bullet_list("", *items, classes=["choices"])
        else:
            self.read_numbers(found)
        for one in found:
            if one[0].astext() == ELSE:
                one[0].children = [nodes.strong("", ELSE.capitalize())]
            else:
                one[0].insert(0, nodes.strong("", "Right: " if one["right"] else "Not right: "))
        box += answers("", *found)
        return [box, *messages]

    def parse_answers(self):
        """Return the answers without their marks. Each knows whether it is the right one."""
        content = self.parse_content_to_nodes()
        if len(content) != 1 or not isinstance(content[0], nodes.bullet_list):
            raise self.error("a question has one list of answers, and nothing beside it")
        found = [answer("", *item.children, right=self.take_mark(item)) for item in content[0]]
        if sum(one["right"] for one in found) != 1:
            raise self.error("one answer of a question is right, and begins with [x]")
        return found

    def take_mark(self, item):
        """Remove the mark of an answer; tell whether it is that of the right one."""
        start = item[0].next_node(nodes.Text) if len(item) > 1 else None
        if not start or start[:4] not in (RIGHT, OTHER):
            raise self.error(f"an answer begins with {RIGHT}or {OTHER}and is explained below it: {item.astext()[:50]}")
        start.parent.replace(start, nodes.Text(start[4:]))
        return start.startswith(RIGHT)

    def read_numbers(self, found):
        """Note on each typed answer which numbers it is."""
        *typed, rest = found
        if rest[0].astext() != ELSE:
            raise self.error(f"the last of the answers to be typed is: {OTHER}{ELSE}")
        for one in typed:
            text = re.sub(r"(?<=\d),(?=\d{3})", "", one[0].astext())
            match = STATED.fullmatch(text)
            if not match:
                raise self.error(f"an answer to be typed is a number or a row of them, or “about” that: {text}")
            one["numbers"] = (match["one"] or match["row"]).replace("−", "-").replace(", ", " ")
            one["rounded"] = bool(match["about"])
        if len({len(one["numbers"].split()) for one in typed}) > 1:
            raise self.error("all answers of a question have as many numbers as the right one")


def setup(app):
    app.add_node(question_box, html=(open_box, close_box))
    app.add_node(asked, html=(open_asked, close_asked))
    app.add_node(answers, html=(open_answers, close_answers))
    app.add_node(answer, html=(open_answer, close_answer))
    app.add_directive("dropdown", Question, override=True)  # stock Jupyter Book has another
    pages.provide(app, question_box, "questions", ["elements.js", "numbers.js", "questions.js"])
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def open_box(translator, node):
    translator.body.append(translator.starttag(node, "div", CLASS="question"))


def close_box(translator, node):
    translator.body.append("</div>\n")


def open_asked(translator, node):
    translator.body.append(translator.starttag(node, "p", "", CLASS="asked"))


def close_asked(translator, node):
    translator.body.append("</p>\n")


def open_answers(translator, node):
    translator.body.append('<details>\n<summary>Answers</summary>\n<ul class="answers">\n')


def close_answers(translator, node):
    translator.body.append("</ul>\n</details>\n")


def open_answer(translator, node):
    facts = {"data-numbers": node["numbers"]} if "numbers" in node else {}
    facts |= {"data-right": ""} if node["right"] else {}
    facts |= {"data-rounded": ""} if node.get("rounded") else {}
    translator.body.append(translator.starttag(node, "li", "", **facts))


def close_answer(translator, node):
    translator.body.append("</li>\n")
