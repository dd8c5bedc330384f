# SPDX-License-Identifier: Apache-2.0
"""Reads spec/: the functions, kinds, types and constants of the standard, and weft's overlay.

The formats are described in spec/README.md. Everything here is checked while it is read; an error
names the file and the line.
"""

import re
import tomllib
from dataclasses import dataclass, field


class SpecError(Exception):
    """A table in spec/ is not as it should be."""


@dataclass
class Kind:
    name: str
    c_type: str       # "int", "void*"; "function*" for function kinds
    large: str        # type in the _c form ("" if the same)


@dataclass
class Param:
    name: str
    kind: Kind
    direction: str    # in, out, inout
    const: bool
    root: bool        # significant at the root only
    large_only: bool  # exists in the _c form only
    length: list      # [] for a scalar, ["count"] or ["n", "3"] for an array
    function: str     # function kinds: the type's name
    constants: int = 0  # and how many constants of the ABI are such functions

    def base_type(self, large):
        if self.kind.c_type == "function*":
            return self.function + ("_c" if large and self.kind.large else "") + "*"
        return self.kind.large if large and self.kind.large else self.kind.c_type

    def c(self, large, name=None):
        """The parameter's declaration in C."""
        base, name = self.base_type(large), self.name if name is None else name
        star = base.endswith("*")
        if self.length:
            array = "[]" + "".join(f"[{n}]" for n in self.length[1:])
            text = f"{base[:-1] if star else base} {name}{array}"
        elif self.direction != "in" and not star:
            text = f"{base}* {name}"
        else:
            text = f"{base} {name}"
        return re.sub(r"(\*+) ", r" \1", ("const " if self.const else "") + text)


@dataclass
class Function:
    name: str         # without MPI_
    chapter: "Chapter"
    returns: Kind
    deprecated: str   # "2.0" or ""
    has_large: bool
    variadic: bool
    params: list
    overlay: dict = field(default_factory=dict)

    def forms(self):
        """(C name without prefix, large?) of each entry point of this function."""
        return [(self.name, False)] + ([(self.name + "_c", True)] if self.has_large else [])

    def form_params(self, large):
        return [p for p in self.params if large or not p.large_only]

    def c_params(self, large):
        texts = [p.c(large) for p in self.form_params(large)] + (["..."] if self.variadic else [])
        return ", ".join(texts) or "void"

    @property
    def works(self):
        return "call" in self.overlay or "body" in self.overlay


@dataclass
class Chapter:
    number: int
    name: str
    title: str
    functions: list


@dataclass
class Group:
    form: str         # macro, cast, enum
    c_type: str       # cast: the type; enum: its tag or ""
    title: str
    values: list      # (name, value text, comment)


def lines_of(path):
    """(line number, text) without comments and blank lines."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            yield number, line


def read_kinds(path):
    kinds, types = {}, None
    for number, line in lines_of(path):
        if line.endswith(":"):
            types = [t.strip() for t in line[:-1].split("/")] + [""]
        elif types is None:
            raise SpecError(f"{path}:{number}: a kind before the first type")
        else:
            for name in line.split():
                kinds[name] = Kind(name, types[0], types[1])
    return kinds


PARAM = re.compile(r"(?:(in|out|inout) )?(root )?(large )?(const )?"
                   r"([A-Z][A-Z0-9_]*)(?:\((\w+)\))? (\w+)((?:\[[^\]]+\])*)$")


def read_param(text, kinds, where):
    m = PARAM.match(text)
    if not m or m[5] not in kinds:
        raise SpecError(f"{where}: cannot read the parameter '{text}'")
    return Param(m[7], kinds[m[5]], m[1] or "in", bool(m[4]), bool(m[2]), bool(m[3]),
                 re.findall(r"\[([^\]]+)\]", m[8]), m[6] or "")


def read_functions(path, kinds):
    chapters, function, texts = [], None, []

    def finish(where):
        items = [" ".join(t.split()) for t in " ".join(texts).split(",") if t.strip()]
        texts.clear()
        if function is None:
            return
        function.variadic = items[-1:] == ["..."]
        function.params = [read_param(t, kinds, where) for t in items if t != "..."]
        if function.has_large != any(p.kind.large for p in function.params):
            raise SpecError(f"{where}: {function.name}: '+c' does not agree with its kinds")

    for number, line in lines_of(path):
        where = f"{path}:{number}"
        if line.startswith(" "):
            texts.append(line)
            continue
        finish(where)
        function = None
        if m := re.match(r"chapter (\d+) (\w+) (.+)$", line):
            chapters.append(Chapter(int(m[1]), m[2], m[3], []))
        elif m := re.match(r"(\w+)( \+c)?(?: -> (\w+))?(?: deprecated ([\d.]+))?$", line):
            function = Function(m[1], chapters[-1], kinds[m[3] or "ERROR_CODE"], m[4] or "",
                                bool(m[2]), False, [])
            chapters[-1].functions.append(function)
        else:
            raise SpecError(f"{where}: cannot read '{line}'")
    finish(str(path))
    return chapters


def read_constants(path):
    groups = []
    for number, line in lines_of(path):
        if m := re.match(r"group (macro|cast|enum)(?::(\S+))? (.+)$", line):
            groups.append(Group(m[1], m[2] or "", m[3], []))
        elif m := re.match(r"(\w+) (=\s*)?(\S+)(?:  # (.+))?$", line):
            groups[-1].values.append((m[1], m[3], m[4] or ""))
        else:
            raise SpecError(f"{path}:{number}: cannot read '{line}'")
    return groups


class Spec:
    """All of spec/."""

    def __init__(self, folder):
        self.kinds = read_kinds(folder / "kinds.txt")
        self.chapters = read_functions(folder / "functions.txt", self.kinds)
        self.constants = read_constants(folder / "constants.txt")
        callbacks = {g.c_type: len(g.values) for g in self.constants if g.form == "cast"}
        for param in (p for c in self.chapters for f in c.functions for p in f.params):
            param.constants = callbacks.get(param.function + "*", 0)
        self.types = [line for _, line in lines_of(folder / "types.txt")]
        self.functions = {f.name: f for c in self.chapters for f in c.functions}
        overlay = self.read_entries(folder / "overlay.toml")
        self.defaults = overlay.pop("chapter", {})
        self.read_overlay(overlay)
        self.fortran = self.read_entries(folder / "fortran.toml")

    def read_entries(self, path):
        """{function: what a table says of it}"""
        entries = tomllib.loads(path.read_text() if path.exists() else "")
        for name in entries.keys() - self.functions.keys() - {"chapter"}:
            raise SpecError(f"{path}: MPI_{name} is no function of the standard")
        return entries

    def read_overlay(self, overlay):
        for name, entry in overlay.items():
            self.functions[name].overlay = entry
        for name, function in self.functions.items():  # the forms of a collective share checks
            shared = {k: v for k, v in function.overlay.items()
                      if k in ("checks", "root_checks", "unless")}
            for form in {"I" + name.lower(), name + "_init"} & self.functions.keys():
                self.functions[form].overlay = shared | self.functions[form].overlay

    def chapter_defaults(self, chapter):
        """Overlay keys that hold for every function of a chapter."""
        return self.defaults.get(chapter.name, {})

    def entry_points(self):
        """Every C function name without its MPI_ prefix, in the order of the Fn enumeration."""
        return [form for c in self.chapters for f in c.functions for form, _ in f.forms()]
