# SPDX-License-Identifier: Apache-2.0
"""What the Fortran interfaces and their library share: which procedures there are, and how each of
their arguments is declared (MPI-5.0 chapter 19 and appendix A). fortran_text.py writes mpif.h and the modules from it,
fortran_c.py the library."""

import re
from dataclasses import dataclass

HANDLES = {"COMMUNICATOR": "Comm", "DATATYPE": "Datatype", "ERRHANDLER": "Errhandler", "FILE": "File",
           "GROUP": "Group", "INFO": "Info", "MESSAGE": "Message", "OPERATION": "Op",
           "REQUEST": "Request", "SESSION": "Session", "WINDOW": "Win"}
NULLS = {t: f"MPI_{t.upper()}_NULL" for t in HANDLES.values()}

INTEGERS = {"int": "INTEGER", "MPI_Aint": "INTEGER(KIND=MPI_ADDRESS_KIND)",
            "MPI_Count": "INTEGER(KIND=MPI_COUNT_KIND)", "MPI_Offset": "INTEGER(KIND=MPI_OFFSET_KIND)"}
C_TYPES = {text: c for c, text in INTEGERS.items()} | {"INTEGER": "integer"}


# In C only: handles of the tool interface have no Fortran form, and the conversions are what Fortran does not need.
def in_c_only(name):
    return name.startswith("T_") or re.search(r"_(from|to)int$", name) is not None


@dataclass
class Arg:
    """One argument: `base` is its type in Fortran as if it were a scalar."""
    name: str
    what: str       # integer, logical, handle, status, buffer, string, function, address (TYPE(C_PTR))
    base: str       # "INTEGER(KIND=MPI_COUNT_KIND)", the handle's name, the function type's name
    direction: str
    const: bool
    dims: str       # "", "*", "3,*", "count,*"
    kind: str
    length: list    # of the C array

    def key(self):
        return self.what, self.base, bool(self.dims)


def arg_of(p, function, large):
    c, kind = p.base_type(large), p.kind.name
    dims = "*" if p.length else ""
    if len(p.length) > 1:
        dims = f"{p.length[1]},*"

    def arg(what, base):
        return Arg(p.name, what, base, p.direction, p.const, dims, kind, p.length)

    if kind in HANDLES:
        return arg("handle", HANDLES[kind])
    if kind == "STATUS":
        return arg("status", "Status")
    if kind == "BUFFER":
        return arg("buffer", "")
    if kind in ("C_BUFFER", "C_BUFFER2"):
        return arg("address", kind)
    if kind.startswith("LOGICAL"):
        return arg("logical", "LOGICAL")
    if kind in ("EXTRA_STATE", "ATTRIBUTE_VAL"):
        return arg("integer", INTEGERS["MPI_Aint"])
    if kind in ("EXTRA_STATE2", "ATTRIBUTE_VAL_10"):
        return arg("integer", "INTEGER")
    if kind == "STRING_ARRAY":
        dims = "*"
        return arg("string", "")
    if kind == "STRING_2DARRAY":
        dims = f"{p.length[0]},*"
        return arg("string", "")
    if kind == "STRING":
        dims = ""
        return arg("string", "")
    if c.endswith("*"):
        return arg("function", c[:-1])
    return arg("integer", INTEGERS[c])


@dataclass
class Procedure:
    name: str       # as in C, without MPI_ (and with _c)
    generic: str    # the name that mpi_f08 has for it
    large: bool
    function: object
    args: list
    result: str     # type of a Fortran function, or ""
    f08: bool       # is it in mpi_f08?
    special: dict   # what spec/fortran.toml says of it
    wide: tuple = ()  # where default integers have 8 bytes: the arguments that the large form takes as they are

    @property
    def chapter(self):
        return self.function.chapter.name

    @property
    def has_ierror(self):
        return not self.result and not self.function.variadic

    @property
    def choice(self):
        return any(a.what == "buffer" for a in self.args)

    @property
    def collective(self):
        return self.chapter in ("coll", "topo")

    @property
    def pending(self):
        """Does the call return before it is done with its buffers?"""
        return (any(a.kind == "REQUEST" and a.direction == "out" for a in self.args) or self.chapter == "rma"
                or self.function.name.endswith("_begin") or self.special.get("keeps_buffer", False))

    @property
    def f77(self):
        """Is it in mpif.h and module mpi?"""
        return not self.large

    @property
    def by_hand(self):
        return self.special.get("by_hand", False) or any(a.what == "function" for a in self.args)

    def specific(self):
        """The name of the mpi_f08 specific without MPI_: 19.2 says how it ends."""
        return f"{self.name}_f08{'ts' if self.choice else ''}"


