"""What a user gives as metadata becomes JSON, whatever it is."""

import json

from stepscope.store import RunFolder
from stepscope.store.plain import plain


class Rude:
    def __str__(self):
        raise RuntimeError("no")


def test_plain_values_stay():
    told = {"lr": 0.1, "layers": [1, 2], "adam": True, "none": None, "nested": {"a": {"b": "c"}}}
    assert plain(told) == told


def test_everything_else_becomes_text_of_a_bounded_length():
    found = plain({"nan": float("nan"), 3: {1}, "rude": Rude(), "long": "x" * 5000, "surrogate": "\udc80"})
    json.dumps(found, allow_nan=False).encode()
    assert found["nan"] == "nan"
    assert found["3"] == "{1}"
    assert found["rude"] == "(Rude without a text)"
    assert len(found["long"]) == 1000


def test_what_refers_to_itself_ends():
    loop = {}
    loop["loop"] = loop
    json.dumps(plain(loop))


def test_the_first_worker_tells_the_metadata_of_a_run(tmp_path):
    run = RunFolder(tmp_path)
    run.create_worker(0, "node", 1, {"lr": 0.1})
    run.create_worker(1, "node", 2, {"lr": 0.2})
    assert run.read_run()["metadata"] == {"lr": 0.1}
