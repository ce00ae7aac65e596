"""Rollups on disk: a worker's steps and totals in a small file, which the views of a whole run are made from."""

from stepscope.kept import is_kept
from stepscope.rollup.build import make, rollups
from stepscope.rollup.files import read

__all__ = ["is_kept", "make", "read", "rollups"]
