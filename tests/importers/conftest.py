"""Tests of Kineto traces run twice: with the C++ scanner, where it was built, and by Python alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from stepscope.importers import kineto_native
from tests.importers.equality import reader


# Of a module, since hypothesis draws many examples in one call of a test.
@pytest.fixture(scope="module", params=["scanner", "python"])
def both_readers(request: pytest.FixtureRequest) -> Iterator[None]:
    pure = request.param == "python"
    if not pure and not kineto_native.is_built():
        pytest.skip("the C++ scanner was not built")
    with reader(pure):
        yield
