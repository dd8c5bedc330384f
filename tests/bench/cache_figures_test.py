#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`weft bench progress --rows caches`: the modelled cache, and what is printed and drawn of made-up samples."""
import contextlib
import io
import tempfile
import unittest
from pathlib import Path

import made_up
import cache_figures
import cache_model
import results

LEVEL = (32 << 10, 8, 64)


def sample(place, size, us, **counts):
    return {**made_up.sample("product", 0, [us], [], f"caches {place}", 1, size), "counts": counts}


def found(places=("same core", "another core"), **misses):
    samples = [sample("alone", 0, 20.0, copied=0, **misses)]
    for place in places:
        for size in cache_figures.BLOCKS:
            samples.append(sample(place, size, 22.0, copied=64000, **misses))
            samples.append(sample(f"{place} wall", size, 44.0))
    made = results.collect(made_up.about("progress caches"), samples, {})
    modelled = cache_figures.model(made.fullest())
    made.more = {"modelled": modelled, "figures": cache_figures.all_figures(made.fullest(), modelled)}
    return made


def printed(made):
    with contextlib.redirect_stdout(io.StringIO()) as said:
        cache_figures.print_report(made)
    return said.getvalue()


class Model(unittest.TestCase):
    def test_the_least_recently_used_line_goes(self):
        cache = cache_model.Cache(2 * 2 * 64, 2, 64)  # 2 sets of 2 ways
        lines = [0, 2, 0, 4, 0, 2, 1]  # 1 is of the other set
        self.assertEqual([cache.misses(line * 64) for line in lines], [1, 1, 0, 1, 0, 1, 1])
        self.assertEqual(cache.misses(7), 0)

    def test_a_product_alone(self):
        lines = cache_model.N ** 2 * 8 // 64
        self.assertEqual(cache_model.misses(LEVEL), 2 * lines)  # b stays, a and c come anew
        self.assertEqual(cache_model.misses((1 << 20, 16, 64)), 0)
        self.assertEqual(cache_model.misses(LEVEL, 4096, 0), 2 * lines)

    def test_copies_take_lines_away(self):
        some, more = (cache_model.misses(LEVEL, size, 1 << 20) for size in (4 << 10, 128 << 10))
        self.assertLess(cache_model.misses(LEVEL), some)
        self.assertLess(some, more)
        self.assertLess(cache_model.misses(LEVEL, 128 << 10, 1 << 16), more)

    def test_the_product_is_that_of_the_program(self):
        self.assertIn(f"enum {{ n = {cache_model.N} }};", (made_up.BENCH / "progress/product.h").read_text())

    def test_the_first_level_is_read(self):
        with tempfile.TemporaryDirectory() as folder:
            for number, kind in enumerate(("Instruction", "Data")):
                index = Path(folder) / f"index{number}"
                index.mkdir()
                for name, value in (("level", 1), ("type", kind), ("size", "48K"), ("ways_of_associativity", 12),
                                    ("coherency_line_size", 64)):
                    (index / name).write_text(f"{value}\n")
            self.assertEqual(cache_model.first_level(Path(folder)), (48 << 10, 12, 64))
            self.assertEqual(cache_model.first_level(Path(folder) / "none"), cache_model.USUAL)


class Report(unittest.TestCase):
    def test_times_and_what_is_not_here(self):
        text = printed(found())
        self.assertRegex(text, r"(?m)^same core, CPU time( +22\.0 \(\+10 %, 64 GB/s\)){3}$")
        self.assertRegex(text, r"(?m)^same core, from begin to end( +44\.0 \(\+120 %\)){3}$")
        self.assertRegex(text, r"(?m)^sibling hardware thread( +none here){3}$")
        self.assertIn("L1D misses of a product: not counted here", text)
        self.assertRegex(text, r"L1D misses of a product, modelled: .*\n.*\n?a cache that both share( +\d+){3}\n")

    def test_siblings_and_counters(self):
        made = found((*cache_figures.PLACES,), **{"L1D misses": 600})
        text = printed(made)
        self.assertNotIn("none here", text)
        self.assertIn("L1D misses of a product: counted, alone 600", text)
        self.assertIn("LLC misses of a product: not counted here", text)
        times, missed = made.more["figures"]
        self.assertEqual([curve["label"] for curve in times.curves], list(cache_figures.PLACES.values()))
        self.assertAlmostEqual(times.curves[0]["points"][0][2], 1.1)
        self.assertEqual([curve["kind"] for curve in missed.curves], ["counted"] * 3 + ["modelled"])

    def test_modelled_alone_is_drawn_without_counters(self):
        self.assertEqual([curve["kind"] for curve in found().more["figures"][1].curves], ["modelled"])


if __name__ == "__main__":
    unittest.main()
