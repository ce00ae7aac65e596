"""Memory of a compiled program: allocations by kind, and the temporary buffers in program order."""

from stepscope.hlo import read_module
from stepscope.hlo.memory import memory_course
from tests.hlo.assignments import ALLOC, FREE, SHARE, allocation, buffer, heap_trace, with_assignment
from tests.hlo.programs import computation, dense_layer, instruction, parameter, program
from tests.importers.xspace import member


def chain(*assignment: bytes) -> bytes:
    """``y = f3(f2(f1(x)))``, each of 64 floats, and the buffers 1 of x, 2 to 4 of the three functions."""
    entry = computation(
        1,
        "main",
        parameter(11, "x", "f32[64]", 0),
        instruction(12, "f1", "negate", "f32[64]", [11], op_name="model/f1", source=("m.py", 3)),
        instruction(13, "f2", "negate", "f32[64]", [12]),
        instruction(14, "f3", "negate", "f32[64]", [13]),
        root=14,
    )
    buffers = [buffer(number, 256, 10 + number) for number in (1, 2, 3, 4)]
    made = program("chain", entry, entry=1, schedule={1: [11, 12, 13, 14]})
    return with_assignment(made, *buffers, *assignment)


GIVEN = allocation(0, 256, (1, 0, 256), parameter=0), allocation(1, 256, (4, 0, 256), output=1)


def test_without_a_buffer_assignment_nothing_is_known():
    assert memory_course(read_module(dense_layer())) is None


def test_kinds_add_up_and_temporary_buffers_live_from_maker_to_last_reader():
    course = memory_course(read_module(chain(*GIVEN, allocation(2, 600, (2, 0, 256), (3, 300, 256)))))
    memory = course.memory
    assert (memory.parameter_bytes, memory.output_bytes, memory.temporary_bytes) == (256, 256, 600)
    assert memory.total_bytes == 1112
    # f1 is alive while f1 and f2 run, f2 while f2 and f3 do: both while f2 runs.
    assert course.level.tolist() == [512, 768, 1024, 768]
    assert (course.peak, memory.temporary_peak_bytes, memory.peak_bytes, memory.unused_bytes) == (2, 512, 1024, 88)
    assert [each.name for _, each in course.order] == ["x", "f1", "f2", "f3"]
    assert course.is_told


def test_what_is_alive_adds_up_to_the_level_everywhere():
    course = memory_course(read_module(chain(*GIVEN, allocation(2, 600, (2, 0, 256), (3, 300, 256)))))
    for at, level in enumerate(course.level.tolist()):
        assert sum(each.size_bytes for each in course.alive(at)) == level
    first = {each.name: each for each in course.alive(2)}["f1"]
    assert (first.kind, first.shape, first.op_name, first.source) == ("temporary", "f32[64]{0}", "model/f1", "m.py:3")
    assert (first.first, first.last, first.padding_bytes) == (1, 2, 0)


def test_a_result_written_over_its_operand_takes_its_memory():
    course = memory_course(read_module(chain(*GIVEN, allocation(2, 256, (2, 0, 256), (3, 0, 256)))))
    assert course.level.tolist() == [512, 768, 768, 768]
    assert course.memory.unused_bytes == 0
    assert [each.name for each in course.alive(2) if each.kind == "temporary"] == ["f2"]


def test_a_parameter_that_is_also_an_output_counts_once():
    given = allocation(0, 256, (1, 0, 256), (4, 0, 256), parameter=0, output=1)
    memory = memory_course(read_module(chain(given))).memory
    assert (memory.parameter_bytes, memory.output_bytes, memory.aliased_bytes) == (256, 0, 256)
    assert memory.total_bytes == memory.peak_bytes == 256


def test_padding_is_what_the_elements_do_not_fill():
    padded = [buffer(2, 512, 12), allocation(2, 512, (2, 0, 512))]
    found = memory_course(read_module(chain(*padded))).alive(1)
    assert [(each.name, each.padding_bytes) for each in found] == [("f1", 256)]


def test_the_heap_simulation_of_xla_is_a_second_opinion():
    trace = heap_trace(2, (ALLOC, 2), (ALLOC, 3), (FREE, 2), (FREE, 3))
    place = allocation(2, 600, (2, 0, 256), (3, 300, 256))
    assert memory_course(read_module(chain(*GIVEN, place, trace))).memory.simulated_peak_bytes == 512
    shared = heap_trace(2, (ALLOC, 2), (SHARE, 3, 2), (FREE, 2), (FREE, 3))
    assert memory_course(read_module(chain(*GIVEN, place, shared))).memory.simulated_peak_bytes == 256
    assert memory_course(read_module(chain(*GIVEN, place))).memory.simulated_peak_bytes is None


