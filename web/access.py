"""What the theme's pages lack for readers with a screen reader, a keyboard or a phone, mended in written pages."""


def mend(page):
    """Mend a page; tell whether there was anything to mend."""
    return any([name_sidebar(page), unname_boxes(page), plain_references(page), keep_downloads(page)])


def name_sidebar(page):
    """Make the sidebar a landmark: its title and its search button stand in none."""
    sidebar = page.find(id="pst-primary-sidebar")
    if not sidebar or sidebar.get("role"):
        return False
    sidebar["role"], sidebar["aria-label"] = "navigation", "Course"
    return True


def unname_boxes(page):
    """Let a hidden cell be called what its line says, and not "Toggle hidden content"."""
    lids = page.select("summary[aria-label]")
    for lid in lids:
        del lid["aria-label"]
    return bool(lids)


def plain_references(page):
    """Drop the roles of references: one is deprecated, and the list's does not allow what is in it."""
    found = page.select(".citation-list[role], .citation[role]")
    for tag in found:
        del tag["role"]
    return bool(found)


def keep_downloads(page):
    """Let the link to a page's source save it, and not open a tab full of JSON; say what each item does."""
    links = page.select("a.btn-download-source-button:not([download])")
    for link in links:
        del link["target"]
        link["download"] = ""
        words = link.select_one(".btn__text-container")
        words.string = f"This page as {words.get_text(strip=True)}"
        for words in page.select(".btn-download-pdf-button .btn__text-container"):
            words.string = "Print this page"
    return bool(links)
