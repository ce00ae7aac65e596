"""Takes the screenshots of the README: python docs/screenshots.py URL_OF_TENSORBOARD [--run NAME]

Each tab of the plugin is opened in light and dark, 1280 and 1920 pixels wide, and saved as
docs/images/<tab>-<theme>-<width>.png.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import Browser, Page, Playwright, sync_playwright

IMAGES = Path(__file__).resolve().parent / "images"
TABS = ("summary", "steps", "timeline")
SIZES = ((1280, 800), (1920, 1080))
THEMES = ("light", "dark")
#: After the page has no request open, for the last frame to be drawn.
SETTLE_MS = 1500


def start_chromium(playwright: Playwright) -> Browser:
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    as_root = hasattr(os, "geteuid") and os.geteuid() == 0
    return playwright.chromium.launch(executable_path=path, args=["--no-sandbox"] if as_root else [])


def shoot(page: Page, address: str, file: Path) -> None:
    page.goto("about:blank")  # only the hash differs between the tabs: make it a new load
    page.goto(address, wait_until="networkidle")
    page.frame_locator("iframe").get_by_role("tab").first.wait_for(timeout=30_000)
    page.wait_for_timeout(SETTLE_MS)
    page.screenshot(path=file)
    print(file)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("url", help="where TensorBoard runs, e.g. http://localhost:6006")
    parser.add_argument("--run", help="the run to show (default: the one that the page opens with)")
    parser.add_argument("--out", type=Path, default=IMAGES, help="default: docs/images")
    args = parser.parse_args()

    args.out.mkdir(parents=True, exist_ok=True)
    chosen = f"&p.stepscope.run={quote(args.run)}" if args.run else ""
    with sync_playwright() as playwright:
        browser = start_chromium(playwright)
        for theme in THEMES:
            for width, height in SIZES:
                page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=theme)
                for tab in TABS:
                    address = f"{args.url.rstrip('/')}/#stepscope&p.stepscope.tab={tab}{chosen}"
                    shoot(page, address, args.out / f"{tab}-{theme}-{width}.png")
                page.close()
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
