#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/arguments.py: a bad value of any option is refused with what was expected, before anything runs."""
import contextlib
import io
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
import arguments  # noqa: E402
import run  # noqa: E402

ROWS = {"lat": 2, "bw": 2, "barrier": 0, "allreduce": 0}


def parse(*words):
    return arguments.parse("what it does", run.PROGRAMS, list(words))


class Arguments(unittest.TestCase):
    def refused(self, text, action, *values):
        with contextlib.redirect_stderr(io.StringIO()) as said, self.assertRaises(SystemExit) as end:
            action(*values)
        self.assertEqual(end.exception.code, 2, values)
        self.assertIn(text, said.getvalue())

    def test_bad_values(self):
        for words, text in (
                (["--rows", "lat,,bw"], "expected names"), (["--rows", ""], "expected names"), (["--only", ""], "expected names"),
                (["--ranks", "two"], "from 1 to 4096"), (["--ranks", "2,"], "from 1 to 4096"), (["--ranks", ""], "from 1 to 4096"),
                (["--ranks", "-2"], "--ranks"), (["--ranks", "0"], "from 1 to 4096"), (["--ranks", "2x"], "from 1 to 4096"),
                (["--ranks", "99999999999999999999"], "from 1 to 4096"), (["--threads", "0"], "from 1 to 64"), (["--threads", "1,99"], "from 1 to 64"),
                (["--rounds", "0"], "from 1 to 10000"), (["--rounds", "2.5"], "from 1 to 10000"), (["--rounds", ""], "from 1 to 10000"),
                (["--batches", "1000"], "from 1 to 101"), (["--batch-ms", "nan"], "from 0.001"), (["--batch-ms", "0"], "from 0.001"),
                (["--limit-s", "x"], "from 0.001"), (["--limit-s", "1e999"], "from 0.001"), (["--limit-s", ""], "from 0.001"),
                (["--max-bytes", "0"], "from 8"), (["--max-bytes", "1k"], "from 8"), (["--timeout-s", "-1"], "--timeout-s"),
                (["mesages"], "invalid choice"), (["--nonsense"], "--nonsense"), (["--row", "lat"], "--row"),
                (["--figures"], "weft bench collectives"), (["collectives", "--figures", "--rows", "bcast"], "leave --regret and --rows out"),
                (["idle", "--ranks", "4"], "leave --ranks out"), (["network", "--nodes", "1"], "from 2 to 64"),
                (["--nodes", "2"], "--nodes with"), (["network", "--nodes", "2", "--hosts", "a,b"], "--nodes with"),
                (["network", "--launch-agent", "ssh"], "--launch-agent goes with --hosts"),
                (["datatypes", "--untouched"], "--untouched goes with messages"), (["collectives", "--figures", "--regret"], "leave --regret and --rows out")):
            with self.subTest(words=words):
                self.refused(text, parse, *words)

    def test_good_values(self):
        args = parse("--ranks", "2,8", "--rows", "lat,bw", "--rounds", "3", "--batch-ms", "0.5")
        self.assertEqual((args.ranks, args.rows, args.rounds, args.batch_ms), ([2, 8], "lat,bw", 3, 0.5))
        args = parse("threads", "--threads", "1,4", "--rows", "lat,bw")
        self.assertEqual((args.ranks, args.rows), ([2], "lat_1t,lat_4t,lat_single,bw_1t,bw_4t"))
        self.assertEqual(parse("threads", "--threads", "2,32").rows, "lat_2t,lat_32t,rate_2t,rate_32t,comms_2t,comms_32t,bw_2t")
        self.assertEqual(parse("threads", "--threads", "32", "--rows", "bw").rows, "bw_32t")  # there is none: refused later
        self.assertEqual(parse("threads", "--threads", "2,32", "--figures").rows, "lat_2t,lat_32t,rate_2t,rate_32t")
        self.assertEqual(parse().ranks, [2, 4, 8])

    def test_rows(self):
        for words, text in ((["--rows", "foo"], "no row `foo`; there are: lat, bw, barrier, allreduce, startup"),
                            (["--rows", "lat,allreduces"], "did you mean `allreduce`?"), (["--rows", "bw", "--ranks", "4,8"], "row bw needs 2 ranks, not 4,8")):
            self.refused(text, arguments.check_rows, parse(*words), ROWS)
        for words in ([], ["--rows", "lat"], ["--rows", "startup,barrier", "--ranks", "5"]):
            arguments.check_rows(parse(*words), ROWS)
        self.refused("no row `startup`", arguments.check_rows, parse("datatypes", "--rows", "startup"), ROWS)

    def test_rounds(self):
        self.assertEqual([parse(*words).rounds for words in ([], ["idle"], ["idle", "--quick"], ["--quick"], ["threads"], ["posting"])], [11, 3, 2, 3, 3, 3])
        self.assertEqual([(args.rounds, args.ranks, args.batch_ms) for args in (parse("beside"), parse("beside", "--quick"))],
                         [(3, [2, 4, 8], 100), (2, [2, 8], 30)])
        self.assertEqual((parse("posting").ranks, parse("posting").threads[:3], parse("posting", "--hosts", "a,b").hosts), ([8], [1, 2, 4], "a,b"))
        self.assertEqual([parse("network", *words).nodes for words in ([], ["--nodes", "4"], ["--hosts", "a,b,c"])], [2, 4, 3])

    def test_libraries(self):
        known = ["weft-process", "weft-thread", "mpich"]
        self.refused("did you mean `weft-thread`?", arguments.check_libraries, parse("--only", "weft-threads"), known)
        self.refused("no library `x`; there are: none", arguments.check_libraries, parse("--only", "x"), [])
        self.refused("need weft-thread", arguments.check_libraries, parse("collectives", "--regret", "--only", "mpich"), known)
        arguments.check_libraries(parse("--only", "mpich"), known)


if __name__ == "__main__":
    unittest.main()
