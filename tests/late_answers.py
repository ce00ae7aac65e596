"""TensorBoard with a plugin whose answers come late and out of order: ``python late_answers.py SEED [ARGUMENTS]``."""

from __future__ import annotations

import random
import sys
import time
from typing import Any

LATEST_S = 1.5


def main(seed: str) -> None:
    from tensorboard.main import run_main

    from stepscope_tensorboard.plugin import StepscopePlugin

    delays, answer = random.Random(seed), StepscopePlugin._data

    def late(self: StepscopePlugin, request: Any) -> Any:
        made = answer(self, request)
        time.sleep(delays.uniform(0, LATEST_S))
        return made

    StepscopePlugin._data = late  # type: ignore[method-assign]
    run_main()


if __name__ == "__main__":
    sys.path.pop(0)  # this folder has folders called torch and tf
    main(sys.argv.pop(1))
