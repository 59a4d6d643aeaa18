"""What a published site promises beside its text: descriptions, addresses, versions, notebooks to keep."""

from datetime import datetime, timezone
import re
from xml.etree import ElementTree

from PIL import Image
import pytest

from conftest import PAGES, ROOT, SOURCES
from gate.newest import locked

ADDRESS = "https://example.org/course"


def content(soup, **attributes):
    [tag] = soup.find_all("meta", attrs=attributes)
    return tag["content"]


def test_each_page_has_a_title_and_a_description_of_its_own(soups):
    titles = [soups[path].title.string for path in PAGES]
    assert len(set(titles)) == len(PAGES)
    assert all(title.endswith("Layer normalization, verified") for title in titles)
    texts = [content(soups[path], name="description") for path in PAGES]
    assert len(set(texts)) == len(PAGES)
    for path, text in zip(PAGES, texts):
        assert 50 <= len(text) <= 200
        assert re.fullmatch(r"[A-Z].*[.!?]", text) and not re.search(r"[\\$<]", text)
        assert text.split(".")[0] in re.sub(r"\s+", " ", soups[path].article.get_text())
        assert content(soups[path], property="og:description") == text


def test_a_link_unfolds_into_a_card(soups, site):
    for path in PAGES:
        assert content(soups[path], property="og:image").endswith("_static/card.png")
        assert "mean 4, std 2; normalized: (−1, −1, 1, 1)" in content(soups[path], property="og:image:alt")
        assert content(soups[path], name="twitter:card") == "summary_large_image"
    card = Image.open(site / "_static" / "card.png")
    assert card.size == (1200, 630)
    assert len(card.convert("RGB").getcolors(2**20)) > 50  # something is drawn


def test_each_page_says_when_and_with_what_it_was_verified(soups, site):
    lock = locked(ROOT / "requirements" / "book.txt")
    for path in PAGES:
        words = soups[path].select_one(".extra_footer").get_text(" ", strip=True)
        day = re.match(r"Verified on (\d{4}-\d\d-\d\d) with Python 3\.\d+\.\d+, ", words)[1]
        built = datetime.fromtimestamp((site / path).stat().st_mtime, timezone.utc)
        assert day == built.date().isoformat()
        for name in ("NumPy", "Matplotlib", "nbval", "Jupyter Book"):
            assert f"{name} {lock[name.lower().replace(' ', '-')]}" in words


@pytest.mark.parametrize("path", PAGES)
def test_the_source_of_a_page_can_be_kept(soups, site, path):
    [link] = soups[path].select("a.btn-download-source-button[download]")
    kept = (site / path).parent / link["href"]
    assert kept.suffix == SOURCES[path].suffix
    assert kept.resolve().read_bytes() == SOURCES[path].read_bytes()


def test_a_site_that_knows_its_address_says_it(book, monkeypatch):
    monkeypatch.setenv("SITE_ADDRESS", ADDRESS)
    built = book.build()
    assert built.returncode == 0, built.stderr
    site = book.folder / "_build" / "html"
    pages = {f"{ADDRESS}/chapters/{name}.html" for name in ("index", "alpha", "beta")}
    assert {loc.text for loc in ElementTree.parse(site / "sitemap.xml").findall("{*}url/{*}loc")} == pages
    assert f"Sitemap: {ADDRESS}/sitemap.xml" in (site / "robots.txt").read_text().splitlines()
    page = (site / "chapters" / "alpha.html").read_text("utf-8")
    assert f'href="{ADDRESS}/chapters/alpha.html" rel="canonical"' in page
    assert f'content="{ADDRESS}/_static/card.png" property="og:image"' in page
    lost = (site / "404.html").read_text("utf-8")
    inner = re.findall(r'(?:href|src|action|content_root)="([^"#]+)"', lost)
    assert len(inner) > 10
    assert [link for link in inner if not link.startswith(("/course/", ADDRESS))] == []
    monkeypatch.delenv("SITE_ADDRESS")
    assert book.build().returncode == 0
    assert not (site / "sitemap.xml").exists() and ADDRESS not in (site / "chapters" / "alpha.html").read_text("utf-8")


@pytest.mark.parametrize("address", ["example.org/course", "ftp://example.org", "https://", "https://example.org/?a=1"])
def test_an_address_that_is_none_is_refused(book, monkeypatch, address):
    monkeypatch.setenv("SITE_ADDRESS", address)
    built = book.build()
    assert built.returncode != 0
    assert f"SITE_ADDRESS is {address!r}; expected something like https://example.org/course" in built.stderr
    assert book.pages() == []