def procedures(spec):
    """Every procedure of the standard that Fortran has, in the order of spec/."""
    return [p for c in spec.chapters for f in c.functions if not in_c_only(f.name)
            for p in forms_of(f, spec.fortran.get(f.name, {}))]


def forms_of(f, special):
    forms = []
    for name, large in f.forms():
        args = [arg_of(p, f, large) for p in f.form_params(large) if p.name not in special.get("absent", ())]
        result = ""
        if f.returns.name not in ("ERROR_CODE",):
            result = "DOUBLE PRECISION" if f.returns.c_type == "double" else INTEGERS[f.returns.c_type]
        own_name = large and special.get("own_large_name", False)
        # MPI_Aint and MPI_Count are of the same kind in the ABI: where nothing else differs, one form is both.
        same = large and not own_name and [eight(a) for a in args] == [eight(a) for a in forms[0].args]
        forms.append(Procedure(name, name if own_name else f.name, large, f, args, result,
                               special.get("f08", True) and not same, special))
    if len(forms) == 2:
        small, large = forms
        makes_type = f.name.startswith("Type_") and any(a.kind == "DATATYPE" and a.direction == "out" for a in small.args)
        # A type that a large form made has other contents (5.1.13).
        if len(small.args) == len(large.args) and not makes_type:
            small.wide = tuple(a.name for a, b in zip(small.args, large.args) if a.base == "INTEGER" and b.base != a.base)
    return forms


def same_if_eight(p, forms):
    """Can this large form not be told from the small one where default integers have 8 bytes? One more integer may
    be the small form's ierror, which is optional."""
    def key(q):
        return [(what, base.replace("INTEGER", "8"), dims) for what, base, dims in map(eight, q.args)]
    return p.large and p.generic == p.function.name and key(p) in (key(forms[0]), key(forms[0]) + [("integer", "8", False)])


def eight(a):
    what, base, dims = a.key()
    return what, base.replace("INTEGER(KIND=MPI_ADDRESS_KIND)", "8").replace("INTEGER(KIND=MPI_COUNT_KIND)", "8").replace("INTEGER(KIND=MPI_OFFSET_KIND)", "8"), dims


# How the C value of a string's length becomes Fortran's: without the NUL.
def fortran_value(name, value):
    if name.startswith("MPI_MAX_"):
        return str(int(value, 0) - 1)
    return value


def constants(spec):
    """(name, handle type, "offset" or "", value text) of every constant that is a number in Fortran."""
    handles = {f"MPI_{t}": t for t in HANDLES.values()}
    for group in spec.constants:
        for name, value, _ in group.values:
            if name.startswith(("MPI_T_", "MPI_F_")):
                continue
            if group.form == "cast" and group.c_type not in handles and group.c_type != "MPI_Offset":
                continue
            kind = handles.get(group.c_type, "offset" if group.c_type == "MPI_Offset" else "")
            if value.startswith("MPI_"):
                value = next(v for g in spec.constants for n, v, _ in g.values if n == value)
            yield name, kind, str(int(fortran_value(name, value), 0))


# Names that stand for an address in C. In Fortran each is a variable of one common block, by whose place the library
# knows it: (name, integers it takes, its shape in mpif.h, its type in mpi_f08).
SENTINELS = [
    ("MPI_BOTTOM", 1, "", "INTEGER"),
    ("MPI_IN_PLACE", 1, "", "INTEGER"),
    ("MPI_BUFFER_AUTOMATIC", 1, "", "INTEGER"),
    ("MPI_ERRCODES_IGNORE", 1, "(1)", "INTEGER"),
    ("MPI_UNWEIGHTED", 1, "(1)", "INTEGER"),
    ("MPI_WEIGHTS_EMPTY", 1, "(1)", "INTEGER"),
    ("MPI_STATUS_IGNORE", 8, "(8)", "STATUS"),
    ("MPI_STATUSES_IGNORE", 8, "(8,1)", "STATUS"),
    ("MPI_ARGV_NULL", 1, "(1)", "CHARACTER"),
    ("MPI_ARGVS_NULL", 1, "(1,1)", "CHARACTER"),
]

NULL_FUNCTIONS = [f"{o}_{n}" for o in ("COMM", "TYPE", "WIN") for n in ("DUP_FN", "NULL_COPY_FN", "NULL_DELETE_FN")]
OLD_FUNCTIONS = ["DUP_FN", "NULL_COPY_FN", "NULL_DELETE_FN"]
