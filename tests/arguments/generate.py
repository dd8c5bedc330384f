#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the table of calls for fuzz.c: every function of spec/ with right arguments, and for each of its parameters the
wrong ones and the error classes that these may have. What is right and wrong is said in values.toml.

  generate.py OUT.c"""

import fnmatch
import pathlib
import sys
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tools" / "bindgen"))
from spec import Spec  # noqa: E402

VALUES = tomllib.loads((HERE / "values.toml").read_text())
# Handles of which fuzz.c has good and bad ones, and what else it treats apart.
KINDS = {"BUFFER": "buffer", "COMMUNICATOR": "comm", "ROOT": "root", "REQUEST": "request", "DATATYPE": "type", "GROUP": "group",
         "INFO": "info", "ERRHANDLER": "errhandler", "OPERATION": "op", "CVAR": "cvar", "PVAR_SESSION": "session", "PVAR": "pvar"}
HANDLES = {"COMMUNICATOR": "COMM", "OPERATION": "OP", "WINDOW": "WIN"}
OPAQUE = {"EXTRA_STATE", "EXTRA_STATE2", "ATTRIBUTE_VAL", "ATTRIBUTE_VAL_10", "TOOL_MPI_OBJ"}
WIDTHS = {"int": 4, "char": 1}
# In the order of `constants` in fuzz.c.
CONSTANTS = ["MPI_BOTTOM", "MPI_IN_PLACE", "MPI_BUFFER_AUTOMATIC", "MPI_UNWEIGHTED", "MPI_WEIGHTS_EMPTY"]


class Unused(Exception):
    """A pattern of values.toml fits nothing."""


class Table:
    """One table of values.toml, by shell patterns; it knows which of them were of use."""

    def __init__(self, name):
        self.name, self.entries, self.used = name, VALUES.get(name, {}), set()

    def get(self, key, default=None):
        for pattern, value in self.entries.items():
            if fnmatch.fnmatchcase(key, pattern):
                self.used.add(pattern)
                default = value
        return default

    def check(self):
        if unused := self.entries.keys() - self.used:
            raise Unused(f"values.toml [{self.name}] has patterns that fit nothing: {', '.join(sorted(unused))}")


TABLES = {name: Table(name) for name in ("good", "bad", "any", "class", "legal", "flags")}


def sized(text, large):
    """@ones is an array of int, or of 64 bits in large calls."""
    return ("large_" if large else "") + text[1:] if text.startswith("@") else text


class Argument:
    """A parameter of one call."""

    def __init__(self, call, p, large):
        self.p = p
        self.key = f"{call}.{p.name}"
        self.kind = VALUES["kinds"].get(p.kind.name, {})
        self.type = p.base_type(large)
        self.opaque = p.kind.name in OPAQUE and p.direction == "in"
        # An address that the call follows or keeps; `changes`: what lies there may be wrong, too.
        self.is_address = p.length or p.direction != "in" or p.function or self.type.endswith("*")
        self.changes = (p.length and p.direction != "out") or p.direction == "inout"
        self.width = 8 if self.type.endswith("*") else WIDTHS.get(self.type, 8)
        self.tool = call.startswith("T_")

    def good(self, i):
        large = self.width == 8
        default = self.kind.get("good", "0")
        if self.is_address:
            default = f"room({i})"
            if self.p.direction == "inout" and not self.p.length:
                default = self.kind.get("inout", default)
            elif self.p.direction != "out" and self.p.length:
                default = self.kind.get("array", default)
            elif self.p.function:
                default = "query_fn"
            elif self.p.direction == "in" and "good" in self.kind:
                default = self.kind["good"]
        return sized(TABLES["good"].get(self.key, default), large)

    def bad(self):
        """The wrong values of the number or handle, or of the first element."""
        if self.is_address and not self.changes and self.p.kind.name != "STRING":
            return []
        found = TABLES["bad"].get(self.key, self.kind.get("bad", []))
        values = []
        for value in [found] if isinstance(found, str) else found:
            if value == "@huge":
                values += ["INT64_MAX / 2"] if self.width == 8 else []
            else:
                values.append(value)
        return values

    def classes(self):
        names = TABLES["class"].get(self.key, self.kind.get("class", []))
        return ", ".join(f"MPI_T_ERR_{n[2:]}" if n.startswith("T_") else f"MPI_ERR_{n}" for n in names) or "0"

    def pointer_classes(self):
        cls = "MPI_T_ERR_INVALID" if self.tool else "MPI_ERR_BUFFER" if self.p.kind.name == "BUFFER" else "MPI_ERR_ARG"
        handle = self.p.direction == "inout" and not self.p.length and self.kind.get("class")
        if TABLES["class"].get(self.key):
            return self.classes()
        return f"{cls}, {self.classes()}" if handle else cls

    def legal(self):
        """The mask of constants that are right here."""
        names = list(TABLES["legal"].get(self.key, []))
        if self.p.function:
            names += CONSTANTS[:self.p.constants]
        if self.p.kind.name == "STATUS" and self.p.direction == "out":
            names.append("MPI_BOTTOM")
        if self.p.kind.name == "WEIGHT":
            names.append("MPI_UNWEIGHTED")
        every = 0xff
        if self.opaque or self.p.kind.name in ("ARGUMENT_COUNT", "ARGUMENT_LIST"):
            return every
        return every if "all" in names else sum({1 << CONSTANTS.index(n) for n in names})

    def member(self):
        return "p" if self.is_address or self.type.startswith("MPI_") and self.type not in (
            "MPI_Aint", "MPI_Count", "MPI_Offset", "MPI_T_cb_safety", "MPI_T_source_order") else "i"

    def pass_on(self, i):
        if self.p.function or "CB_FUNCTION" in self.p.kind.name:
            star = "" if self.p.function else "*"
            return f"({self.type}{star})(intptr_t)a[{i}].i"
        return f"a[{i}].p" if self.member() == "p" else f"({self.type})a[{i}].i"


def bad_function(name, argument):
    values = argument.bad()
    if not values:
        return "0", ""
    if values[0].startswith("handles"):
        kind = argument.p.kind.name
        null = f"  v[n++].p = MPI_{HANDLES.get(kind, kind)}_NULL;\n" if "null" in values[0] else ""
        null += "  if (inter != MPI_COMM_NULL) v[n++].p = inter;\n" if "inter" in values[0] else ""
        null += "  v[n++].p = intra;\n" if "intra" in values[0] else ""
        body = f"  int n = bad_handles(v, {KINDS.get(kind, 'other')});\n{null}  return n;\n"
    else:
        # An element is a number or an address by its own type.
        by = "p" if argument.type.endswith("*") or (
            argument.type.startswith("MPI_") and argument.type not in ("MPI_Aint", "MPI_Count")) else "i"
        body = "  int n = 0;\n" + "".join(f"  v[n++].{by} = {v};\n" for v in values) + "  return n;\n"
    return f"bad_{name}", f"static int bad_{name}(Value* v) {{\n{body}}}\n"


def call_text(function, name, large, defaults):
    params = function.form_params(large)
    arguments = [Argument(name, p, large) for p in params]
    passed = ", ".join(a.pass_on(i) for i, a in enumerate(arguments))
    flags = [TABLES["flags"].get(name, "0")]
    overlay = {**defaults, **function.overlay}
    flags += ["works"] if function.works else []
    flags += ["anytime"] if overlay.get("anytime") or not function.works or "body" in overlay else []
    flags += ["returns"] if overlay.get("errors") == "none" else []
    flags += ["tool"] if name.startswith("T_") else []
    error = function.returns.name == "ERROR_CODE"
    flags += [] if error else ["no_error"]
    call = f"return MPI_{name}({passed});" if error else f"(void)MPI_{name}({passed});\n  return MPI_SUCCESS;"
    text = f"static int call_{name}(const Value* a) {{\n  (void)a;\n  {call}\n}}\n"
    good = "".join(f"  a[{i}].{a.member()} = {'(void*)(intptr_t)' if a.p.function else ''}{a.good(i)};\n"
                   for i, a in enumerate(arguments))
    text += f"static void good_{name}(Value* a) {{\n  (void)a;\n{good}}}\n"
    rows = []
    for a in arguments:
        bad, body = bad_function(f"{name}_{a.p.name}", a)
        text += body
        shape = ("element" if a.p.length else "pointee") if a.changes and bad != "0" else "pointer" if a.is_address else "scalar"
        rows.append(f'{{"{a.p.name}", {shape}, {a.width}, {bad}, {{{a.classes()}}}, {a.legal()}u, {{{a.pointer_classes()}}}, '
                    f'{int(a.p.root)}, {int(TABLES["any"].get(a.key, a.kind.get("any", False)))}, {KINDS.get(a.p.kind.name, "other")}, {"input" if a.p.direction == "in" else a.p.direction}}}')
    table = ",\n      ".join(rows)
    return text, (f'    {{"MPI_{name}", call_{name}, good_{name}, {len(rows)},\n     {{{table}}}, {" | ".join(flags)}}},\n')


def main():
    spec = Spec(ROOT / "spec")
    texts, rows = [], []
    for chapter in spec.chapters:
        for function in chapter.functions:
            for name, large in function.forms():
                text, row = call_text(function, name, large, spec.chapter_defaults(chapter))
                texts.append(text)
                rows.append(row)
    for table in TABLES.values():
        table.check()
    pathlib.Path(sys.argv[1]).write_text(
        '// Generated by tests/arguments/generate.py.\n#include "fuzz.h"\n\n' + "".join(texts) +
        "\nconst Call calls[] = {\n" + "".join(rows) + f"}};\nconst int call_count = {len(rows)};\n")


if __name__ == "__main__":
    main()
