# SPDX-License-Identifier: Apache-2.0
"""Misses of a matrix product whose first-level cache somebody shares who copies: a modelled cache (sets, least recently
used goes) and the lines that bench/progress/product.h and the copies of caches.c touch. For machines that have no
hardware threads, or that count no misses."""
from pathlib import Path

N = 48  # as in product.h
PRODUCTS = 3  # the first is not counted
PAGE = 4096
SIZES = {"K": 1 << 10, "M": 1 << 20}
USUAL = (32 << 10, 8, 64)


class Cache:
    def __init__(self, size, ways, line):
        self.ways, self.line = ways, line
        self.sets = [{} for _ in range(size // (ways * line))]

    def misses(self, address):
        """Touches a byte: 1 if its line was not there."""
        number = address // self.line
        held = self.sets[number % len(self.sets)]  # the oldest first
        missed = number not in held
        if not missed:
            del held[number]
        elif len(held) == self.ways:
            del held[next(iter(held))]
        held[number] = None
        return int(missed)


def first_level(folder=Path("/sys/devices/system/cpu/cpu0/cache")):
    """(bytes, ways, bytes of a line) of the first CPU's data cache."""
    for index in sorted(folder.glob("index*")):
        said = {name: (index / name).read_text().strip() for name in
                ("level", "type", "size", "ways_of_associativity", "coherency_line_size") if (index / name).exists()}
        if said.get("level") == "1" and said.get("type") != "Instruction" and len(said) == 5:
            size = int(said["size"][:-1]) * SIZES[said["size"][-1]]
            return size, int(said["ways_of_associativity"]), int(said["coherency_line_size"])
    return USUAL


def product_steps(line):
    """The addresses of each step of a product: an element of a, a row of b, one of c."""
    a, b, c = (number * N * N * 8 for number in range(3))
    for i in range(N):
        for k in range(N):
            rows = [(matrix + row * N * 8) // line * line for matrix, row in ((b, k), (c, i))]
            yield [a + (i * N + k) * 8] + [row + at for row in rows for at in range(0, N * 8, line)]


def copy_lines(size, line):
    """Read, written: the two addresses of each line of a block, again and again."""
    source = 1 << 30
    target = source + (size + PAGE) // PAGE * PAGE
    while True:
        for at in range(0, size, line):
            yield source + at, target + at


def misses(level, copied=0, bytes_per_product=0):
    """Of one product, if blocks of `copied` bytes are copied beside it, in all so many bytes for each product."""
    cache = Cache(*level)
    lines = copy_lines(copied, cache.line)
    per_step = bytes_per_product / (N * N * cache.line)
    counted, due = 0, 0.0
    for number in range(PRODUCTS):
        for step in product_steps(cache.line):
            own = sum([cache.misses(address) for address in step])
            counted += own if number > 0 else 0
            due += per_step
            while due >= 1:
                due -= 1
                for address in next(lines):
                    cache.misses(address)
    return counted / (PRODUCTS - 1)
