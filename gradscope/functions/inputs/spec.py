"""The mini-language of `--spec`: `randn(3,4):grad, int=2, index(5,max=3), None`. Read by hand, never evaluated.

spec     = sample { ";" sample }              sample = argument { "," argument }
argument = tensor | typed | literal           typed  = ("int" | "float" | "bool" | "str") "=" literal
tensor   = kind "(" [ entry { "," entry } ] ")" [ ":" ("grad" | "nograd") ]
entry    = integer | ("max" | "dtype") "=" word        literal = number | word | string | "[" [ literals ] "]"
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from gradscope.errors import UsageError

KINDS = ("randn", "rand", "positive", "zeros", "ones", "index", "mask")
DTYPES = ("float16", "bfloat16", "float32", "float64", "complex64", "complex128", "int32", "int64", "uint8", "bool")
CONVERSIONS = {"int": int, "float": float, "bool": bool, "str": str}
WORDS = {"None": None, "True": True, "False": False, "true": True, "false": False}
TOKEN = re.compile(
    r"\s*(?:(?P<number>[+-]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?)|(?P<word>[A-Za-z_]\w*)|(?P<string>'[^']*'|\"[^\"]*\")|(?P<mark>[(),:;=\[\]]))"
)
LARGEST = 1 << 24  # elements of one tensor: a typing error shall not eat the machine's memory


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """A tensor to make. `grad` None means: every floating tensor requires grad unless the spec marks some."""

    kind: str
    shape: tuple[int, ...]
    dtype: str | None = None
    grad: bool | None = None
    max: int | None = None


@dataclass(frozen=True, slots=True)
class SpecToken:
    """A piece of the text and the column at which it starts."""

    kind: str
    text: str
    column: int


Argument = TensorSpec | Any


def parse_spec(text: str, origin: str = "--spec") -> tuple[tuple[Argument, ...], ...]:
    """The samples that a spec describes; a UsageError points at the column otherwise, in what `origin` names."""
    return _Parser(text, origin).samples()


def tokens_of(text: str, origin: str) -> list[SpecToken]:
    """Cut the text into tokens, ending with one of kind "end"."""
    found: list[SpecToken] = []
    position = 0
    while text[position:].strip():
        match = TOKEN.match(text, position)
        if match is None:
            column = len(text) - len(text[position:].lstrip())
            raise at_column(text, column, "this character belongs to nothing", origin)
        kind = match.lastgroup or ""
        found.append(SpecToken(kind, match.group(kind), match.start(kind)))
        position = match.end()
    return [*found, SpecToken("end", "the end", len(text))]


def at_column(text: str, column: int, problem: str, origin: str) -> UsageError:
    """The one sentence for a wrong spec, with an arrow under the place."""
    shown = " ".join(text.splitlines()) if "\n" in text else text
    return UsageError(f"{origin}, column {column + 1}: {problem}", f"{shown}\n        {' ' * column}^")


class _Parser:
    """Walks over the tokens, one method for each line of the grammar."""

    def __init__(self, text: str, origin: str) -> None:
        self.text = text
        self.origin = origin
        self.tokens = tokens_of(text, origin)
        self.position = 0

    @property
    def token(self) -> SpecToken:
        return self.tokens[self.position]

    def samples(self) -> tuple[tuple[Argument, ...], ...]:
        samples = [self.sample()]
        while self.accept(";"):
            samples.append(self.sample())
        if self.token.kind != "end":
            raise self.wrong(f"expected a comma or the end, found {self.token.text!r}")
        return tuple(samples)

    def sample(self) -> tuple[Argument, ...]:
        arguments = [self.argument()]
        while self.accept(","):
            arguments.append(self.argument())
        return tuple(arguments)

    def argument(self) -> Argument:
        following = self.tokens[min(self.position + 1, len(self.tokens) - 1)].text
        if self.token.kind == "word" and following == "(":
            return self.tensor()
        if self.token.kind == "word" and following == "=":
            return self.typed()
        return self.literal()

    def tensor(self) -> TensorSpec:
        if self.token.text not in KINDS:
            raise self.wrong(f"{self.token.text!r} makes no tensor; use one of {', '.join(KINDS)}")
        kind = self.take().text
        self.expect("(")
        shape: list[int] = []
        options: dict[str, Any] = {}
        while not self.accept(")"):
            if self.token.kind == "word":
                self.option(options)
            else:
                shape.append(self.size())
            if self.token.text != ")":
                self.expect(",")
        return TensorSpec(kind, self.bounded(shape), options.get("dtype"), self.mark(), options.get("max"))

    def bounded(self, shape: list[int]) -> tuple[int, ...]:
        elements = 1
        for size in shape:
            elements *= size
        if elements > LARGEST:
            raise self.wrong(f"a tensor of {elements} elements is too large to try", self.position - 1)
        return tuple(shape)

    def option(self, options: dict[str, Any]) -> None:
        name = self.take().text
        if name not in ("max", "dtype"):
            raise self.wrong(f"{name!r} is no option; use max or dtype", self.position - 1)
        self.expect("=")
        if name == "max":
            options["max"] = max(1, self.size())
            return
        if self.token.text not in DTYPES:
            raise self.wrong(f"{self.token.text!r} is no dtype; use one of {', '.join(DTYPES)}")
        options["dtype"] = self.take().text

    def size(self) -> int:
        if self.token.kind != "number" or not self.token.text.isdigit():
            raise self.wrong(f"expected a whole number, found {self.token.text!r}")
        if len(self.token.text) > len(str(LARGEST)):
            raise self.wrong("this number is too large")
        return int(self.take().text)

    def mark(self) -> bool | None:
        if not self.accept(":"):
            return None
        if self.token.text not in ("grad", "nograd"):
            raise self.wrong(f"expected grad or nograd after the colon, found {self.token.text!r}")
        return self.take().text == "grad"

    def typed(self) -> Any:
        name = self.take()
        if name.text not in CONVERSIONS:
            raise self.wrong(f"{name.text!r} is no type; use one of {', '.join(CONVERSIONS)}", self.position - 1)
        self.expect("=")
        value = self.token.text if name.text == "str" and self.token.kind == "word" else None
        value = self.take().text if value is not None else self.literal()
        try:
            return CONVERSIONS[name.text](value)
        except (TypeError, ValueError, OverflowError):
            raise self.wrong(f"{value!r} is no {name.text}", self.position - 1) from None

    def literal(self) -> Any:
        token = self.token
        if self.accept("["):
            return self.list()
        if token.kind == "number":
            self.take()
            return int(token.text) if re.fullmatch(r"[+-]?\d{1,300}", token.text) else float(token.text)
        if token.kind == "string":
            return self.take().text[1:-1]
        if token.kind == "word" and token.text in WORDS:
            return WORDS[self.take().text]
        raise self.wrong(f"expected an argument, found {token.text!r}")

    def list(self) -> list[Any]:
        values: list[Any] = []
        while not self.accept("]"):
            values.append(self.literal())
            if self.token.text != "]":
                self.expect(",")
        return values

    def take(self) -> SpecToken:
        token = self.token
        self.position += 1
        return token

    def accept(self, mark: str) -> bool:
        if self.token.kind == "mark" and self.token.text == mark:
            self.position += 1
            return True
        return False

    def expect(self, mark: str) -> None:
        if not self.accept(mark):
            raise self.wrong(f"expected {mark!r}, found {self.token.text!r}")

    def wrong(self, problem: str, position: int | None = None) -> UsageError:
        token = self.tokens[self.position if position is None else position]
        return at_column(self.text, token.column, problem, self.origin)
