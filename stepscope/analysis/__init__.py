"""Analyses: pure functions from event tables to small frozen results. No input, no output, no plotting."""
