"""Reports made from the summary contract."""
