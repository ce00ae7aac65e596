"""Takes the screenshots of the README: python docs/screenshots.py URL_OF_TENSORBOARD [--run NAME]

Each tab of the plugin (XLA where the run holds programs), and the timeline once more at a step that was recorded in
depth, in light and dark, 1280 and 1920 pixels wide, saved as docs/images/<view>-<theme>-<width>.png; some cards of the
Summary alone, too, as card-<name>. --themes and --widths take fewer, or 2560 too.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode
from urllib.request import urlopen

from playwright.sync_api import Browser, FrameLocator, Page, Playwright, expect, sync_playwright

IMAGES = Path(__file__).resolve().parent / "images"
SIZES = {1280: 800, 1920: 1080, 2560: 1300}
THEMES = ("light", "dark")
#: Cards of the Summary that documents show alone, where the run has them, by their titles.
CARDS: dict[str, str | re.Pattern[str]] = {
    "communication": "Communication",
    "units": re.compile("^Units of "),
    "counters": "Hardware counters",
}
#: After the page has no request open, for the last frame to be drawn.
SETTLE_MS = 1500


def ask(base: str, route: str, **parameters: str) -> dict[str, Any]:
    """What a route answers, once the file that it is about has been imported."""
    while True:
        with urlopen(f"{base}/data/plugin/stepscope/{route}?{urlencode(parameters)}") as answer:
            found = json.load(answer)
            if answer.status != 202:
                return found
        time.sleep(0.5)


def views(base: str, run_name: str | None) -> dict[str, str]:
    """The hash of each view: what the page itself writes into its address."""
    runs = ask(base, "runs")["runs"]
    run = next((r for r in runs if run_name in (None, r["name"])), None)
    if run is None:
        raise SystemExit(f"no run {run_name!r} at {base}; it has {', '.join(r['name'] for r in runs) or 'none'}")
    worker = run["workers"][0]["id"]
    here = f"#stepscope&p.stepscope.run={quote(run['id'], safe='')}&p.stepscope.worker={quote(worker, safe='')}"
    found = {
        tab: f"{here}&p.stepscope.tab={tab}"
        for tab in ("summary", "steps", "timeline", "tables", "memory", "resources", "data")
    }
    if ask(base, "xla/programs", run=run["id"], worker=worker)["programs"]:
        found |= {
            f"xla-{show}": f"{here}&p.stepscope.tab=xla&p.stepscope.xshow={show}"
            for show in ("memory", "graph", "text")
        }
        found["hlo"] = f"{here}&p.stepscope.tab=tables&p.stepscope.table=hlo"
    if (ask(base, "summary", run=run["id"], worker=worker).get("worker") or {}).get("inference"):
        found["inference"] = found["summary"]
        found["requests"] = f"{here}&p.stepscope.tab=tables&p.stepscope.table=requests&p.stepscope.tby=none"
    if (ask(base, "summary", run=run["id"], worker=worker).get("worker") or {}).get("communication"):
        found["collectives"] = f"{here}&p.stepscope.tab=tables&p.stepscope.table=collectives&p.stepscope.tby=size"
    others = [r for r in runs if r["id"] != run["id"] and r["workers"]]
    if others:
        found["compare"] = f"{here}&p.stepscope.tab=compare&p.stepscope.with={quote(others[0]['id'], safe='')}"
        found["compare-tree"] = f"{found['compare']}&p.stepscope.joined=tree"
    found["tables"] += "&p.stepscope.table=operators"  # there on every run, kernels on a GPU only
    if len(run["workers"]) > 1:
        found["workers"] = f"{here}&p.stepscope.workers=all"
    steps = ask(base, "steps", run=run["id"], worker=worker)
    deep = [i for i, ns in enumerate(steps["activity"]["other"]) if ns is not None]
    if deep:
        middle = deep[len(deep) // 2]
        begin, width = int(steps["origin_ns"]) + steps["start"][middle], steps["duration"][middle]
        found["step"] = f"{found['timeline']}&p.stepscope.at={begin - width // 20},{width + width // 10}"
    return found


def start_chromium(playwright: Playwright) -> Browser:
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    as_root = hasattr(os, "geteuid") and os.geteuid() == 0
    return playwright.chromium.launch(executable_path=path, args=["--no-sandbox"] if as_root else [])


def into_tree(frame: FrameLocator) -> None:
    """Into the first module of the tree, if there is one, and down to the end of the page."""
    first = frame.get_by_test_id("compare-work-row-name").first
    if first.count():
        first.click()
        frame.get_by_test_id("compare-line").scroll_into_view_if_needed()


def shoot(page: Page, view: str, address: str, file: Path) -> None:
    page.goto("about:blank")  # only the hash differs between the views: make it a new load
    page.goto(address, wait_until="networkidle", timeout=300_000)
    page.frame_locator("iframe").get_by_role("tab").first.wait_for(timeout=30_000)
    expect(page.frame_locator("iframe").locator(".progress")).to_have_count(0, timeout=300_000)  # of a first import
    page.wait_for_timeout(SETTLE_MS)
    if view == "compare-tree":
        into_tree(page.frame_locator("iframe"))
        page.wait_for_timeout(SETTLE_MS)
    page.screenshot(path=file)
    print(file)


def shoot_cards(page: Page, folder: Path, suffix: str) -> None:
    """The cards of the Summary that is on show."""
    frame = page.frame_locator("iframe")
    for name, title in CARDS.items():
        card = frame.locator(".card", has=frame.get_by_role("heading", name=title, exact=isinstance(title, str)))
        if card.count():
            card.screenshot(path=folder / f"card-{name}-{suffix}.png")
            print(folder / f"card-{name}-{suffix}.png")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("url", help="where TensorBoard runs, e.g. http://localhost:6006")
    parser.add_argument("--run", help="the run to show (default: the latest)")
    parser.add_argument("--out", type=Path, default=IMAGES, help="default: docs/images")
    parser.add_argument("--themes", nargs="+", choices=THEMES, default=THEMES)
    parser.add_argument("--widths", nargs="+", type=int, choices=SIZES, default=(1280, 1920))
    args = parser.parse_args()

    base = args.url.rstrip("/")
    args.out.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = start_chromium(playwright)
        for theme in args.themes:
            for width in args.widths:
                page = browser.new_page(viewport={"width": width, "height": SIZES[width]}, color_scheme=theme)
                for view, address in views(base, args.run).items():
                    shoot(page, view, f"{base}/{address}", args.out / f"{view}-{theme}-{width}.png")
                    if view == "summary":
                        shoot_cards(page, args.out, f"{theme}-{width}")
                page.close()
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
