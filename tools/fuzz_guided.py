"""Looks for trace files of which the C++ scanner and Python alone make different things, led by the code they reach.

``python tools/fuzz_guided.py SECONDS`` changes lists of events and keeps each change that reaches new code of the
scanner (libFuzzer by way of ``atheris``). For this the scanner is built anew with clang's coverage and its sanitizers
for addresses and undefined behaviour, so that a read beyond a buffer is found as well. It needs ``pip install
atheris`` and clang; ``tools/fuzz_importers.py`` needs neither, takes whole files, and is blind.

What it kept lies in ``--folder``, where the next call goes on. Inputs with a difference lie in its ``found``;
``--again FILE...`` reads those once more with the scanner as it is installed. Exit code 1 if there are any.

An input is a byte that says in how many blocks it is read, then the text between the brackets of ``traceEvents``.
Those that the scanner takes are read by both, many at a time in one file, and one by one where such a file makes a
difference. What it refuses Python reads in both cases: few of those are read by both.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import random
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NATIVE = ROOT / "stepscope" / "importers" / "native"
SCANNER = "stepscope.importers._kineto_scan"
HEAD = b'{"baseTimeNanoseconds": 1751410836000000000, "distributedInfo": {"rank": 1}, "traceEvents": ['
_SEEDS = 80
_LONGEST = 4000
#: Of the inputs that the scanner took, the last ones that are changed again.
_ACCEPTED = 2000
#: As many of them make one file: to read one takes 10 ms, which is the same for few events and for many.
_BATCH = 32
#: One of so many that the scanner refuses is read by both.
_REFUSED = 128
#: Different inputs of one kind of difference that are kept.
_KEPT = 3
#: What an edit puts in the place of a value or of a name, two spaces apart; a member is one of each.
_VALUES = re.split(
    r"\s{2,}",
    r'''0  -1  7  1.5  0.0005  3.1415  -0.0005  12.3456789  1e3  0.0004999999999  1458676500574.977  9007199254740993
    9223372036854775807  9223372036854775808  18446744073709551615  9999999999999999999999999  "0x1f"
    "0xFFFFFFFFFFFFFFFF"  "7"  "-7"  " 7"  "7.0"  "stream 7"  ""  "a \" b"  "x, {"  "\u0041"  "\ud83d\ude00"
    "é {lambda()#1} and text of more than two times sixteen bytes"  "Collective name"  "\"Collective name"
    null  true  []  [1, [2]]  [{"stream": 1}]  {}  {"Ev Idx": 4, "stream": 1}
    "X"  "B"  "E"  "i"  "C"  "M"  "s"  "kernel"  "Kernel"  "gpu_memcpy"  "cpu_op"  "Trace"  "cuda_runtime"
    "python_function"  "cpu_instant_event"  "[memory]"  "ProfilerStep#5"  "Spans"  "CUDA functions"  "thread_name"
    "process_labels"  "Iteration Start: PyTorch Profiler"''',
)
_NAMES = re.split(
    r"\s{2,}",
    r"""ph  cat  name  pid  tid  ts  dur  args  id  correlation  External id  external id  device  stream  bytes  Bytes
    Device Id  Device Type  Ev Idx  Record function id  Python id  Python parent id  Profiler Event Index  external ts
    memory bandwidth (GB/s)  Collective name  name\u0041  a\"Ev Idx""",
)
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|[{}\[\],:]|true|false|null')
_SANITIZERS = "address,undefined,fuzzer-no-link"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seconds", type=int, nargs="?", default=600)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "stepscope-fuzz")
    parser.add_argument("--again", type=Path, nargs="+", metavar="FILE", help="read these inputs, look for no others")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)  # the process that does the work
    args = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    if args.again:
        return read_again(args.again)
    folder = args.folder.resolve()
    if args.inside:
        fuzz(folder, args.seconds)  # does not return
    atheris = importlib.util.find_spec("atheris")
    if atheris is None or atheris.origin is None:
        print("atheris is missing: pip install atheris", file=sys.stderr)
        return 2
    packages = Path(atheris.origin).parent.parent
    for part in ("corpus", "found"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    build_scanner(folder)
    write_seeds(folder)
    before = set((folder / "found").iterdir())
    done = subprocess.run(
        [sys.executable, __file__, str(args.seconds), "--folder", str(folder), "--inside"],
        env={
            **os.environ,
            # The second holds the hook by which libFuzzer calls a mutator of ours, and looks for it when it is loaded.
            "LD_PRELOAD": f"{packages / 'asan_with_fuzzer.so'} {next(packages.glob('atheris/custom_mutator.*.so'))}",
            # To keep the stacks of all allocations, and freed memory for long, took most of the time.
            "ASAN_OPTIONS": "detect_leaks=0:malloc_context_size=2:quarantine_size_mb=8",
            "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
        },
        cwd=folder / "found",  # where libFuzzer puts the input of a crash
        check=False,
    )
    found = sorted(set((folder / "found").iterdir()) - before)
    for path in found:
        print(f"{path}: python {__file__} --again {path}")
    print(f"{len(found)} inputs with a difference or a crash; libFuzzer ended with {done.returncode}")
    return 1 if found or done.returncode else 0


def build_scanner(folder: Path) -> None:
    """The scanner with what tells libFuzzer how far an input came."""
    compiler = next(
        (name for name in ("clang++", *(f"clang++-{n}" for n in range(30, 12, -1))) if shutil.which(name)), None
    )
    if compiler is None:
        raise SystemExit("clang++ is missing: install clang (on Debian: clang libclang-rt-dev)")
    sources = [str(path) for path in sorted(NATIVE.glob("*.cpp"))]
    command = [compiler, "-shared", "-fPIC", "-O1", "-g", "-std=c++11", f"-fsanitize={_SANITIZERS}"]
    command += ["-fno-sanitize=vptr,function", f"-I{sysconfig.get_path('include')}", *sources]
    subprocess.run([*command, "-o", str(folder / "_kineto_scan.so")], check=True)


def write_seeds(folder: Path) -> None:
    """Events by the tests' builder, and the pieces of text that their mutations insert as a dictionary."""
    from tests.importers.equality import PIECES, rich_trace

    for seed in range(_SEEDS):
        trace = rich_trace(seed)
        trace.events = trace.events[seed % 3 :][: 1 + seed % 6]
        data = trace.json()
        start = data.index(b"[", data.index(b'"traceEvents"')) + 1
        text = data[start : data.rindex(b"]", 0, data.rindex(b"}"))].strip()
        (folder / "corpus" / f"seed-{seed}").write_bytes(bytes([seed % 8]) + text)
    words = ("".join(f"\\x{byte:02x}" for byte in piece) for piece in PIECES)
    (folder / "dictionary").write_text("".join(f'"{word}"\n' for word in words))


def fuzz(folder: Path, seconds: int) -> None:
    """Let libFuzzer run; it ends the process."""
    import atheris

    spec = importlib.util.spec_from_file_location(SCANNER, folder / "_kineto_scan.so")
    assert spec is not None
    assert spec.loader is not None
    sys.modules[SCANNER] = scanner = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(scanner)
    from stepscope.importers import json_scan, kineto, kineto_native
    from tests.importers.equality import mutate

    # One thread: what an input reaches is then the same each time, and it is read faster.
    kineto.made_ahead = json_scan.made_ahead = iter  # type: ignore[assignment]
    sys.modules.setdefault("dateutil", None)  # type: ignore[arg-type]  # pyarrow looks for it in vain at each cast
    path = folder / "rank1.json"
    kinds: dict[str, int] = {}
    counts = dict.fromkeys(("inputs", "accepted by the scanner", "files read by both"), 0)
    accepted: list[bytes] = []
    batch: list[bytes] = []

    def compare(data: bytes) -> bool:
        counts["files read by both"] += 1
        found = check(data, path)
        kind = " ".join(sentence.split(":")[0] for sentence in found)
        if found and kinds.setdefault(kind, 0) < _KEPT:
            kinds[kind] += 1
            name = hashlib.sha1(data).hexdigest()[:12]
            (folder / "found" / name).write_bytes(data)
            print(f"\n{name}: " + "; ".join(found), file=sys.stderr, flush=True)
        return bool(found)

    def one(data: bytes) -> None:
        counts["inputs"] += 1
        if kineto_native._scan(data[1:], 0, max(len(data) - 1, 0)) is None:
            if zlib.crc32(data) % _REFUSED == 0:
                compare(data)
            return
        if len(data) < 2:
            return
        counts["accepted by the scanner"] += 1
        accepted.append(data)
        del accepted[:-_ACCEPTED]
        batch.append(data)
        if len(batch) == _BATCH:
            counts["files read by both"] += 1
            if check(together(batch), path) and not sum([compare(each) for each in batch]):
                compare(together(batch))
            batch.clear()
            (folder / "counts.json").write_text(json.dumps(counts))

    def mutator(data: bytes, most: int, seed: int) -> bytes:
        dice = random.Random(seed)
        how = dice.random()
        if len(data) < 2 or how < 0.2:
            return atheris.Mutate(data, most)
        if accepted and dice.random() < 0.5:  # what lies in the corpus is refused more often than not
            data = dice.choice(accepted)
        changed = bytearray(data)
        for _ in range(dice.choice((1, 1, 2, 3))):
            if how < 0.35:
                mutate(changed, 1, dice)
            else:
                edit(changed, dice)
            if len(changed) < 2:
                break
        return bytes(changed[:most])

    options = {"max_total_time": seconds, "max_len": _LONGEST, "timeout": 60, "rss_limit_mb": 8000}
    options |= {"mutate_depth": 1, "cross_over": 0}  # the mutator's own changes one at a time, or few remain valid
    arguments = [sys.argv[0], *(f"-{name}={value}" for name, value in options.items()), "-print_final_stats=1"]
    arguments += [f"-dict={folder / 'dictionary'}", str(folder / "corpus")]
    atheris.Setup(arguments, one, custom_mutator=mutator, internal_libfuzzer=False)
    atheris.Fuzz()


def edit(data: bytearray, dice: random.Random) -> None:
    """Change a value, a name, the members or the space, so that valid JSON mostly stays valid: other mutations break
    nine texts of ten, and the scanner refuses those."""
    tokens = [match.span() for match in _TOKEN.finditer(data, 1)]
    if not tokens:
        return
    start, end = dice.choice(tokens)
    token = bytes(data[start:end])
    if token == b"{":
        data[end:end] = f'"{dice.choice(_NAMES)}": {dice.choice(_VALUES)}, '.encode()
    elif token in (b"}", b"]", b",", b":", b"["):
        data[end:end] = dice.choice((b" ", b"\n", b"\t ", b" " * 17))
    elif data[end : end + 1] == b":":
        data[start:end] = f'"{dice.choice(_NAMES)}"'.encode()
    else:
        data[start:end] = dice.choice(_VALUES).encode()


def together(batch: list[bytes]) -> bytes:
    """One input of many that the scanner takes; only in the last one a comma may follow the last event."""
    texts = [data[1:].rstrip(b" \t\r\n") for data in batch]
    texts = [text.removesuffix(b",") for text in texts[:-1]] + texts[-1:]
    return batch[0][:1] + b",".join(text for text in texts if text)


def check(data: bytes, path: Path) -> list[str]:
    """Where the readers disagree about an input."""
    from tests.importers.equality import differences

    path.write_bytes(HEAD + data[1:] + b"]}")
    blocks = max(1, (data[0] if data else 0) % 8 - 3)
    try:
        return differences(path, len(data) // blocks + 64 if blocks > 1 else None)
    except Exception as error:  # a finding as well
        return [f"{type(error).__name__}: {error}"]


def read_again(inputs: list[Path]) -> int:
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for source in inputs:
            found = check(source.read_bytes(), Path(folder) / "rank1.json")
            print(f"{source}: " + ("; ".join(found) or "read alike"))
            failed += bool(found)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
