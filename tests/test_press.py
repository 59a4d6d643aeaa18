"""The PDF and the EPUB of the whole course, as `make downloads` left them."""

import os
import posixpath
import re
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree
from zipfile import ZIP_STORED, ZipFile

import pytest
from pypdf import PdfReader
from sphinx_external_toc.parsing import parse_toc_yaml

from conftest import ROOT
from press.downloads import is_fresh
from press.pdf import CHROMIUM, FLAGS, SCALE

MADE = ROOT / "_build" / "downloads"
NAMES = list(parse_toc_yaml(ROOT / "_toc.yml"))
VERIFIED = r"Verified on \d{4}-\d\d-\d\d with Python 3\.\d+\.\d+, NumPy "
PAPER = 210 - 2 * 18  # millimeters between the margins
TAGS = {"xhtml": "{http://www.w3.org/1999/xhtml}", "math": "{http://www.w3.org/1998/Math/MathML}"}
OPF = "{http://www.idpf.org/2007/opf}"
NOT_TAKEN = {"Take it with you", "Take them with you"}  # sections that offer downloads
DC = "{http://purl.org/dc/elements/1.1/}"


@pytest.fixture(scope="module", autouse=True)
def fresh():
    """Nothing here says anything of files that were made from other sources."""
    if not is_fresh(MADE, ROOT):
        (pytest.fail if os.environ.get("CI") else pytest.skip)("no PDF and EPUB of these sources: run `make downloads`")


@pytest.fixture(scope="module")
def titles(soups):
    return [soups[f"{name}.html"].h1.get_text().removesuffix("#") for name in NAMES]


@pytest.fixture(scope="module")
def pdf():
    return PdfReader(MADE / "course.pdf")


@pytest.fixture(scope="module")
def texts(pdf):
    """The text of each page, its number first, without spaces, which a PDF does not always have."""
    return ["".join(page.extract_text().split()) for page in pdf.pages]


def squeezed(text):
    return "".join(text.split())


def test_the_site_has_the_very_files(site):
    for name in ("course.pdf", "course.epub"):
        assert (site / "downloads" / name).read_bytes() == (MADE / name).read_bytes()


def test_the_pdf_says_what_it_is(pdf, texts):
    assert pdf.metadata.title == "Layer normalization, verified"
    root = pdf.trailer["/Root"]
    assert root["/Lang"] == "en" and root["/MarkInfo"]["/Marked"]
    assert texts[0].startswith("Layernormalization,verified")
    assert re.search(squeezed(VERIFIED), texts[0])


def test_the_contents_name_the_page_on_which_each_chapter_begins(texts, titles):
    assert texts[1].startswith("2Contents")
    for title in titles:
        number = int(re.search(re.escape(squeezed(title)) + r"(\d+)", texts[1])[1])
        # The marks of a list come before all other text.
        assert re.match(rf"{number}(\[\d\])*{re.escape(squeezed(title))}", texts[number - 1])


def test_the_outline_has_every_chapter_and_its_sections(pdf, titles, soups):
    flat = []

    def walk(entries, depth=0):
        for entry in entries:
            if isinstance(entry, list):
                walk(entry, depth + 1)
            else:
                flat.append((depth, squeezed(entry.title)))

    walk(pdf.outline)
    chapters = [title for depth, title in flat if not depth]
    assert chapters == ["Contents", *map(squeezed, titles)]
    sections = [h.get_text().removesuffix("#") for name in NAMES for h in soups[f"{name}.html"].article.select("h2")]
    kept = [squeezed(section) for section in sections if section not in NOT_TAKEN]
    assert [title for depth, title in flat if depth == 1] == kept


def test_every_box_is_open_in_the_pdf(texts, soups):
    whole = "".join(texts)
    boxes = [box for name in NAMES for box in soups[f"{name}.html"].select("article details")]
    plain = [p.get_text() for box in boxes for p in box.select("p, pre") if not p.select(".math")]
    inside = [text for text in map(squeezed, plain) if len(text) > 30]
    assert len(boxes) > 80 and len(inside) > 80
    assert [p for p in inside if p not in whole] == []


def test_nothing_to_press_and_no_empty_page_is_in_the_pdf(texts):
    assert [number for number, text in enumerate(texts, 1) if len(text) < 100] == []
    assert not re.search("Showthecheck|Hidethecheck|previous|Take(?:it|them)withyou", "".join(texts))


def test_links_of_the_pdf_lead_into_it_or_to_papers(pdf):
    places, inside, outside = pdf.named_destinations, 0, set()
    for page in pdf.pages:
        for link in page.get("/Annots", ()):
            link = link.get_object()
            if "/Dest" in link:
                assert link["/Dest"] in places
                inside += 1
            else:
                outside.add(urlsplit(link["/A"]["/URI"])[:2])
    assert inside > 400
    assert outside == {("https", "arxiv.org"), ("https", "docs.pytorch.org")}


def test_figures_of_the_pdf_have_their_text(pdf, soups):
    images = [image["alt"] for name in NAMES for image in soups[f"{name}.html"].select("article img")]
    objects = (pdf.get_object(number) for number in pdf.xref[0])
    alts = [o["/Alt"] for o in objects if isinstance(o, dict) and o.get("/S") == "/Figure" and o.get("/Alt")]
    assert sorted(alts) == sorted(images)


