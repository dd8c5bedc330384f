# SPDX-License-Identifier: Apache-2.0
"""Runs the weft command: weft_test.py <weft> <source folder>"""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

WEFT = sys.argv.pop(1)
SOURCE = Path(sys.argv.pop(1))


def weft(*words, **variables):
    env = {key: value for key, value in os.environ.items() if not key.startswith("WEFT_")}
    return subprocess.run([WEFT, *words], capture_output=True, text=True, errors="replace", timeout=60,
                          env={**env, **variables})


class Weft(unittest.TestCase):
    def test_help_has_examples(self):
        for words in ([], ["--help"]):
            done = weft(*words)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("Examples:", done.stdout)
            self.assertIn("--ranks=thread", done.stdout)

    def test_version(self):
        self.assertRegex(weft("--version").stdout, r"^weft \d+\.\d+\.\d+\n$")

    def test_info_names_build_machine_and_parameters(self):
        done = weft("info")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "")
        for word in ("MPI 5.0", "machine", "WEFT_SYNC_SPIN_US", "WEFT_PT2PT_EAGER_MAX"):
            self.assertIn(word, done.stdout)
        self.assertNotIn("\n* ", done.stdout)

    def test_info_marks_what_the_environment_changed(self):
        done = weft("info", WEFT_PT2PT_EAGER_MAX="1k")
        changed = [line for line in done.stdout.splitlines() if line.startswith("* ")]
        self.assertEqual(len(changed), 1, done.stdout)
        self.assertRegex(changed[0], r"WEFT_PT2PT_EAGER_MAX +1024 bytes .*\(default -?\d+\)")

    def test_info_json(self):
        info = json.loads(weft("info", "--json", WEFT_STATS="1").stdout)
        rows = {row["name"]: row for row in info["parameters"]}
        self.assertEqual(rows["stats"]["value"], "1")
        self.assertEqual(rows["stats"]["default"], "0")
        self.assertEqual(info["machine"]["cpus"], len(os.sched_getaffinity(0)))
        self.assertFalse(info["machine"]["declared"])

    def test_info_names_networks(self):
        text = weft("info", "--net", WEFT_NET_PROVIDER="tcp;ofi_rxm", WEFT_NET_INTERFACE="lo")
        self.assertEqual(text.returncode, 0, text.stdout)
        self.assertIn("taken: tcp;ofi_rxm on lo", text.stdout)
        networks = json.loads(weft("info", "--net", "--json", WEFT_NET_INTERFACE="lo").stdout)
        verdicts = [offer["verdict"] for offer in networks["offers"]]
        self.assertEqual(verdicts.count("taken"), 1, verdicts)
        self.assertEqual(networks["taken"]["interface"], "lo")
        none = weft("info", "--net", WEFT_NET_PROVIDER="pigeon")
        self.assertEqual(none.returncode, 1)
        self.assertIn("asked for WEFT_NET_PROVIDER=pigeon", none.stdout)

    def test_info_of_a_declared_machine(self):
        machine = "pack:2 [numa] l3:2 core:4 pu:2"
        info = json.loads(weft("info", "--json", HWLOC_SYNTHETIC=machine).stdout)["machine"]
        self.assertEqual(info["levels"], {"Machine": 1, "Package": 2, "NUMANode": 2, "L3Cache": 4, "Core": 16,
                                          "PU": 32})
        self.assertTrue(info["declared"])
        text = weft("info", HWLOC_SYNTHETIC=machine).stdout
        self.assertIn("Package 1, NUMANode 1, L3Cache 3, CPUs 24-31\n", text)

    def test_unknown_variable_gets_the_nearest_name(self):
        self.assertIn("did you mean WEFT_STATS", weft("info", WEFT_STAT="1").stderr)

    def test_params_page_is_up_to_date(self):
        page = (SOURCE / "docs/params.md").read_text()
        self.assertEqual(weft("info", "--markdown", WEFT_STATS="1").stdout, page,
                         "docs/params.md is old: weft info --markdown > docs/params.md")

    def test_unknown_words_get_the_nearest(self):
        for words, near in ((["infos"], "`info`"), (["info", "--jsn"], "`--json`")):
            done = weft(*words)
            self.assertEqual(done.returncode, 2)
            self.assertIn("did you mean " + near, done.stderr)

    def own_cache(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return {"XDG_CACHE_HOME": folder.name}

    def tuned(self):
        """As if `weft tune` had measured on a quiet machine; the variables, and the file."""
        where = self.own_cache()
        shown = weft("tune", "--show", **where).stdout
        file = Path(re.search(r"measures this machine, for (.*\.json)", shown)[1])
        file.parent.mkdir()
        levels = [{"name": name, "a": 50 * at, "b": at, "B": at, "w": at}
                  for at, name in enumerate(("L3Cache", "NUMANode", "Machine"), 1)]
        machine = re.search(r"(?m)^machine: +(.*)$", shown)[1]
        file.write_text(json.dumps({"weft_tuning": 4, "machine": machine, "measured": "by a test",
                                    "levels": levels, "copy": 0.5, "reduce": 0.7,
                                    "memory": {"b": 5, "B": 4, "past": 3}, "turn": 500}))
        return where, file

    def test_tune_measures_and_keeps_only_what_can_be_right(self):
        where = self.own_cache()
        done = weft("tune", **where)
        self.assertEqual(done.returncode, 0, done.stderr)
        files = list(Path(where["XDG_CACHE_HOME"]).glob("weft/tune-*.json"))
        if "not kept: " in done.stdout:  # other work runs here
            self.assertEqual(files, [])
            self.assertIn("the built-in prices serve", done.stdout)
            return
        self.assertIn(f"kept in {files[0]}", done.stdout)
        written = json.loads(files[0].read_text())
        self.assertGreater(written["copy"], 0)
        self.assertGreater(written["memory"]["b"], 0)
        self.assertGreater(written["turn"], 0)
        for level in written["levels"]:
            self.assertGreater(level["a"], 0)
            self.assertGreater(level["b"], 0)
            self.assertGreaterEqual(level["w"], 0)
        self.assertRegex(weft("tune", "--show", **where).stdout, "^measured ")

    def test_tune_show_and_reset(self):
        where, file = self.tuned()
        self.assertRegex(weft("tune", "--show", **where).stdout, "^measured ")
        self.assertIn("removed", weft("tune", "--reset", **where).stdout)
        self.assertFalse(file.exists())
        self.assertRegex(weft("tune", "--show", **where).stdout, "^built in")
        self.assertIn("there is no", weft("tune", "--reset", **where).stdout)

    def test_tune_refuses_a_declared_machine(self):
        done = weft("tune", HWLOC_SYNTHETIC="pack:2 core:2 pu:1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("declared machine", done.stderr)

    def test_a_damaged_file_is_one_line(self):
        where, file = self.tuned()
        file.write_text(file.read_text()[:40])
        for words in (["tune", "--show"], ["explain", "bcast", "-n", "2"]):
            done = weft(*words, **where)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stderr, r"^weft \w+: .* damaged.*`weft tune` measures again\n$")
            self.assertIn("built in", done.stdout)

    def test_a_damaged_file_does_not_keep_programs_from_running(self):
        where, file = self.tuned()
        for text, why in (("{", "damaged"), (file.read_text().replace('"a": 50', '"a": 50000'), "more than 10 us")):
            file.write_text(text)
            run = subprocess.run([Path(WEFT).parent / "mpiexec", "-n", "2", "true"], capture_output=True,
                                 text=True, timeout=60, env={**os.environ, **where})
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertRegex(run.stderr, rf"^weft: the measured costs in .*{why}.*`weft tune` measures again\n$")

    def test_a_topology_that_does_not_parse(self):
        """One clear line; a job runs on, unbound, with right results."""
        with tempfile.TemporaryDirectory() as folder:
            half = Path(folder) / "half.xml"
            half.write_text('<?xml version="1.0"?>\n<topology version="2.0">\n  <object type="Machine"')
            program = f"{folder}/collectives"
            subprocess.run([Path(WEFT).parent / "mpicc", SOURCE / "bench/collectives/main.c", "-o", program],
                           check=True, timeout=60)
            for declared in ({"HWLOC_SYNTHETIC": "pak:3"}, {"HWLOC_XMLFILE": str(half)},
                             {"HWLOC_XMLFILE": "/dev/null"}, {"HWLOC_XMLFILE": f"{folder}/none.xml"}):
                for words, code in ((["explain", "bcast", "-n", "2"], 2), (["tune"], 1)):
                    done = weft(*words, **declared)
                    self.assertEqual(done.returncode, code, done.stderr)
                    self.assertRegex(done.stderr, r"\Aweft \w+: hwloc does not understand the machine that .*\n\Z")
                for mode in ("process", "thread"):
                    run = subprocess.run([Path(WEFT).parent / "mpiexec", f"--ranks={mode}", "-n", "3", program, "-b",
                                          "1", "-t", "0.1", "-m", "16384"], capture_output=True, text=True,
                                         timeout=60, env={**os.environ, **declared})
                    self.assertEqual(run.returncode, 0, run.stderr)
                    self.assertRegex(run.stderr, r"\Aweft: ranks are not bound to CPUs: hwloc does not .*\n\Z")
                    rows = [json.loads(line) for line in run.stdout.splitlines()]
                    self.assertGreater(len(rows), 10)
                    self.assertEqual([row for row in rows if row["errors"]], [])

    def test_explain(self):
        done = weft("explain", "allreduce", "--bytes", "16k", "-n", "32", "--topology", "pack:4 core:8 pu:1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("8 ranks in a Package, 4 Packages in a Machine", done.stdout)
        self.assertRegex(done.stdout, r"(?m)^> tiled_hierarchical +[\d.]+ us$")
        self.assertIn("caches:  none known", done.stdout)
        self.assertRegex(done.stdout, r"(?m)^  tree_3 +[\d.]+ us$")
        self.assertIn("taken:             slots; from 49 bytes tree_one_stage; from 2049 bytes slots; "
                      "from 4097 bytes tree_one_stage; from 8193 bytes tiled_hierarchical", done.stdout)

    def test_explain_across_nodes(self):
        done = weft("explain", "allreduce", "--bytes", "8", "-n", "64", "--nodes", "8", WEFT_NET_LATENCY="50000")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("nodes:   8; a message takes 50.0 us", done.stdout)
        self.assertRegex(done.stdout, r"(?m)^> nodes +[\d.]+ us\n(.*\n)*? +between nodes +[\d.]+ us   recursive_doubling$")

    def test_explain_adds_up(self):
        for words in (["allreduce"], ["allgather", "--nodes", "3"], ["MPI_Bcast", "--ranks", "thread"], ["barrier"]):
            done = weft("explain", *words, "-n", "12", "--topology", "pack:2 core:6 pu:1", "--json")
            answer = json.loads(done.stdout)
            self.assertEqual(answer["machine"]["prices"], "built in")
            self.assertEqual([c["name"] for c in answer["candidates"] if c["chosen"]], [answer["chosen"]])
            for row in answer["candidates"]:
                self.assertAlmostEqual(sum(part["us"] for part in row["parts"]), row["us"])
            self.assertEqual(min(answer["candidates"], key=lambda c: c["us"])["name"], answer["fastest"])

    def test_explain_knows_caches_and_crowds(self):
        words = ["explain", "allreduce", "-n", "8", "--bytes", "4M", "--json", "--topology"]
        def us(topology, *more):
            answer = json.loads(weft(*words, topology, *more).stdout)
            return {c["name"]: c["us"] for c in answer["candidates"]}
        large = us("pack:1 l3:1(size=1GB) core:8 pu:1")
        small = us("pack:1 l3:1(size=1MB) core:8 pu:1")
        self.assertGreater(small["strips"], 2 * large["strips"])
        self.assertEqual(us("pack:1 l3:1(size=1GB) core:8 pu:1", "--cpus", "8"), large)
        self.assertGreater(us("pack:1 l3:1(size=1GB) core:8 pu:1", "--cpus", "2")["strips"], 3 * large["strips"])

    def test_explain_follows_the_parameters(self):
        words = ["explain", "allreduce", "-n", "12", "--bytes", "32", "--topology", "pack:2 core:6 pu:1", "--json"]
        self.assertEqual(json.loads(weft(*words).stdout)["chosen"], "slots")
        self.assertEqual(json.loads(weft(*words, WEFT_COLL_SHARED_MAX="0").stdout)["chosen"], "recursive_doubling")

    def test_explain_says_what_is_wrong(self):
        for words, text in ((["alreduce"], "did you mean `allreduce`"),
                            (["xyzzy"], "known: allgather, allreduce"),
                            (["bcast", "--bytes", "16q"], "--bytes 16q is no size"),
                            (["bcast", "--bytes", "-1"], "--bytes -1 is no size"),
                            (["bcast", "-n", "1"], "range"),
                            (["bcast", "-n", "5000"], "one node has 4096 ranks at most"),
                            (["bcast", "-n", "4", "--nodes", "8"], "every node has a rank at least"),
                            (["bcast", "-n", "8", "--nodes", "2", "--measure"], "several nodes cannot be measured"),
                            (["bcast", "--topology", "pak:3"], "does not understand"),
                            (["bcast", "--topology", "pack:1 core:1 pu:1"], "at least 2 ranks"),
                            (["bcast", "--topology", "pack:2 core:2 pu:1", "--measure"], "declared machine")):
            done = weft("explain", *words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn(text, done.stderr)
            self.assertEqual(done.stdout, "")

    def test_tune_net_gives_jobs_what_it_has_measured(self):
        mpiexec = Path(WEFT).with_name("mpiexec")
        names = ["WEFT_NET_LATENCY", "WEFT_NET_GAP", "WEFT_NET_BANDWIDTH", "WEFT_NET_PAIRS"]

        def run(*words, **variables):
            env = {key: value for key, value in os.environ.items() if not key.startswith("WEFT_")}
            return subprocess.run([mpiexec, *words], capture_output=True, text=True, timeout=60, env={**env, **variables})

        def told(*words, **variables):
            script = ["sh", "-c", "echo " + " ".join(f"{name}=${name}" for name in names)]
            done = run("--pretend-nodes", "2", "-n", "2", *words, *script, **variables)
            self.assertEqual(done.returncode, 0, done.stderr)
            lines = set(done.stdout.splitlines())
            self.assertEqual(len(lines), 1, lines)  # the same on both nodes
            return dict(pair.split("=") for pair in lines.pop().split()), done.stderr

        with tempfile.TemporaryDirectory() as cache:
            home = {"XDG_CACHE_HOME": cache}
            self.assertEqual(set(told(**home)[0].values()), {""})
            done = run("--pretend-nodes", "2", "-n", "3", WEFT, "tune", "--net", **home)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stdout, r"between .* for jobs on nodes of one machine:\n  latency \d+ ns, gap \d+ ns a message, bandwidth \d+ MB/s, pairs at once 1 ")
            self.assertIn("one rank on a host does not show", done.stdout)
            path = Path(cache) / "weft/networks.json"
            kept = json.loads(path.read_text())["networks"]["nodes of one machine"]
            self.assertGreater(kept["bandwidth"], 1)
            self.assertGreater(kept["latency"] + kept["gap"], 0)
            values, _ = told(**home)
            self.assertEqual([int(values[name]) for name in names], [kept["latency"], kept["gap"], kept["bandwidth"], kept["pairs"]])
            self.assertEqual(told("-envnone", **home)[0], values)  # all ranks of a job have to have the same
            self.assertEqual(told(**home, WEFT_NET_GAP="77")[0]["WEFT_NET_GAP"], "77")
            self.assertEqual(set(told(**home, WEFT_NET_PROVIDER="tcp;ofi_rxm")[0].values()), {""})  # another network
            shown = weft("tune", "--net", "--show", **home).stdout
            self.assertIn(f"latency {kept['latency']} ns", shown)
            self.assertIn("hosts: not measured", shown)
            prices = json.loads(weft("info", "--net", "--json", **home).stdout)["prices"]
            self.assertAlmostEqual(prices[1]["latency_ns"], kept["latency"])
            self.assertEqual((prices[0]["latency_ns"], prices[0]["pairs"]), (12000, 1))
            several = run("--pretend-nodes", "2", "-n", "4", WEFT, "tune", "--net", **home)
            self.assertRegex(several.stdout, r" pairs at once [12] \(")
            self.assertNotIn("one rank", several.stdout)
            text = path.read_text()
            path.write_text(re.sub(r'"pairs": \d+', '"pairs": 0', text))
            self.assertIn("it is damaged", told(**home)[1])
            path.write_text(re.sub(r',\s*"pairs": \d+', "", text))  # as it was kept before there were pairs
            self.assertEqual((told(**home)[0]["WEFT_NET_PAIRS"], told(**home)[1]), ("1", ""))
            path.write_text(text)
            path.write_text(path.read_text().replace('"bandwidth"', '"width"'))
            values, complaint = told(**home)
            self.assertEqual(set(values.values()), {""})
            self.assertIn("it is damaged: `nodes of one machine` lacks", complaint)
            path.write_text("no JSON")
            self.assertIn("it is damaged: no JSON object", told(**home)[1])
            self.assertIn("removed", weft("tune", "--net", "--reset", **home).stdout)
            self.assertFalse(path.exists())

    def test_tune_net_needs_two_nodes(self):
        done = weft("tune", "--net")
        self.assertEqual(done.returncode, 2)
        self.assertIn("this job is on one; start it as a job: `mpiexec -H a:8,b:8 weft tune --net`", done.stderr)

    def test_simulate_counts_and_marks_what_weft_takes(self):
        words = ["simulate", "allreduce", "--nodes", "8", "--ppn", "4", "--bytes", "8,1MiB", "--machine", "pack:2 core:2 pu:1"]
        done = weft(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("simulated: 32 ranks on 8 nodes, 4 each", done.stdout)
        self.assertIn("allreduce of 1 MiB, simulated; > is what weft takes", done.stdout)
        answer = json.loads(weft(*words, "--json").stdout)
        self.assertEqual(answer["label"], "simulated")
        for size in (8, 1 << 20):
            rows = {row["way"]: row for row in answer["rows"] if row["bytes"] == size}
            taken = json.loads(weft("explain", "allreduce", "-n", "32", "--nodes", "8", "--bytes", str(size), "--json").stdout)["chosen"]
            self.assertEqual([way for way, row in rows.items() if row["chosen"]], [taken])
            self.assertLessEqual(rows["nodes"]["median_us"], rows["nodes"]["us"])
        self.assertLessEqual(rows["nodes"]["node_bytes"], 2 * size * 7 // 8)
        self.assertEqual(rows["recursive_doubling"]["node_bytes"], 4 * 3 * size)
        self.assertGreater(rows["nodes"]["memory_per_rank"], 0)
        self.assertGreater(answer["wire_up"]["memory_per_rank"], 0)

    def test_simulate_knows_networks_and_fabrics(self):
        def us(*more):
            words = ["simulate", "alltoall", "--nodes", "32", "--ppn", "1", "--bytes", "64KiB", "--way", "pairwise", "--json"]
            done = weft(*words, *more)
            self.assertEqual(done.returncode, 0, done.stderr)
            return json.loads(done.stdout)["rows"][0]["us"]
        usual = us()
        self.assertLess(us("--network", "bandwidth=10GB/s,latency=1us"), usual / 4)
        self.assertGreater(us("--network", "gap=1ms"), usual)
        self.assertGreater(us("--fabric", "fat-tree:radix=8,taper=4"), 1.5 * usual)
        self.assertGreater(us("--fabric", "dragonfly:radix=8"), 0.99 * usual)

    def test_simulate_scales(self):
        done = weft("simulate", "allreduce,barrier", "--nodes", "6250", "--ppn", "16", "--bytes", "8", "--machine", "pack:2 core:8 pu:1",
                    "--ranks", "thread", "--fabric", "fat-tree:radix=36", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        answer = json.loads(done.stdout)
        self.assertEqual(answer["cluster"]["ranks"], 100000)
        self.assertTrue(all(row["simulated"] for row in answer["rows"]))
        far = weft("simulate", "alltoall", "--nodes", "6250", "--ppn", "16", "--bytes", "8", "--way", "pairwise")
        self.assertIn("too many steps to replay", far.stdout)

    def test_simulate_compares_with_runs(self):
        done = weft("simulate", "barrier", "--nodes", "2", "--ppn", "2", "--compare", "--way", "nodes")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"measured / simulated: median [\d.]+, [\d.]+ to [\d.]+, 1 rows")

    def test_simulate_says_what_is_wrong(self):
        for words, text in ((["alreduce"], "there is no collective `alreduce`; known: all, allgather"),
                            (["bcast", "--bytes", "8,16q"], "--bytes 16q is no size"), (["bcast", "--bytes", ""], "needs a value"),
                            (["bcast", "--nodes", "0"], "range 1 to 65536"), (["bcast", "--ppn", "5000"], "range 1 to 4096"),
                            (["bcast", "--nodes", "65536", "--ppn", "64"], "a cluster 262144"),
                            (["bcast", "--nodes", "1", "--ppn", "1"], "at least 2 ranks"),
                            (["bcast", "--network", "latency=fast"], "`latency=fast` is not understood"),
                            (["bcast", "--network", "bandwidth=0"], "`bandwidth=0` is not understood"),
                            (["bcast", "--network", "delay=1us"], "`delay=1us` is not understood"),
                            (["bcast", "--fabric", "torus"], "`torus` is no fabric"), (["bcast", "--fabric", "fat-tree:radix=3"], "radix is 4 to 1024"),
                            (["bcast", "--way", "slots"], "--way slots is no way of that"), (["bcast", "--on-node", "ring"], "--on-node ring is no way"),
                            (["bcast", "--machine", "pak:3"], "does not understand"), (["bcast", "--ranks", "threads"], "threads not in"),
                            (["bcast", "--compare", "--fabric", "dragonfly"], "cannot be measured")):
            with self.subTest(words=words):
                done = weft("simulate", *words)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(text, done.stderr)
                self.assertEqual(done.stdout, "")

    def test_every_option_refuses_bad_values(self):
        for words, text in ((["info", "--json", "--markdown"], "exclude each other"), (["tune", "--show", "--reset"], "exclude each other"),
                            (["tune", "now"], "not expected: now"), (["info", "all"], "not expected: all"), (["explain"], "collective is required"),
                            (["explain", ""], "needs a value"), (["explain", "bcast", "--topology", ""], "needs a value"),
                            (["explain", "bcast", "--plot", ""], "needs a value"), (["explain", "bcast", "--bytes="], "required"),
                            (["explain", "bcast", "--bytes", "9999999999999g"], "is no size"), (["explain", "bcast", "--bytes", "99999999999999999999"], "is no size"),
                            (["explain", "bcast", "--bytes", "8 8"], "is no size"), (["explain", "bcast", "-n", "two"], "range 2 to 1048576"),
                            (["explain", "bcast", "-n", "-2"], "range 2 to 1048576"), (["explain", "bcast", "-n", "99999999999999999999"], "range 2 to 1048576"),
                            (["explain", "bcast", "-n", "2x"], "range 2 to 1048576"), (["explain", "bcast", "--cpus", "0"], "range 1 to 4096"),
                            (["explain", "bcast", "--ranks", "threads"], "threads not in"), (["explain", "bcast", "--mesure"], "did you mean `--measure`"),
                            (["expain", "bcast"], "did you mean `explain`"), (["docs", "a", "b"], "not expected"), (["docs", "hang"], "did you mean `hangs`")):
            with self.subTest(words=words):
                done = weft(*words)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(text, done.stderr)
                self.assertEqual(done.stdout, "")

    def test_nothing_ends_in_an_exception(self):
        for words, variables in ((["explain", "bcast", "-n", "2", "--measure"], {"TMPDIR": "/no/such/folder"}),
                                 (["explain", "bcast", "-n", "2", "--plot", "x.png"], {"TMPDIR": "/no/such/folder"}),
                                 (["info", "--json"], {"WEFT_LOG": b"\xff\xfe"}), (["info"], {"WEFT_TRACE": b"\xff"}),
                                 (["tune", "--show"], {"XDG_CACHE_HOME": "/dev/null"}), (["explain", "bcast"], {"HOME": "", "XDG_CACHE_HOME": ""})):
            done = weft(*words, **variables)
            self.assertIn(done.returncode, (0, 1, 2), done.stderr)
            self.assertNotIn("terminate", done.stderr)
            self.assertNotIn("cannot go on", done.stderr)

    def test_docs(self):
        listed = weft("docs").stdout
        for page in (SOURCE / "docs").glob("*.md"):
            self.assertRegex(listed, rf"(?m)^{page.stem} +{re.escape(page.read_text().splitlines()[0][2:])}$")
            self.assertEqual(weft("docs", page.stem).stdout, page.read_text())
        self.assertEqual(weft("docs", "hangs.md").stdout, (SOURCE / "docs/hangs.md").read_text())

    def test_texts_cite_pages_that_are_there(self):
        """No message names a file of the source tree; every page that one names exists."""
        cited = set()
        for folder in ("src", "launch", "tools/weft", "tools/mpicc"):
            for path in (SOURCE / folder).rglob("*"):
                if path.suffix not in (".cc", ".h", ".c", ".in"):
                    continue
                text = re.sub(r"//.*|^#(?!!).*", "", path.read_text(), flags=re.M)
                self.assertNotRegex(text, r'"[^"]*docs/[\w-]+\.md', path)
                cited |= set(re.findall(r"weft docs ([\w-]+)", text))
        self.assertIn("coverage", cited)
        for page in cited:
            self.assertEqual(weft("docs", page).returncode, 0, page)

    def test_info_says_what_is_missing(self):
        page = (SOURCE / "docs/coverage.md").read_text()
        works, not_yet = re.search(r"all functions in C\*\* \| \*\*(\d+)\*\* \| \*\*(\d+)", page).groups()
        text = weft("info").stdout
        self.assertIn(f"MPI functions in C: {works} work, {not_yet} not yet", text)
        coverage = json.loads(weft("info", "--json").stdout)["coverage"]
        missing = re.findall(r"\| \d+ \| .*: \*\*(.*)\*\* \| \*\*none\*\*", page)
        self.assertEqual(coverage["missing"], missing)
        self.assertEqual(re.findall("missing: (.*)", text), missing)
        self.assertEqual(coverage["functions"], {"works": int(works), "not_yet": int(not_yet)})

    def test_explain_measures(self):
        done = weft("explain", "reduce", "-n", "2", "--measure", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = json.loads(done.stdout)["measured"]
        self.assertIn(8, [row["bytes"] for row in rows])
        for row in rows:
            self.assertGreater(row["measured_us"], 0)
            self.assertGreater(row["predicted_us"], 0)

    def test_explain_is_what_happens(self):
        """WEFT_COLL_EXPLAIN says which way a run went: the one that weft explain calls chosen."""
        bin_folder = Path(WEFT).parent
        with tempfile.TemporaryDirectory() as folder:
            program = f"{folder}/collectives"
            subprocess.run([bin_folder / "mpicc", SOURCE / "bench/collectives/main.c", "-o", program],
                           check=True, timeout=60)
            for mode in ("process", "thread"):
                for ways in ({}, {"HWLOC_SYNTHETIC": "pack:2 core:2 pu:1"}, {"WEFT_COLL_ALLREDUCE": "rabenseifner", "WEFT_COLL_BCAST": "direct",
                                  "WEFT_COLL_SCAN": "pieces", "WEFT_COLL_BARRIER": "dissemination"}):
                    run = subprocess.run(
                        [bin_folder / "mpiexec", f"--ranks={mode}", "-n", "3", program, "-b", "1", "-t", "0.1",
                         "-m", "16384"], capture_output=True, text=True, timeout=60,
                        env={**os.environ, **ways, "WEFT_COLL_EXPLAIN": "1"})
                    said = re.findall(r"WORLD: (\w+) of (\d+) bytes between 3 ranks goes by (\w+)", run.stderr)
                    self.assertEqual({call for call, _, _ in said},
                                     {"barrier", "bcast", "reduce", "allreduce", "reduce_scatter", "scan", "gather",
                                      "scatter", "allgather", "alltoall"}, run.stderr)
                    cpus = str(len(os.sched_getaffinity(0)))
                    for call, size, way in said:
                        told = weft("explain", call, "--bytes", size, "-n", "3", "--ranks", mode, "--json",
                                    "--cpus", cpus, **ways)
                        self.assertEqual(json.loads(told.stdout)["chosen"], way, (mode, call, size))

    def test_explain_refuses_what_is_no_picture(self):
        done = weft("explain", "bcast", "-n", "2", "--plot", "/tmp/costs.xyz")
        self.assertEqual(done.returncode, 2)
        self.assertIn("expected a name that ends in .svg, .png or .pdf", done.stderr)

    def test_explain_says_why_there_is_no_plot(self):
        """Without matplotlib; with it: tests/bench/plots_test.py."""
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "matplotlib.py").write_text("raise ModuleNotFoundError(\"No module named 'matplotlib'\")\n")
            done = weft("explain", "bcast", "-n", "8", "--topology", "pack:2 core:4 pu:1", "--plot", f"{folder}/bcast.png",
                        WEFT_PEERS=folder, PYTHONPATH=folder)
            self.assertEqual(done.returncode, 1)
            self.assertIn("no plot: matplotlib is missing", done.stderr)

    def bench(self, folder, what, *options):
        """One round without peers: what it says, and the file that it leaves."""
        done = weft("bench", what, "--peers", folder, "--out", folder, "--rounds", "1", *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        [path] = Path(folder).glob(f"*-{what}.json")
        return done, path

    def test_bench_runs(self):
        """Each kind, about as short as it can be, without peers: of several batches one is in one state of the machine."""
        for what, row in (("messages", "lat"), ("collectives", "bcast"), ("datatypes", "dup"), ("threads", "lat_1t")):
            with self.subTest(what), tempfile.TemporaryDirectory() as folder:
                done, path = self.bench(folder, what, "--only", "weft-thread", "--ranks", "2", "--threads", "1,2",
                                        "--batches", "5", "--batch-ms", "0.1", "--limit-s", "0.01", "--max-bytes", "64")
                states = json.loads(path.read_text())["states"]
                self.assertTrue(any(one["row"] == row and one["us"][0][0] > 0 for state in states for one in state["series"]), states)
                self.assertGreater(states[0]["line_ns"], 0)
                again = weft("bench", "--from", str(path))
                self.assertEqual(again.returncode, 0, again.stderr)
                self.assertIn(again.stdout[:again.stdout.index("plot")], done.stdout)
                self.assertRegex(again.stdout, rf"(?m)^{row} +2( +-)+$")  # no peer, near or far

    def test_bench_idle_runs(self):
        """One short round without peers: each figure has its curves."""
        with tempfile.TemporaryDirectory() as folder:
            done, path = self.bench(folder, "idle", "--quick", "--only", "weft-process,weft-thread", "--batches", "1")
            figures = json.loads(path.read_text())["more"]["figures"]
            self.assertLessEqual({"7a", "7b", "8", "9", "10"}, {figure["number"] for figure in figures}, done.stdout)
            self.assertTrue(all(figure["curves"] for figure in figures))
            self.assertNotIn("failed", done.stdout)
            again = weft("bench", "--from", str(path))
            self.assertEqual(again.returncode, 0, again.stderr)
            self.assertIn("figure 8: halo exchange", again.stdout)

    def test_bench_channels_runs(self):
        """One short round without peers: channels have series beside messages."""
        with tempfile.TemporaryDirectory() as folder:
            done, path = self.bench(folder, "channels", "--quick", "--only", "weft-process")
            for series in ("weft-process", "process channel", "process in-place"):
                self.assertIn(series, json.loads(path.read_text())["about"]["libraries"], done.stdout)
            self.assertNotIn("failed", done.stdout)

    def test_bench_beside_runs(self):
        """One short round without peers: ranks as processes and as threads have all rows beside all neighbours."""
        with tempfile.TemporaryDirectory() as folder:
            done, path = self.bench(folder, "beside", "--quick", "--only", "weft-process,weft-thread", "--ranks", "2")
            found = [(one["library"], one["row"]) for one in json.loads(path.read_text())["states"][0]["series"]]
            rows = [f"{row} {n}{what}" for n in range(3) for row in ("round_trip", "allreduce", "exchange", "phases")
                    for what in ("", " got", " computed") if (n or what != " got") and (row in ("exchange", "phases") or what != " computed")]
            self.assertEqual(sorted(found), sorted((f"weft-{mode}", row) for mode in ("process", "thread") for row in rows))
            self.assertNotIn("failed", done.stdout)

    def test_bench_passes_its_words_on(self):
        done = weft("bench", "--help")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("weft bench --quick", done.stdout)
        done = weft("bench", "--only", "nothing-like-it")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("no library `nothing-like-it`", done.stderr)

    def test_bench_refuses_bad_values_before_it_runs(self):
        """In one sentence with what was expected, and nothing is measured; more of them in tests/bench."""
        with tempfile.TemporaryDirectory() as folder:
            always = ["--peers", folder, "--out", folder, "--quick"]
            for words, text in ((["--rows", "foo"], "no row `foo`"), (["collectives", "--rows", "bcst"], "did you mean `bcast`?"),
                                (["threads", "--rows", "rte"], "no row `rte_1t`"), (["--rows", "lat", "--ranks", "4"], "row lat needs 2 ranks, not 4"),
                                (["--only", "weft-procss"], "did you mean `weft-process`?"), (["--ranks", "two"], "from 1 to 4096")):
                with self.subTest(words=words):
                    done = weft("bench", *always, *words)
                    self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
                    self.assertIn(text, done.stderr)
                    self.assertNotIn("round 1", done.stderr)
                    self.assertNotIn("Traceback", done.stderr)
            done = weft("bench", "--quick", "--out", "/proc/none")
            self.assertEqual(done.returncode, 1)
            self.assertIn("--out names another folder", done.stderr)
            self.assertNotIn("Traceback", done.stderr)


if __name__ == "__main__":
    unittest.main()
