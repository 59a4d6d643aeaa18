"""Serve the built book on this machine only, and open it in a browser if there is one."""

from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
import sys
import webbrowser


def main(folder):
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=folder))
    address = f"http://127.0.0.1:{server.server_port}/"
    print(f"The book is at {address} (Ctrl+C ends it)", flush=True)
    webbrowser.open(address)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        print()


if __name__ == "__main__":
    main(sys.argv[1])
