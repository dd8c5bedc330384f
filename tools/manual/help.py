# SPDX-License-Identifier: Apache-2.0
"""What a program says about itself with --help, taken apart: mpiexec's, mpicc's, weft's (CLI11) and Python's form."""
import re
from dataclasses import dataclass, field


@dataclass
class Section:
    """A heading, and below it entries (left column, right column) or text."""
    title: str = ""
    entries: list = field(default_factory=list)
    text: list = field(default_factory=list)  # paragraphs

    @property
    def is_examples(self):
        return self.title.lower().startswith("example")


@dataclass
class Help:
    usage: str
    sections: list  # the first has no title: what the program is


def parse(text):
    usage, sections, gap = [], [Section()], True
    in_usage = False
    for line in text.splitlines():
        here = sections[-1]
        if match := re.match(r"[Uu]sage: (.*)", line):
            usage, in_usage = [match[1]], True
        elif not line.strip():
            gap, in_usage = True, False
        elif in_usage:
            usage.append(line.strip())
        elif match := re.match(r"(\S.*):$", line):
            sections.append(Section(match[1]))
            gap = True
        elif match := re.match(r"(Example): +(.*)", line):
            sections.append(Section(match[1], [[match[2], ""]]))
        elif re.match(r"  \S", line):
            left, right = re.match(r"  (\S.*?)(?:  +(\S.*))?$", line).groups()
            here.entries.append([left, right or ""])
        elif line.startswith("   ") and here.entries:
            here.entries[-1][1] = f"{here.entries[-1][1]} {line.strip()}".strip()
        elif gap or not here.text:
            here.text.append(line.strip())
            gap = False
        else:
            here.text[-1] += " " + line.strip()
    for section in sections:  # entries without a right column are lines of text
        if section.entries and not section.is_examples and not any(right for _, right in section.entries):
            section.text.append(" ".join(left for left, _ in section.entries))
            section.entries = []
    return Help(" ".join(usage), sections)
