"""Names of C++ templates in short: what tells two kernels apart is deep inside hundreds of letters that are the same.

The pages do the same (tb_plugin/frontend/src/names.ts); the tests of both hold the same examples.
"""

from __future__ import annotations

import re

# "void a::b<", "a::(anonymous namespace)::b(" and the like; nothing else is touched.
_SIGNATURE = re.compile(r"(?:void (?=[\w(])|(?=\w+::|\w+<))(?:\w+::|\(anonymous namespace\)::)*\w+[<(]")
_LAMBDA = re.compile(r"\{lambda\((.*)\)#\d+\}")
# AMD's matrix products: the size of a tile and of a work group stand between two hundred letters of settings.
_TENSILE = re.compile(r"(Cijk_.+?)(?:_UserArgs)?_(MT\d+x\d+x\d+)_.+_(WG\d+_\d+_\d+)")
_OPEN, _CLOSE = "<({[", ">)}]"
# PyTorch's wrappers around the function that is computed, and the parameters that only say how it is loaded.
_PLUMBING = re.compile(r"[aA]rray<char\*, \d+>|TrivialOffsetCalculator<.*|(?:Load|Store)With(?:out)?Cast\b.*")


def brief(name: str) -> str:
    """A kernel's name without its return type, namespaces, parameters and plumbing; any other text as it is.

    >>> brief("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >(int)")
    'vectorized_elementwise_kernel<4, CUDAFunctor_add<float>>'
    """
    if found := _TENSILE.fullmatch(name):
        return "_".join(found.groups())
    if not _SIGNATURE.match(name):
        return name
    try:
        return _shorten(name.removeprefix("void ")) or name
    except ValueError:  # brackets that do not match: no signature after all
        return name


def _shorten(text: str) -> str:
    """One type or function."""
    types = own = ""  # parameters of the innermost lambda: they tell the variants of one function apart
    for part in _split(text.strip(), "::"):
        if found := _LAMBDA.match(part):
            types = found[1]
        elif not part.startswith(("(anonymous", "operator()")):
            own = part
    identifier = re.match(r"[\w~]*", own)[0]  # type: ignore[index]  # it matches the empty text
    rest = own[len(identifier) :]
    if not identifier:
        return own
    if not rest.startswith("<"):
        identifier = re.sub(r"^(\d+)ul$", r"\1", identifier)
        return identifier + (f"({_list(types)})" if types else _without_call(rest))
    end = _closing(rest)
    inner = _list(rest[1:end], "elementwise_kernel" in identifier)
    return (
        inner if identifier.startswith("gpu_kernel_impl") else f"{identifier}<{inner}>{_without_call(rest[end + 1 :])}"
    )


def _list(text: str, is_elementwise: bool = False) -> str:
    parts = [_shorten(part) for part in _split(text, ",")]
    return ", ".join(part for part in parts if not (is_elementwise and _PLUMBING.fullmatch(part)))


def _without_call(rest: str) -> str:
    """What follows a name, without its parameters; anything behind them stays."""
    return re.sub(r"^ const$", "", rest[_closing(rest) + 1 :]) if rest.startswith("(") else rest


def _split(text: str, mark: str) -> list[str]:
    """The text cut at a mark outside of all brackets; ``ValueError`` where brackets do not match."""
    parts, depth, begin, i = [], 0, 0, 0
    while i < len(text):
        depth += (text[i] in _OPEN) - (text[i] in _CLOSE)
        if depth < 0:
            raise ValueError(text)
        if depth == 0 and text.startswith(mark, i):
            parts.append(text[begin:i])
            i = begin = i + len(mark)
        else:
            i += 1
    if depth:
        raise ValueError(text)
    return [*parts, text[begin:]]


def _closing(text: str) -> int:
    """Where the bracket that begins the text closes; ``ValueError`` where it does not."""
    depth = 0
    for i, letter in enumerate(text):
        depth += (letter in _OPEN) - (letter in _CLOSE)
        if depth == 0:
            return i
    raise ValueError(text)
