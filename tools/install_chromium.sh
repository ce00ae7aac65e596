#!/usr/bin/env bash
# Makes sure that the browser tests find a Chromium: one on PATH, else the distribution's, else Playwright's own.
set -euo pipefail

for name in chromium chromium-browser google-chrome; do
  if command -v "$name" >/dev/null; then exit 0; fi
done

if command -v apt-get >/dev/null; then
  as_root=()
  if [ "$(id -u)" -ne 0 ]; then as_root=(sudo -n); fi
  if [ "$(id -u)" -eq 0 ] || sudo -n true 2>/dev/null; then
    echo "Installing Chromium from the distribution's packages ..."
    if "${as_root[@]}" apt-get update -qq && "${as_root[@]}" apt-get install -qq -y chromium >/dev/null; then exit 0; fi
  fi
fi

echo "Installing Playwright's Chromium ..."
playwright install chromium || {
  echo "No Chromium: install chromium or google-chrome so that it is on PATH, then run make test again." >&2
  exit 1
}
