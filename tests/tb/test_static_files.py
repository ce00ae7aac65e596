"""The files of the page."""

from __future__ import annotations

import gzip
from pathlib import Path

from stepscope_tensorboard.static_files import StaticFiles


def built(folder: Path) -> StaticFiles:
    (folder / "fonts").mkdir(parents=True)
    (folder / "index.js").write_text("export function render() {}")
    (folder / "index.js.gz").write_bytes(gzip.compress(b"export function render() {}"))
    (folder / "index.css").write_text("p { margin: 0 }")
    (folder / "fonts" / "x.woff2").write_bytes(b"\0\1")
    (folder / ".sources.sha256").write_text("abc")
    return StaticFiles(folder)


def test_files_have_the_type_that_their_name_tells(tmp_path: Path) -> None:
    files = built(tmp_path / "static")
    types = {name: files.answer(name).content_type for name in ("index.js", "index.css", "fonts/x.woff2")}
    assert types == {
        "index.js": "text/javascript; charset=utf-8",
        "index.css": "text/css; charset=utf-8",
        "fonts/x.woff2": "font/woff2",
    }
    assert files.answer("fonts/x.woff2").body == b"\0\1"


def test_only_what_the_folder_lists_is_found(tmp_path: Path) -> None:
    files = built(tmp_path / "static")
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "static" / "link").symlink_to(tmp_path / "missing")
    for name in ("../secret", "fonts", "fonts/../index.js", "", "/index.js", ".sources.sha256", "link", "INDEX.JS"):
        assert files.answer(name).status == 404, name


def test_an_unchanged_file_is_not_sent_again_and_a_new_build_is(tmp_path: Path) -> None:
    files = built(tmp_path / "static")
    first = files.answer("index.js")
    assert files.answer("index.js", first.etag).status == 304
    (tmp_path / "static" / "index.js").write_text("export function render() { }")
    assert files.answer("index.js", first.etag).body == b"export function render() { }"


def test_what_the_build_compressed_is_sent_to_who_takes_it(tmp_path: Path) -> None:
    files = built(tmp_path / "static")
    answer = files.answer("index.js", None, takes_gzip=True)
    assert answer.headers["Content-Encoding"] == "gzip"
    assert answer.etag == files.answer("index.js").etag
    assert gzip.decompress(answer.body) == files.answer("index.js").body == b"export function render() {}"
    assert "Content-Encoding" not in files.answer("index.css", None, takes_gzip=True).headers


def test_without_a_build_the_page_says_what_to_do(tmp_path: Path) -> None:
    answer = StaticFiles(tmp_path).answer("index.js")
    assert (answer.status, answer.content_type, answer.etag) == (200, "text/javascript; charset=utf-8", None)
    assert b"export function render()" in answer.body
    assert b"not built" in answer.body
    assert StaticFiles(tmp_path).answer("index.css").status == 404
