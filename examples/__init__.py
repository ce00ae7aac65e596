"""The example trainings; installed as ``stepscope_examples`` so that ``stepscope demo`` can run them."""