def test_what_a_loop_carries_lives_to_its_end():
    body = computation(
        2,
        "body",
        parameter(21, "state", "(f32[64])", 0),
        instruction(22, "part", "get-tuple-element", "f32[64]", [21]),
        instruction(23, "next", "negate", "f32[64]", [22]),
        instruction(24, "out", "tuple", "(f32[64])", [23]),
        root=24,
    )
    condition = computation(3, "condition", parameter(31, "s", "(f32[64])", 0), root=31)
    entry = computation(
        1,
        "main",
        parameter(11, "x", "f32[64]", 0),
        instruction(12, "init", "copy", "f32[64]", [11]),
        instruction(13, "both", "tuple", "(f32[64])", [12]),
        instruction(14, "loop", "while", "(f32[64])", [13], called=[2, 3]),
        instruction(15, "last", "get-tuple-element", "f32[64]", [14]),
        instruction(16, "y", "negate", "f32[64]", [15]),
        root=16,
    )
    schedule = {1: [11, 12, 13, 14, 15, 16], 2: [21, 22, 23, 24], 3: [31]}
    made = program("loop", entry, body, condition, entry=1, schedule=schedule)
    place = allocation(0, 512, (1, 0, 256), (2, 256, 256))
    course = memory_course(read_module(with_assignment(made, buffer(1, 256, 12), buffer(2, 256, 23), place)))
    names = [each.name for _, each in course.order]
    assert names == ["x", "init", "both", "state", "part", "next", "out", "s", "loop", "last", "y"]
    lives = {each.name: (names[each.first], names[each.last]) for each in course.buffers}
    assert lives == {"init": ("init", "y"), "next": ("next", "y")}


def test_names_of_one_value_hold_its_memory_until_the_last_of_them_ends():
    # f1 is read by f2 and f3; f2 is another name of it, and read by nobody.
    entry = computation(
        1,
        "main",
        parameter(11, "x", "f32[64]", 0),
        instruction(12, "f1", "negate", "f32[64]", [11]),
        instruction(13, "f2", "copy", "f32[64]", [12]),
        instruction(14, "f3", "negate", "f32[64]", [12]),
        instruction(15, "y", "negate", "f32[64]", [14]),
        root=15,
    )
    made = program("names", entry, entry=1, schedule={1: [11, 12, 13, 14, 15]})
    place = allocation(0, 256, (1, 0, 256), (2, 0, 256))
    own = buffer(3, 256, 14), allocation(1, 256, (3, 0, 256), output=1)
    course = memory_course(read_module(with_assignment(made, buffer(1, 256, 12), buffer(2, 256, 13), place, *own)))
    assert course.level.tolist() == [256, 512, 512, 512, 256]
    assert {each.name: (each.first, each.last) for each in course.buffers} == {"f1": (1, 1), "f2": (2, 3)}


def test_a_program_without_a_schedule_runs_in_the_order_of_the_file():
    entry = computation(
        1, "main", parameter(11, "x", "f32[4]", 0), instruction(12, "y", "negate", "f32[4]", [11]), root=12
    )
    place = buffer(1, 16, 12), allocation(0, 16, (1, 0, 16), output=1)
    course = memory_course(read_module(with_assignment(program("plain", entry, entry=1), *place)))
    assert (course.is_told, len(course.order)) == (False, 2)


def test_an_assignment_that_is_cut_gives_what_was_before():
    whole = chain(*GIVEN)
    module = read_module(whole)
    module.buffer_assignment = module.buffer_assignment[:-3]
    assert memory_course(module).memory.parameter_bytes == 256


def test_sizes_that_no_memory_has_count_as_nothing():
    course = memory_course(read_module(chain(*GIVEN, allocation(2, 1 << 62, (2, 0, 1 << 62), (3, 0, 256)))))
    assert (course.memory.temporary_bytes, course.memory.temporary_peak_bytes) == (0, 256)


def test_calls_in_a_circle_end():
    entry = computation(1, "main", instruction(11, "again", "call", "f32[]", called=[1]), root=11)
    place = buffer(1, 4, 11), allocation(0, 4, (1, 0, 4))
    course = memory_course(read_module(with_assignment(program("circle", entry, entry=1), *place)))
    assert [each.name for _, each in course.order] == ["again"]


def test_tuples_that_double_with_each_other_end_and_wide_ones_are_divided_once():
    doubled = [instruction(i, f"t{i}", "tuple", "(f32[2], f32[2])", [i - 1, i - 1]) for i in range(2, 60)]
    entry = computation(1, "main", parameter(1, "x", "f32[2]", 0), *doubled, root=59)
    held = (buffer(1, 8, 1), allocation(0, 8, (1, 0, 8)))
    assert memory_course(read_module(with_assignment(program("m", entry, entry=1), *held))).memory.peak_bytes == 8

    count = 3000
    made = [parameter(i + 1, f"x{i}", "f32[2]", i) for i in range(count)]
    whole = instruction(count + 1, "t", "tuple", "(f32[2], f32[2])", range(1, count + 1))
    parts = [
        instruction(count + 2 + i, f"g{i}", "get-tuple-element", "f32[2]", [count + 1], extra=member(13, i))
        for i in range(count)
    ]
    read = instruction(3 * count, "n", "negate", "f32[2]", [count + 2])  # the first element, read last
    entry = computation(1, "main", *made, whole, *parts, read, root=3 * count)
    held = (buffer(1, 8, 1), buffer(2, 8, 2), allocation(0, 16, (1, 0, 8), (2, 8, 8)))
    course = memory_course(read_module(with_assignment(program("m", entry, entry=1), *held)))
    assert [(b.name, b.last) for b in course.buffers] == [("x0", 2 * count + 1), ("x1", 1)]
