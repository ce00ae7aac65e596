"""Rules about the always-on data of a hook and about the monitor's samples."""

from dataclasses import replace

import numpy as np
import pytest

from stepscope.rules.step_outlier import period
from tests.rules.cases import found_in, monitored, recorded

GIB = 2**30
#: In us of steps of 10 ms.
BALANCED = {"input_wait": 100, "forward": 4000, "backward": 5500, "optimizer": 300}


class TestLoop:
    def of(self, folder, steps=(10,) * 30, phases=BALANCED, **meta):
        return found_in(recorded(folder, list(steps), dict(phases), **meta))

    def test_a_balanced_training_has_no_finding(self, tmp_path):
        assert self.of(tmp_path) == {}

    def test_input_on_the_cpu(self, tmp_path):
        finding = self.of(tmp_path, phases=BALANCED | {"input_wait": 2500, "backward": 3000})["input_bound"]
        assert (finding.severity, finding.confidence) == ("critical", "high")
        assert finding.gain.ns_per_step == 2_500_000

    def test_optimizer(self, tmp_path):
        heavy = BALANCED | {"optimizer": 2500, "backward": 3300}
        assert self.of(tmp_path, phases=heavy)["optimizer_share"].severity == "warning"

    def test_code_outside_of_all_phases(self, tmp_path):
        finding = self.of(tmp_path, phases=BALANCED | {"backward": 2500})["outside_phases"]
        assert finding.gain.ratio == pytest.approx(0.31)

    def test_validation(self, tmp_path):
        assert "validation_share" in self.of(tmp_path, phases=BALANCED | {"backward": 2500, "validation": 3000})

    def test_outliers_with_a_rhythm(self, tmp_path):
        finding = self.of(tmp_path, steps=[30 if i % 10 == 9 else 10 for i in range(60)], phases={})["step_outlier"]
        assert finding.message.startswith("6 of 55 steps outside warm-up, every 10 steps, take more than 1.5 times")
        assert finding.evidence["period_steps"] == 10
        assert finding.gain.ratio == pytest.approx(120 / (55 * 10 + 120))  # without the five first steps
        assert finding.places[0].duration_ns == 30_000_000

    def test_outliers_on_a_host_that_others_use(self, tmp_path):
        case = recorded(tmp_path, [30 if i % 10 == 9 else 10 for i in range(60)], {})
        crowded = monitored(cpu=1.0, process_cpu=0.7, **{f"cpu_core_{i}": 1.0 for i in range(4)})
        finding = found_in(replace(case, samples=crowded.samples))["step_outlier"]
        assert finding.confidence == "low"
        assert "Other processes" in finding.counter_evidence[0]
        assert finding.fix[0].startswith("Run the training where it has the CPUs to itself")
        assert found_in(case)["step_outlier"].confidence == "high"

    def test_a_slow_start_is_no_outlier(self, tmp_path):
        found = self.of(tmp_path, steps=[200, 100] + [10] * 40, phases={})
        assert set(found) == {"slow_start"}
        assert found["slow_start"].evidence["first_steps"] == 2

    def test_steps_that_the_profiler_slowed_are_no_outliers(self, tmp_path):
        case = recorded(tmp_path, [40 if i in (20, 21, 22) else 10 for i in range(40)], {})
        assert "step_outlier" in found_in(case)
        window = case.steps.window.copy()
        window[20:23] = 0
        assert "step_outlier" not in found_in(replace(case, steps=replace(case.steps, window=window)))

    def test_the_profiler_itself(self, tmp_path):
        assert "profiler_overhead" in self.of(tmp_path, overhead={"hook_ns_per_step": 200_000})
        assert "profiler_overhead" not in self.of(tmp_path / "b", overhead={"hook_ns_per_step": 20_000})


def test_the_distance_of_slow_steps():
    assert period(np.array([9, 19, 29, 40])) == 10
    assert period(np.array([3, 9, 40, 41])) is None
    assert period(np.array([1, 2, 3])) is None


