# SPDX-License-Identifier: Apache-2.0
"""Checks that the rooms of src/ know only rooms below them, and says which files grow too long.

    python3 tools/layercheck [root]

LAYERS names each folder of src/ and its level. A file may include its own folder and folders of a
strictly lower level; anything else is an error (exit 1). Files over the size aims are only listed.
"""
import re
import sys
from pathlib import Path

AIM, LIMIT = 400, 800
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')


def read_layers(text):
    """{'base': 0, ...} from lines of `folder level`; # starts a comment."""
    layers = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split("#")[0].split()
        if not words:
            continue
        if len(words) != 2 or not words[1].isdigit():
            raise SystemExit(f"LAYERS:{number}: expected `folder level`, found `{line.strip()}`")
        layers[words[0]] = int(words[1])
    return layers


def sources(root):
    """The .h and .cc files of src/<room>/, as (room, path)."""
    for path in sorted((root / "src").rglob("*")):
        parts = path.relative_to(root / "src").parts
        if path.suffix in (".h", ".cc") and len(parts) > 1:
            yield parts[0], path


def upward_includes(root, layers):
    """One line for each #include that LAYERS forbids."""
    errors = []
    for room, path in sources(root):
        name = path.relative_to(root)
        if room not in layers:
            errors.append(f"{name}: folder `{room}` has no line in LAYERS")
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if not match or (root / "include" / match[1]).exists():
                continue  # public headers are for everybody
            target = match[1].split("/")[0] if "/" in match[1] else None
            where = f"{name}:{number}: \"{match[1]}\""
            if target is None or target not in layers:
                errors.append(f"{where} is not `folder/file` of a folder in LAYERS")
            elif target != room and layers[target] >= layers[room]:
                errors.append(f"{where}: {room} (level {layers[room]}) may not know {target} "
                              f"(level {layers[target]}); move it down or register a callback")
    return errors


def long_files(root):
    """One line for each hand-written source file over the aim."""
    found = []
    for folder in ("src", "launch", "tools", "tests", "bench", "examples"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in (".h", ".cc", ".c", ".py", ".sh") or "gen" in path.parts:
                continue
            lines = path.read_bytes().count(b"\n")
            if lines > AIM:
                word = "think again" if lines > LIMIT else "long"
                found.append(f"{word}: {path.relative_to(root)} has {lines} lines (aim {AIM})")
    return found


def main(argv):
    root = Path(argv[1] if len(argv) > 1 else Path(__file__).parents[2]).resolve()
    layers = read_layers((root / "LAYERS").read_text())
    errors = upward_includes(root, layers)
    for line in long_files(root) + errors:
        print(line)
    count = sum(1 for _ in sources(root))
    print(f"layercheck: {count} files, {len(errors)} forbidden includes")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
