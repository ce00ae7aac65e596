"""What categories and names of Kineto events are read as."""

import pytest

from stepscope.importers.kineto_names import classify, step_number
from stepscope.schema import NONE, Kind
from tests.builders import TraceBuilder

pytestmark = pytest.mark.usefixtures("both_readers")


@pytest.mark.parametrize(
    ("category", "name", "kind", "on_device"),
    [
        ("cpu_op", "aten::mm", Kind.OP, False),
        ("Operator", "aten::mm", Kind.OP, False),
        ("", "aten::mm", Kind.OP, False),
        ("", "anything", Kind.OTHER, False),
        ("a_category_of_2031", "x", Kind.OTHER, False),
        ("user_annotation", "forward", Kind.ANNOTATION, False),
        ("user_annotation", "ProfilerStep#7", Kind.STEP, False),
        ("Operator", "ProfilerStep#7", Kind.STEP, False),
        ("user_annotation", "ProfilerStep*", Kind.STEP, False),
        ("gpu_user_annotation", "ProfilerStep#7", Kind.DEVICE_ANNOTATION, True),
        ("gpu_user_annotation", "nccl:all_reduce", Kind.DEVICE_ANNOTATION, True),
        ("cuda_profiler_range", "a_kernel", Kind.DEVICE_ANNOTATION, True),
        ("python_function", "train.py(3): main", Kind.PYTHON, False),
        ("python_function", "nn.Module: Linear_0", Kind.MODULE, False),
        ("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", Kind.DATALOADER, False),
        ("Operator", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", Kind.DATALOADER, False),
        ("overhead", "Activity Buffer Request", Kind.OVERHEAD, False),
        ("Kernel", "sgemm", Kind.KERNEL, True),
        ("gpu_op", "sgemm", Kind.KERNEL, True),
        ("Memcpy", "Memcpy HtoD (Pinned -> Device)", Kind.MEMCPY, True),
        ("gpu_memset", "Memset (Device)", Kind.MEMSET, True),
        ("cuda_sync", "Stream Wait Event", Kind.SYNC, True),
        ("kernel", "Event Sync", Kind.SYNC, True),
    ],
)
def test_categories(category: str, name: str, kind: Kind, on_device: bool) -> None:
    assert classify(category, name, instant=False) == (kind, on_device)


@pytest.mark.parametrize(
    "name",
    [
        "cudaLaunchKernel", "cudaLaunchKernelExC", "cudaLaunchCooperativeKernel", "cuLaunchKernel", "cuLaunchKernelEx",
        "cudaGraphLaunch", "cuGraphLaunch", "hipLaunchKernel", "hipModuleLaunchKernel", "hipExtModuleLaunchKernel",
        "hipExtLaunchKernel", "hipGraphLaunch", "cudaMemcpyAsync", "cudaMemcpy2DAsync", "hipMemcpyWithStream",
        "cuMemcpyHtoDAsync_v2", "cudaMemsetAsync", "cuMemsetD32Async", "urEnqueueKernelLaunch",
    ],
)  # fmt: skip
def test_calls_that_put_work_on_a_queue(name: str) -> None:
    assert classify("cuda_runtime", name, instant=False)[0] is Kind.LAUNCH


@pytest.mark.parametrize(
    "name", ["cudaDeviceSynchronize", "hipStreamSynchronize", "cudaEventSynchronize", "cudaStreamWaitEvent",
             "cudaEventQuery", "hipStreamQuery", "cuCtxSynchronize"],
)  # fmt: skip
def test_calls_that_wait(name: str) -> None:
    assert classify("cuda_driver", name, instant=False)[0] is Kind.SYNC


@pytest.mark.parametrize(
    "name", ["cudaMalloc", "cudaEventRecord", "cudaStreamIsCapturing", "cudaLaunchHostFunc", "hipLaunchHostFunc",
             "cudaGraphInstantiate", "cudaGraphAddMemcpyNode", "cudaGraphKernelNodeSetParams", "cudaMemGetInfo",
             "cudaFuncSetAttribute", "INVALID"],
)  # fmt: skip
def test_other_calls(name: str) -> None:
    assert classify("Runtime", name, instant=False)[0] is Kind.RUNTIME


@pytest.mark.parametrize(
    "name",
    [
        "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)",
        "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "ncclAllReduceRingLLKernel_sum_f32(ncclColl)",
        "ncclSymDevKernel_AllReduce_AGxLL_R_Sum_bf16(ncclSymDevArgs)",
        "void rcclGenericKernel<0, 1>(ncclDevComm*)",
        "mscclKernel_Sum_half_Simple_true(ncclDevComm*, mscclAlgo*, mscclWork*)",
        "hcom_allReduce__795_0",
    ],
)
def test_kernels_of_communication_libraries(name: str) -> None:
    assert classify("kernel", name, instant=False)[0] is Kind.COLLECTIVE


@pytest.mark.parametrize(
    "name",
    [
        "Cijk_Ailk_Bljk_BBS_BH_MT256x128x64_hipblasLt_nccl",
        "void user::pack_for_nccl<float>(float*)",
        "my_nccl_buffer_copy",
        "ncclBufferFillByUser(float*)",
        "gloom_effect(float*)",
        "void at::native::reduce_kernel<512, 1>(float)",
    ],
)
def test_kernels_that_only_sound_like_communication(name: str) -> None:
    assert classify("kernel", name, instant=False)[0] is Kind.KERNEL


def test_metadata_of_a_collective_decides_whatever_the_name() -> None:
    trace = TraceBuilder()
    trace.kernel("void custom_one_shot(float*)", 0, 10, **{"Collective name": "allreduce"})
    trace.kernel("void custom_one_shot(float*)", 20, 10)
    assert trace.window().events.kind.tolist() == [Kind.COLLECTIVE, Kind.KERNEL]


def test_step_numbers() -> None:
    assert step_number("ProfilerStep#1009") == 1009
    assert step_number("ProfilerStep*") == NONE
    assert step_number("ProfilerStep#x") == NONE
    events = TraceBuilder().step(5, 0, 10).step("x", 10, 10).gpu_annotation("ProfilerStep#5", 0, 9).window().events
    assert events.kind.tolist() == [Kind.STEP, Kind.STEP, Kind.DEVICE_ANNOTATION]
    assert events.step.tolist() == [5, NONE, NONE]