class TestMonitor:
    BUSY = {"cpu": 0.3, "gpu_0": 0.95, "gpu_1": 0.94, "gpu_memory_used_0": 30 * GIB, "gpu_memory_total_0": 40 * GIB}

    def test_a_busy_machine_has_no_finding(self):
        assert found_in(monitored(**self.BUSY)) == {}

    def test_cpu_bottleneck(self):
        found = found_in(monitored(**self.BUSY | {"cpu": 0.99, "gpu_0": 0.05, "gpu_1": 0.05}))
        assert found["cpu_bottleneck"].severity == "critical"
        assert found["cpu_bottleneck"].evidence["samples"] == 300  # of 400, without the first 100

    def test_the_container_counts_as_the_cpu(self):
        limited = {"cpu": 0.2, "process_cpu": 3.9, "cgroup_cpu_limit": 4, "gpu_0": 0.0, "cpu_core_0": 0.2}
        found = found_in(monitored(**limited))
        assert "container" in found["cpu_bottleneck"].message
        assert "container" in found["cpu_contention"].message

    def test_other_processes_on_the_cpus(self):
        cores = {f"cpu_core_{i}": 1.0 for i in range(4)}
        assert "Other processes" in found_in(monitored(cpu=1.0, process_cpu=0.7, **cores))["cpu_contention"].message
        assert "cpu_contention" not in found_in(monitored(cpu=1.0, process_cpu=3.9, **cores))

    def test_io_bottleneck(self):
        assert "io_bottleneck" in found_in(monitored(iowait=0.6))
        assert "io_bottleneck" in found_in(monitored(iowait=0.6, gpu_0=0.05))
        assert "io_bottleneck" not in found_in(monitored(iowait=0.6, gpu_0=0.9))

    def test_low_and_fluctuating_gpus(self):
        assert "is used little" in found_in(monitored(gpu_0=0.4))["low_gpu_utilization"].message
        swinging = found_in(monitored(gpu_0=lambda i: i % 2))["low_gpu_utilization"]
        assert "fits and starts" in swinging.message
        assert "low_gpu_utilization" not in found_in(monitored(gpu_0=0.4, count=150))  # too few behind the start

    def test_batch_size(self):
        idle = {"cpu": 0.2, "gpu_0": 0.5, "gpu_memory_used_0": 10 * GIB, "gpu_memory_total_0": 40 * GIB}
        assert "batch_size" in found_in(monitored(**idle))
        assert "batch_size" not in found_in(monitored(**idle | {"gpu_memory_used_0": 39 * GIB}))
        late = idle | {"gpu_0": lambda i: 0.5 if i < 50 else float("nan")}  # the driver stops telling
        assert "batch_size" not in found_in(monitored(**late))

    def test_unequal_gpus(self):
        finding = found_in(monitored(gpu_0=0.95, gpu_1=0.45))["load_balancing"]
        assert "GPU 0 95.0 %" in finding.message
        assert "load_balancing" not in found_in(monitored(gpu_0=0.95, gpu_1=0.0))  # not of this job

    def test_growing_memory(self):
        grown = {"gpu_memory_total_0": 40 * GIB, "gpu_memory_used_0": lambda i: (10 + i / 50) * GIB}
        assert "GPU 0" in found_in(monitored(count=800, **grown))["memory_growth"].message
        warm = grown | {"gpu_memory_used_0": lambda i: min(10 + i / 10, 30) * GIB}
        assert "memory_growth" not in found_in(monitored(count=800, **warm))

    def test_memory_near_capacity(self):
        full = {"memory_used": 95 * GIB, "memory_total": 100 * GIB}
        assert found_in(monitored(**full))["memory_near_capacity"].severity == "warning"
        assert "memory_near_capacity" not in found_in(monitored(**full | {"memory_used": 50 * GIB}))

    def test_loader_processes(self, tmp_path):
        case = monitored(**{f"cpu_core_{i}": 0.5 for i in range(8)})
        case.worker["loader"] = {"workers": 32, "batch_size": 8}
        assert "loader_workers" in found_in(case)
        case.worker["loader"]["workers"] = 8
        assert "loader_workers" not in found_in(case)
