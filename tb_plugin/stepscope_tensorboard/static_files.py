"""The files of the page, looked up in a listing of their folder."""

from __future__ import annotations

import hashlib
from pathlib import Path

from stepscope_tensorboard.answers import Answer, json_answer

FOLDER = Path(__file__).resolve().parent / "static"

_TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".map": "application/json",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".woff2": "font/woff2",
    ".txt": "text/plain; charset=utf-8",
}

# What the page is where the web UI was not built: TensorBoard calls render() of this module.
_NOT_BUILT = b"""export function render() {
  const text = document.createElement("p");
  text.style.cssText = "font: 16px/1.5 system-ui, sans-serif; max-width: 44em; margin: 4em auto; padding: 0 1em";
  text.textContent =
    "The web UI of stepscope is not built in this installation. Install a release, or run `pip install .` in a " +
    "checkout without STEPSCOPE_NO_WEB set (it needs Node.js 20 or newer, or fetches one), then reload this page. " +
    "`stepscope summary PATH` prints the same numbers without it.";
  document.body.append(text);
}
"""


class StaticFiles:
    """Files of one folder. A name that the folder does not hold is not found, whatever it looks like."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._folder = folder

    def answer(self, name: str, known_etag: str | None = None, takes_gzip: bool = False) -> Answer:
        """The file ``name``, a path below the folder with slashes; ``index.js`` is always there."""
        files = self._files()
        path = files.get(name)
        if path is None:
            if name == "index.js":
                return Answer(200, _TYPES[".js"], _NOT_BUILT, None, {"Cache-Control": "no-store"})
            return json_answer({"error": f"There is nothing at {name!r}."}, 404)
        body = path.read_bytes()
        etag = f'"{hashlib.blake2b(body, digest_size=8).hexdigest()}"'
        if etag == known_etag:
            return Answer(304, "text/plain", b"", etag)
        content_type = _TYPES.get(path.suffix, "application/octet-stream")
        headers = {"Cache-Control": "no-cache"}
        compressed = files.get(f"{name}.gz")  # by the build: it takes longer than everything else here
        if takes_gzip and compressed is not None:
            body, headers["Content-Encoding"] = compressed.read_bytes(), "gzip"
        return Answer(200, content_type, body, etag, headers)

    def _files(self) -> dict[str, Path]:
        """Listed anew each time: a page that is built while the server runs appears without a restart."""
        if not (self._folder / "index.js").is_file():
            return {}
        return {p.relative_to(self._folder).as_posix(): p for p in self._folder.rglob("*") if _is_public(p)}


def _is_public(path: Path) -> bool:
    return path.is_file() and not path.name.startswith(".")
