"""The TensorBoard plugin: what the core computes, as HTTP routes (docs/api.md) and a page.

Only ``plugin.py`` imports TensorBoard; the rest serves the same routes to any server.
"""
