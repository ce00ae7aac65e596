"""Errors that a user sees as one sentence: what was wrong, where, what to do."""


class StepscopeError(Exception):
    """Input that cannot be read or a request that cannot be met. The command line prints it and exits with 2."""
