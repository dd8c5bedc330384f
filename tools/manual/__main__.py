# SPDX-License-Identifier: Apache-2.0
"""manual: writes the manual pages from what the programs say about themselves and from docs/.

  python3 tools/manual --bin build/release/bin --out DIR   write man1/ and man7/ into DIR
  python3 tools/manual --bin build/release/bin --docs      bring the tables of docs/launching.md up to date
  python3 tools/manual --bin build/release/bin --check     write nothing; fail if docs/launching.md is not

mpiexec.1 and mpicc.1 come from --help, weft.1 from its commands' --help, weft-params.7 from the parameter table
(`weft info --json`), sections on how things work from docs/launching.md. Needs Python only.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from help import parse  # noqa: E402
from roff import Page, add_markdown, sections  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
LAUNCHING = ROOT / "docs/launching.md"
OTHER_NAMES = {"man1/mpirun.1": "man1/mpiexec.1", "man1/mpicxx.1": "man1/mpicc.1", "man1/mpic++.1": "man1/mpicc.1",
               "man1/mpifort.1": "man1/mpicc.1", "man1/mpif90.1": "man1/mpicc.1"}


class Programs:
    """The programs of a build."""

    def __init__(self, folder):
        self.folder = folder

    def ask(self, *words):
        hidden = [name for name in os.environ if name.startswith("WEFT_")]
        env = {key: value for key, value in os.environ.items() if key not in hidden} | {"COLUMNS": "100"}
        return subprocess.run([self.folder / words[0], *words[1:]], capture_output=True, text=True, check=True, env=env).stdout


def add_head(page, names, said):
    first = re.split(r"[.:](?: |$)", said.sections[0].text[0].removeprefix(f"{names[0]}: "))[0]
    page.head("name")
    page.lines.append(", ".join(names).replace("-", "\\-") + " \\- " + first[0].lower() + first[1:])
    page.head("synopsis")
    page.usage(said.usage)


def add_section(page, section):
    for text in section.text:
        page.paragraph(text)
    if section.is_examples:
        width = max((len(left) for left, right in section.entries if right), default=0)
        page.code([f"{left:{width}}  {right}".rstrip() for left, right in section.entries])
        return
    for left, right in section.entries:
        page.item(left, right)


def add_options(page, said, apart):
    """Sections below OPTIONS; those in `apart` get a heading of their own."""
    page.head("description")
    add_section(page, said.sections[0])
    page.head("options")
    for section in said.sections[1:]:
        if section.title not in apart and not section.is_examples:
            if section.title != "Options":
                page.subhead(section.title)
            add_section(page, section)
    for section in said.sections[1:]:
        if section.title in apart or section.is_examples:
            page.head(section.title)
            add_section(page, section)


def see_also(page, *others):
    page.head("see also")
    page.lines.append(", ".join(f"\\fB{other[:-1]}\\fR({other[-1]})".replace("-", "\\-") for other in others) +
                      '. The pages of the documentation: \\fBweft docs\\fR.')


def mpiexec_page(programs, info):
    said = parse(programs.ask("mpiexec", "--help"))
    page = Page("mpiexec", 1, info["weft"]["version"])
    add_head(page, ["mpiexec", "mpirun"], said)
    add_options(page, said, ("Signals", "Exit status"))
    page.subhead("Error classes of MPI")
    for row in info["errors"]:
        page.item(str(row["class"]), f"{row['name']}: {row['help']}")
    for title, lines in sections(LAUNCHING.read_text()).items():
        if title != "Options":
            page.head(title)
            add_markdown(page, lines)
    see_also(page, "mpicc1", "weft1", "weft-params7")
    return page


def mpicc_page(programs, info):
    said = parse(programs.ask("mpicc", "-help"))
    page = Page("mpicc", 1, info["weft"]["version"])
    add_head(page, ["mpicc", "mpicxx", "mpic++", "mpifort", "mpif90"], said)
    add_options(page, said, ())
    see_also(page, "mpiexec1", "weft1")
    return page


def weft_page(programs, info):
    said = parse(programs.ask("weft", "--help"))
    page = Page("weft", 1, info["weft"]["version"])
    add_head(page, ["weft"], said)
    add_options(page, said, ())
    commands = next(section for section in said.sections if section.title == "Subcommands")
    for command, _ in commands.entries:
        own = parse(programs.ask("weft", command, "--help"))
        page.head(f"weft {command}")
        page.usage(own.usage)
        for section in own.sections:
            if section.title:
                page.subhead(section.title)
            add_section(page, section)
    see_also(page, "mpiexec1", "mpicc1", "weft-params7")
    return page


def values(row):
    """What a parameter may be."""
    if "words" in row:
        return "one of " + ", ".join(row["words"])
    return f"{row['range'][0]} to {row['range'][1]}" if "range" in row else ""


def params_page(programs, info):
    page = Page("weft-params", 7, info["weft"]["version"])
    page.head("name")
    page.lines.append("weft\\-params \\- environment variables that set weft's parameters")
    page.head("description")
    about = programs.ask("weft", "info", "--markdown").split("\n\n")[1]
    add_markdown(page, about.split("This page")[0].splitlines())
    page.head("parameters")
    for row in info["parameters"]:
        facts = [row["name"], f"default {row['default'] or 'empty'} {row['unit'] if row['default'] else ''}".strip(), values(row)]
        page.item(row["variable"], f"{row['help']}. ({'; '.join(fact for fact in facts if fact)})")
    see_also(page, "mpiexec1", "weft1")
    return page


def pages(programs):
    """{path below the folder for manual pages: text}"""
    info = json.loads(programs.ask("weft", "info", "--json"))
    texts = {f"man{page.section}/{page.name}.{page.section}": page.text()
             for page in (make(programs, info) for make in (mpiexec_page, mpicc_page, weft_page, params_page))}
    return texts | {name: f".so {target}\n" for name, target in OTHER_NAMES.items()}


def table(head, section):
    escape = lambda text: text.replace("|", "\\|")  # noqa: E731
    return "\n".join([head, "|---|---|", *(f"| `{escape(left)}` | {escape(right)} |" for left, right in section.entries)])


def launching_page(programs, text):
    """docs/launching.md with its tables as mpiexec --help has them."""
    said = parse(programs.ask("mpiexec", "--help"))
    by_title = {section.title: section for section in said.sections}
    apart = ("Signals", "Exit status", "")
    options = "\n\n".join(f"**{s.title}**\n\n" + (table("| option | meaning |", s) if s.entries else " ".join(s.text))
                          for s in said.sections if s.title not in apart and not s.is_examples)
    for name, new in (("options", options), ("exit status", table("| code | meaning |", by_title["Exit status"]))):
        begin, end = f"<!-- {name}:begin (generated by tools/manual) -->", f"<!-- {name}:end -->"
        head, _, rest = text.partition(begin)
        text = f"{head}{begin}\n{new}\n{end}{rest.partition(end)[2]}"
    return text


def main():
    parser = argparse.ArgumentParser(prog="manual", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="folder of mpiexec, mpicc and weft")
    parser.add_argument("--out", type=pathlib.Path, help="folder for the manual pages")
    parser.add_argument("--docs", action="store_true", help="write docs/launching.md")
    parser.add_argument("--check", action="store_true", help="compare docs/launching.md")
    args = parser.parse_args()
    programs = Programs(args.bin.resolve())
    for name, text in pages(programs).items() if args.out else ():
        path = args.out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    old = LAUNCHING.read_text()
    new = launching_page(programs, old)
    if args.docs:
        LAUNCHING.write_text(new)
    elif args.check and new != old:
        sys.exit(f"manual: {LAUNCHING} is not up to date; run python3 tools/manual --bin {args.bin} --docs")


if __name__ == "__main__":
    main()
