"""The C++ scanner and Python alone make the same of every recorded trace in ../shared/traces."""

from pathlib import Path

import pytest

from stepscope.importers import kineto_native
from tests.importers.equality import differences

TRACES = Path(__file__).parents[2].parent / "shared" / "traces"

pytestmark = [
    pytest.mark.skipif(not TRACES.is_dir(), reason="no ../shared/traces here"),
    pytest.mark.skipif(not kineto_native.is_built(), reason="the C++ scanner was not built"),
]


@pytest.mark.parametrize("path", sorted((TRACES / "kineto").glob("*.json.gz")), ids=lambda p: p.name.partition(".")[0])
def test_recorded_traces(path: Path) -> None:
    assert not differences(path)
