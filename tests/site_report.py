"""Print what each page of the site weighs and how it scores, beside the same page built by stock Jupyter Book.

    python -m tests.site_report

Bytes and requests are those of a phone's first visit, compressed. A request to another host counts as
one, without its bytes, as no page of the course needs any. Scores are Lighthouse's for a phone:
performance, accessibility, best practices, SEO. Violations are axe-core's at both widths and in both
color schemes, added up.
"""

from itertools import product
from pathlib import Path
import sys
import tempfile
from urllib.parse import urlsplit

from sphinx_external_toc.parsing import parse_toc_yaml
import yaml

from gate.speed import build, copy_sources
from tests import measures
from tests.measures import HEIGHT, LAPTOP, PHONE, ROOT

COLUMNS = f"{'page':16}{'built by':10}{'kB':>6}{'requests':>10}{'elsewhere':>11}{'scores':>18}{'axe':>6}"


def stock(config):
    """Return the settings of a stock Jupyter Book with the same content: outputs as stored, our directives."""
    ours = {name: place for name, place in config["sphinx"]["local_extensions"].items() if name.startswith("play.")}
    return {
        "title": config["title"],
        "only_build_toc_files": True,
        "exclude_patterns": config["exclude_patterns"],
        "execute": {"execute_notebooks": "off"},
        "parse": config["parse"],
        "sphinx": {
            "local_extensions": ours,
            "config": {"bibtex_bibfiles": config["sphinx"]["config"]["bibtex_bibfiles"]},
        },
    }


def build_stock(folder):
    """Build the course with stock Jupyter Book in a folder, and return the site."""
    copy_sources(ROOT, folder)
    settings = folder / "_config.yml"
    settings.write_text(yaml.safe_dump(stock(yaml.safe_load(settings.read_text("utf-8")))), "utf-8")
    for path in (folder / "_static").glob("*.[cj]s*"):
        path.unlink()  # Jupyter Book would load them
    result = build(folder)
    site = folder / "_build" / "html"
    if result.returncode or not site.is_dir():
        sys.exit(f"stock Jupyter Book did not build the course:\n{result.stderr}")
    return site


def violations(browser, address):
    """Count axe-core's violations of a page, all boxes open, at both widths and in both color schemes."""
    found = 0
    for width, scheme in product((PHONE, LAPTOP), ("light", "dark")):
        context = browser.new_context(
            viewport={"width": width, "height": HEIGHT}, color_scheme=scheme, reduced_motion="reduce"
        )
        page = context.new_page()
        page.goto(address, wait_until="load")
        page.evaluate("document.querySelectorAll('details').forEach(box => { box.open = true })")
        page.wait_for_timeout(1000)  # stock pages move, whatever the reader wants
        found += len(measures.axe(page))
        context.close()
    return found


def line(browser, root, name, builder):
    """Return the line of a page."""
    address = f"{root}/{name}.html"
    asked, size = measures.weight(browser, address)
    away = sum(urlsplit(url).netloc != urlsplit(root).netloc for url in asked)
    scores = "/".join(str(score) for score in measures.lighthouse(address)[0].values())
    found = violations(browser, address)
    return f"{Path(name).name:16}{builder:10}{size / 1e3:6.0f}{len(asked):10}{away:11}{scores:>18}{found:6}"


def main():
    names = list(parse_toc_yaml(ROOT / "_toc.yml"))
    with tempfile.TemporaryDirectory() as folder, measures.chromium() as browser:
        sites = {"course": ROOT / "_build" / "html", "stock": build_stock(Path(folder, "book"))}
        print(COLUMNS, flush=True)
        for name in names:
            for builder, site in sites.items():
                with measures.served(site) as root:
                    print(line(browser, root, name, builder), flush=True)


if __name__ == "__main__":
    main()