def test_nothing_of_the_pdf_is_wider_than_its_paper():
    assert CHROMIUM
    from playwright.sync_api import sync_playwright

    width = int(PAPER / 25.4 * 96 / SCALE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": width, "height": 1000})
        page.emulate_media(media="print")
        page.goto((ROOT / "_build" / "press" / "course.html").as_uri())
        wide = page.eval_on_selector_all(
            "body *",
            """(all, width) => all.filter(e => e.getBoundingClientRect().right > width + 1 || e.matches('pre, table')
                && e.scrollWidth > e.clientWidth + 1).map(e => e.outerHTML.slice(0, 100))""",
            width,
        )
        browser.close()
    assert wide == []


@pytest.fixture(scope="module")
def epub():
    with ZipFile(MADE / "course.epub") as archive:
        yield archive


@pytest.fixture(scope="module")
def package(epub):
    return ElementTree.fromstring(epub.read("content.opf"))


@pytest.fixture(scope="module")
def manifest(package):
    return {item.get("href"): item for item in package.iter(f"{OPF}item")}


@pytest.fixture(scope="module")
def pages(epub, manifest):
    """Every page of the EPUB, parsed, which only well-formed XHTML can be."""
    return {name: ElementTree.fromstring(epub.read(name)) for name in manifest if name.endswith(".xhtml")}


def test_the_epub_says_what_it_is(epub, package):
    first = epub.infolist()[0]
    assert (first.filename, first.compress_type, epub.read(first)) == ("mimetype", ZIP_STORED, b"application/epub+zip")
    about = {name: package.find(f".//{DC}{name}").text for name in ("title", "creator", "language", "identifier")}
    assert about["title"] == "Layer normalization, verified" and about["language"] == "en"
    assert "unknown" not in " ".join(about.values()) and re.search(r"\w{8}(-\w{4}){3}-\w{12}", about["identifier"])
    ncx = ElementTree.fromstring(epub.read("toc.ncx"))
    assert ncx.find(".//{*}meta[@name='dtb:uid']").get("content") == about["identifier"]


def test_the_manifest_of_the_epub_is_what_is_in_it(epub, package, manifest, pages):
    assert set(epub.namelist()) == {"mimetype", "META-INF/container.xml", "content.opf", *manifest}
    for name, page in pages.items():
        has_formulas = page.find(f".//{TAGS['math']}math") is not None
        assert ("mathml" in manifest[name].get("properties", "").split()) == has_formulas
    assert sum("mathml" in item.get("properties", "") for item in manifest.values()) > 5
    assert manifest["cover.png"].get("properties") == "cover-image" and epub.read("cover.png")[:4] == b"\x89PNG"
    files = {item.get("id"): name for name, item in manifest.items()}
    spine = [files[ref.get("idref")] for ref in package.iter(f"{OPF}itemref")]
    assert spine == ["title.xhtml", *(f"{name}.xhtml" for name in NAMES)]


def test_the_epub_needs_nothing_from_outside(epub, manifest, pages):
    ids = {name: {tag.get("id") for tag in page.iter()} for name, page in pages.items()}
    for name, page in pages.items():
        assert page.find(f".//{TAGS['xhtml']}script") is None
        for tag in page.iter():
            for attribute in {"href", "src"} & set(tag.keys()):
                url = urlsplit(tag.get(attribute))
                if url.scheme:
                    assert tag.tag == f"{TAGS['xhtml']}a" and url.scheme == "https"
                    continue
                target = beside(name, unquote(url.path)) if url.path else name
                assert target in manifest, (name, tag.get(attribute))
                assert not url.fragment or url.fragment in ids[target], (name, tag.get(attribute))
    for name in manifest:
        if name.endswith(".css"):
            for address in re.findall(r"url\(['\"]?([^'\")]+)", epub.read(name).decode()):
                assert beside(name, address) in manifest


def beside(file, address):
    """Return where an address in a file of the EPUB leads to."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(file), address))


def test_the_contents_of_the_epub_have_every_chapter(pages, titles):
    top = pages["nav.xhtml"].findall(f".//{TAGS['xhtml']}nav/{TAGS['xhtml']}ol/{TAGS['xhtml']}li/{TAGS['xhtml']}a")
    assert [(link.get("href"), link.text) for link in top] == [(f"{n}.xhtml", t) for n, t in zip(NAMES, titles)]


def test_the_epub_says_when_it_was_verified_and_its_boxes_are_open(pages, soups):
    assert re.search(VERIFIED, "".join(pages["title.xhtml"].itertext()))
    boxes = [box for page in pages.values() for box in page.iter(f"{TAGS['xhtml']}details")]
    assert len(boxes) == sum(len(soups[f"{name}.html"].select("article details")) for name in NAMES)
    assert all(box.get("open") for box in boxes)


def test_letters_in_the_epub_have_the_colors_of_the_site(pages, epub):
    letters = {tag.get("class", "") for page in pages.values() for tag in page.iter() if TAGS["math"] in tag.tag}
    colors = {name for classes in letters for name in classes.split() if name.startswith("color-")}
    assert colors == {"color-raw", "color-mean", "color-spread", "color-normalized", "color-output"}
    for page in pages.values():
        links = [tag.get("href").rpartition("/")[2] for tag in page.iter(f"{TAGS['xhtml']}link")]
        assert "formulas.css" in links
    assert epub.read("_static/formulas.css") == (ROOT / "_static" / "formulas.css").read_bytes()
