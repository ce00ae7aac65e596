"""Whole training traces made from a seed: everything a capture may hold, with nothing wrong in it."""

from __future__ import annotations

import random

from tests.builders import TraceBuilder

KERNELS = (
    "sm90_xmma_gemm_bf16bf16_f32_kernel",
    "void at::native::vectorized_elementwise_kernel<4>(int)",
    "nvjet_h_NNT",
)
COLLECTIVE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)"


class Training:
    """A trace of a small training loop; ``trace`` is the builder that holds it.

    Every time is a multiple of 1 us, no two events of a thread begin together, and no run begins before its launch.
    """

    def __init__(self, seed: int, steps: int = 3, layers: int = 3, rank: int | None = 0) -> None:
        self.random = random.Random(seed)
        self.trace = TraceBuilder(rank=rank, world_size=None if rank is None else 8)
        self.now = 10
        self.free = {7: 0, 20: 0}  # streams, and when they are
        self.correlation = self.external = self.address = 0
        self.allocated = 10**6
        self.number = self.random.randrange(5, 50)
        self.first = self.random.randrange(100)
        for step in range(steps):
            self._step(self.first + step, layers)

    def _step(self, step: int, layers: int) -> None:
        start = self._take(2)
        self.trace.dataloader(self.now, wait := self.random.randrange(5, 40))
        self.now += wait + 2
        self._copy("HtoD", "aten::to")
        net = self._take(1)
        nodes = []
        for layer in range(layers):
            begin = self._take(1)
            nodes.append(self._operator("aten::linear", "aten::addmm"))
            self._allocate()
            self._close(f"nn.Module: Linear_{layer}", begin)
        self._close("nn.Module: Net_0", net)
        for number in reversed(nodes):
            self._node(number)
        if self.random.random() < 0.5:
            self._launch(COLLECTIVE, 20, tid=9)
        self.trace.annotation("Optimizer.step#Adam.step", self.now, 30).op("aten::_fused_adam_", self.now + 3, 20)
        self._launch(KERNELS[1], 7, at=self.now + 8)
        self.now += 33
        if self.random.random() < 0.5:
            self.trace.runtime("cudaDeviceSynchronize", self.now, 11)
            self.now += 13
        self.trace.step(step, start, self.now - start)
        self.now += self.random.randrange(1, 5)

    def _take(self, us: int) -> int:
        start, self.now = self.now, self.now + us
        return start

    def _close(self, name: str, start: int) -> None:
        self.now += 1
        self.trace.python(name, start, self.now - start)
        self.now += 1

    def _operator(self, outer: str, inner: str) -> int:
        """An operator in an operator with a launch; the number of its node."""
        number, self.number = self.number, self.number + 1
        told = {"Sequence number": number, "Fwd thread id": 0, "Input Dims": [[8, self.random.choice([16, 32])], [32]]}
        self.external += 2
        self.trace.op(outer, self.now, 30, external_id=self.external, **told)
        self.trace.op(inner, self.now + 3, 20, external_id=self.external + 1, **told)
        self._launch(self.random.choice(KERNELS), 7, at=self.now + 8)
        self.now += 32
        return number

    def _node(self, number: int) -> None:
        told = {"Sequence number": number, "Fwd thread id": 1}
        self.trace.op("autograd::engine::evaluate_function: AddmmBackward0", self.now, 26, tid=9, **told)
        self.trace.op("AddmmBackward0", self.now + 2, 22, tid=9, **told)
        self._launch(self.random.choice(KERNELS), 7, at=self.now + 6, tid=9)
        self.now += 28

    def _launch(self, kernel: str, stream: int, at: int | None = None, tid: int = 4117) -> None:
        at = self._take(6) if at is None else at
        self.correlation += 1
        start = max(self.free[stream], at + self.random.randrange(5, 15))
        dur = self.random.randrange(3, 40)
        self.free[stream] = start + dur
        self.trace.launch(at, 4, self.correlation, tid=tid)
        args = {"Collective name": "allreduce", "Group size": 8} if kernel == COLLECTIVE else {"grid": [4, 1, 1]}
        self.trace.kernel(kernel, start, dur, stream, self.correlation, **args)

    def _copy(self, direction: str, op: str) -> None:
        self.correlation += 1
        start = max(self.free[7], self.now + 9)
        self.free[7] = start + 6
        self.trace.op(op, self.now, 12).launch(self.now + 3, 4, self.correlation, name="cudaMemcpyAsync")
        self.trace.memcpy(direction, start, 6, 4096, correlation=self.correlation)
        self.now += 14

    def _allocate(self) -> None:
        size = self.random.choice([512, 4096, -512])
        self.address += 1
        self.allocated += size
        self.trace.memory(self.now, size, device=0, total=self.allocated)
        self.now += 2
