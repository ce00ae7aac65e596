"""Where XLA compiled the step, its operations are what takes time; operators are what runs them from outside."""

from stepscope.report.text import report
from stepscope.rules import Case, find
from stepscope.rules.verdict import bound
from stepscope.runs import open_run
from stepscope.summary import summarize
from tests.hlo.runs import PROGRAM, write_dense_run
from tests.rules.cases import case_of, trace


def on_cpu(**parts) -> Case:
    """Steps of 1 ms, 900 us of which one operator takes."""
    case = case_of(trace(lambda built, at, number: built.op("Run", at, 900)))
    return Case({**case.worker, "devices": [], "gpu": [], **parts}, case.steps, case.activity, case.phases)


HLO = [
    {"program": "step", "program_id": 1, "op": op, "runs": 2, "executions": 2, "total_ns": ns, "self_ns": ns}
    for op, ns in (("fusion.4", 60), ("dot.1", 40))
]
COMPILED = {"host_eager_ns": 10, "host_graph_ns": None, "host_compiled_ns": 90, "device_compiled_ns": None}


def test_an_operation_and_not_its_wrapper_is_the_largest():
    case = on_cpu(hlo_operations=HLO, operator_modes=COMPILED)
    assert bound(case).sentence == "CPU-bound: the largest HLO operation is fusion.4 with 60.0 % of the time of all."
    (finding,) = [f for f in find(case).findings if f.rule == "dominant_kernel"]
    assert finding.message == "fusion.4 takes 60.0 % of the self time of all HLO operations, in 2 runs."
    assert (finding.places[0].what, finding.places[0].name) == ("operator", "fusion.4")


def test_operators_count_where_most_time_is_theirs():
    case = on_cpu(hlo_operations=HLO, operator_modes={**COMPILED, "host_eager_ns": 100})
    assert bound(case).sentence == "CPU-bound: the largest operator is Run with 100.0 % of the operators' time."


def test_calls_of_tensorflows_executor_are_no_operators():
    names = {"KernelAndDeviceFunc::Run": 500, "model/dense/MatMul:MatMul": 60, "model/add:AddV2": 40}
    rows = [{"name": name, "host_self_ns": ns, "count": 2} for name, ns in names.items()]
    case = on_cpu(framework="tensorflow", operators=rows)
    told = "model/dense/MatMul:MatMul with 60.0 % of the operators' time"
    assert bound(case).sentence == f"CPU-bound: the largest operator is {told}."
    (finding,) = [f for f in find(case).findings if f.rule == "dominant_kernel"]
    assert finding.evidence["share_ratio"] == 0.6
    eager = on_cpu(framework="tensorflow", operators=rows[:1])
    assert "KernelAndDeviceFunc::Run with 100.0 %" in bound(eager).sentence


def test_the_summary_tells_operations_and_modes(tmp_path):
    write_dense_run(tmp_path / "xla")
    summary = summarize(open_run(tmp_path / "xla"))
    (worker,) = summary["workers"]
    about = {"program": "jit_step", "program_id": PROGRAM, "runs": 2, "executions": 2}
    assert worker["hlo_operations"] == [
        {**about, "op": "dot.1", "total_ns": 60_000, "self_ns": 60_000},
        {**about, "op": "add_maximum_fusion", "total_ns": 20_000, "self_ns": 20_000},
    ]
    lines = report(summary, worker).splitlines()
    assert "How operators ran" not in lines, "one way on one side: nothing to compare"
    worker["operator_modes"].update(host_eager_ns=20_000, device_compiled_ns=300_000)
    lines = report(summary, worker).splitlines()
    at = lines.index("How operators ran")
    assert lines[at + 1 : at + 3] == [
        "  on the host 100 µs (25.0 % of both): eager 20.0 %, compiled 80.0 %",
        "  on devices 300 µs (75.0 % of both): compiled 100.0 %",
    ]
    at = lines.index("Top HLO operations")
    assert [line.split() for line in lines[at + 2 : at + 4]] == [
        ["dot.1", "60.0", "µs", "75.0", "%", "2"],
        ["add_maximum_fusion", "20.0", "µs", "25.0", "%", "2"],
    ]
