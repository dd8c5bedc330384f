# SPDX-License-Identifier: Apache-2.0
"""What idle threads bring: `weft bench idle`, figures 7 to 10 of Si, Pena, Balaji, Takagi, Ishikawa (MT-MPI, ICS 2014).

7: a plane of a 3D array is packed in an OpenMP single region while the other threads are at its barrier: weft alone,
weft with the idle threads, the paper's way (a nested region of as many threads, without MPI), what this memory allows
(a loop of all threads), the other libraries; and with ranks as threads: one packs, the others wait in MPI. A plane of
64 MiB is in memory, one of 4 MiB in a cache. 8: halo exchange. 9: multigrid. 10: messages.
"""
import dataclasses
import math

import figures
import idle_jobs
import jobs as job_lists
from idle_jobs import ALONE

PAPER = "Si, Pena, Balaji, Takagi, Ishikawa (ICS 2014)"
PROCESS, THREAD = "weft-process", "weft-thread"
PLANES = {"xz": ("7a", "X-Z plane: vector; extent: Z"), "yz": ("7b", "Y-Z plane: vector of vectors; extent: Y")}
PACKED = {"weft alone": (PROCESS + ALONE, "single"), "weft, idle threads, single": (PROCESS, "single"),
          "weft, idle threads, critical": (PROCESS, "critical"), "weft, idle threads, outside": (PROCESS, "outside"),
          "nested region": (PROCESS, "nested"), "loop of all threads": (PROCESS, "region")}
PACKED_AMONG = {"weft alone, as a thread": (THREAD + ALONE, "barrier"), "weft, idle ranks": (THREAD, "barrier")}
FACES = {"all": "six faces", "yz": "Y-Z faces only"}
COUNTS = ("messages_sent", "copies", "copies_helped", "chunks_offered", "chunks_given")
MESSAGES = {"lat": "latency", "bw": "windows of 16, per message", "rate": "windows of 64, per message"}


def at_one(state, series, row, ranks, name):
    """The one point of a row, with a name for x; [] if it was not measured."""
    return [[name, *point[1:]] for point in state.curve(series, row, ranks)[:1]]


def series_of(state):
    there = {name for cell in state.cells.values() for name in cell}
    return [name for name in (PROCESS + ALONE, PROCESS, THREAD + ALONE, THREAD) if name in there] + \
        sorted(name for name in there if is_peer(name))


def is_peer(series):
    return not series.startswith("weft") and series not in PACKED


def fullest(found, names):
    """The state in which most of these rows was measured, and what to call it in a title."""
    cells = [{key: cell for key, cell in state.cells.items() if key[0] in names} for state in found.states]
    sizes = [sum(map(len, own.values())) for own in cells]
    state = found.states[sizes.index(max(sizes))]
    alike = all(own == cells[0] for own in cells)  # then nobody looked how far apart cores were
    return state, "" if alike else f", {state.name} cores"


def packing_figures(found):
    out, ranks = [], idle_jobs.crowded_ranks()
    for plane, (number, title) in PLANES.items():
        for size in idle_jobs.PLANES:
            places = [where for _, where in (PACKED | PACKED_AMONG).values()]
            state, where_cores = fullest(found, [f"{plane} {where} {size}" for where in places])
            figure = figures.Figure(number, f"{title}, {size}{where_cores}", x="extent")
            for label, (series, where) in PACKED.items():
                figure.add("measured", label, state.curve(series, f"{plane} {where} {size}", 1))
            for peer in filter(is_peer, series_of(state)):
                figure.add("measured", peer, state.curve(peer, f"{plane} single {size}", 1))
            for label, (series, where) in PACKED_AMONG.items():
                figure.add("measured", label, state.curve(series, f"{plane} {where} {size}", ranks))
            out.append(figure)
    state, where_cores = fullest(found, [f"fold barrier {size}" for size in idle_jobs.PLANES])
    figure = figures.Figure("beside 7", f"MPI_Reduce_local, {ranks - 1} of {ranks} ranks wait{where_cores}", x="size")
    for label, (series, where) in PACKED_AMONG.items():
        figure.add("measured", label, [point for size in idle_jobs.PLANES for point in
                                       at_one(state, series, f"fold {where} {size}", ranks, size)])
    return [*out, figure]


def threads(n):
    return f"{n} thread" + "s" * (n > 1)


def of_two_ranks(number, title, x, rows, found):
    """rows: {x: row}, one point each; or the name of a row whose bytes are x. While the cores were where most of it was
    measured."""
    state, where_cores = fullest(found, [rows] if isinstance(rows, str) else list(rows.values()))
    figure = figures.Figure(number, title + where_cores, x=x)
    for series in series_of(state):
        points = state.curve(series, rows, 2) if isinstance(rows, str) else \
            [point for name, row in rows.items() for point in at_one(state, series, row, 2, name)]
        figure.add("measured", series, points)
    return figure


def two_rank_figures(found):
    out, teams = [], idle_jobs.team_sizes()
    for faces, title in FACES.items():
        for n in teams:
            rows = {shape: f"{shape} {faces} {n}t" for shape in idle_jobs.SHAPES}
            out.append(of_two_ranks("8", f"halo exchange, {title}, 2 ranks x {threads(n)}", "shape", rows, found))
    rows = {f"{what}, 2 x {n}": f"{row} {n}t" for n in teams
            for row, what in (("multigrid", "all"), ("exchanges", "exchanges"))}
    out.append(of_two_ranks("9", "multigrid, 2 ranks x threads of each", "part", rows, found))
    for row, title in MESSAGES.items():
        out += [of_two_ranks("10", f"{title}, 2 ranks x {threads(n)}", "bytes", f"{row} {n}t", found) for n in teams]
    return out


def shares(state):
    """[{row, ranks, extent, series, chunks, given: the share of others than the caller, busiest / mean}]: a pack."""
    found = []
    for (row, ranks, extent), by_series in state.counts.items():
        for series, counts in by_series.items():
            offered = counts.get("chunks_offered", 0)
            if offered == 0 or row.split()[0] not in (*PLANES, "fold"):
                continue
            given, team = counts["chunks_given"] / offered, max(2, counts["threads"])
            busiest = max(1 - given, given / (team - 1)) * team
            found.append({"row": row, "ranks": ranks, "extent": extent, "series": series, "chunks": offered,
                          "given": given, "imbalance": busiest})
    return found


def counted_figures(state):
    """Imbalance of the threads that pack, and copies of a message."""
    ways, places = figures.Figure("7", "chunks of the busiest thread / mean", x="way", y="busiest / mean"), {}
    for share in shares(state):
        plane, where, size = share["row"].split(" ", 2)
        places.setdefault(f"{plane} {size}", {}).setdefault(where, []).append(share["imbalance"])
    for label, by_where in places.items():
        ways.add("counted", label, [[where, min(values), sorted(values)[len(values) // 2], max(values)]
                                    for where, values in by_where.items()])
    copies = figures.Figure("10", "copies of each byte of a message, latency, 2 ranks", y="copies")
    for series in (PROCESS, THREAD):
        copies.add("counted", series, sorted(
            [size, by_series[series]["bytes_copied"] / size] for (row, _, size), by_series in state.counts.items()
            if row == f"lat {idle_jobs.team_sizes()[0]}t" and "bytes_copied" in by_series.get(series, {})))
    return [ways, copies]


def all_figures(found):
    state = found.fullest()
    made = packing_figures(found) + two_rank_figures(found) + counted_figures(state)
    return [figure for figure in made if figure.curves]


def measure_curves(args, libs, work):
    """Results whose `more` has the figures."""
    jobs, notes = idle_jobs.plan(args, libs, work)
    found = job_lists.take(jobs, args)
    notes += [f"failed: {name}: {reason}" for name, reasons in found.failures.items() for reason in reasons]
    found.more = {"paper": PAPER, "rounds": args.rounds, "notes": notes,
                  "figures": [dataclasses.asdict(figure) for figure in all_figures(found)]}
    return found


def middle(point):
    return point[2] if len(point) > 2 else point[1]


def ratios(curves, own):
    """{x: best peer / this curve of weft}"""
    peers = [points for label, points in curves.items() if is_peer(label) and label not in PACKED_AMONG]
    best = {x: min(points[x] for points in peers if x in points) for x in {x for points in peers for x in points}}
    return {x: best[x] / us for x, us in curves[own].items() if x in best}


def print_measured(figure):
    """us of each curve, in brackets how much longer weft takes alone; and the best peer / weft."""
    curves = {curve["label"]: {point[0]: middle(point) for point in curve["points"]} for curve in figure["curves"]}
    base = next((curves[label] for label in (*PACKED, *PACKED_AMONG) if label in curves), {})
    xs = list(dict.fromkeys(x for points in curves.values() for x in points))
    print(f"\nfigure {figure['number']}: {figure['title']}, us, measured" +
          ("; in brackets weft alone / this" if base else "") + "; below: best peer / weft")

    def line(label, cells):
        print(f"{label:30}" + "".join(f"{cell:>18}" for cell in cells))

    line(figure["x"], xs)
    for label, points in curves.items():
        line(label, [("-" if x not in points else f"{points[x]:.4g} ({base[x] / points[x]:4.2f})" if x in base
                      else f"{points[x]:.4g}") for x in xs])
    for label in curves:
        found = ratios(curves, label) if label.startswith("weft") else {}
        if found:
            mean = math.exp(sum(map(math.log, found.values())) / len(found))
            line(f"peer/{label[:25]}", [f"{found[x]:.2f}" if x in found else "-" for x in xs] + [f"mean {mean:.2f}"])


def print_counted(state):
    print("\nof a pack, counted by weft: chunks offered, the share that others than the caller did, the busiest\n"
          "thread's chunks / mean (more than 2 threads: at least)")
    print(f"{'row':24}{'extent':>10} {'series':16}{'chunks':>10}{'given':>10}{'busiest':>10}")
    for f in shares(state):
        share = f"{f['given']:>10.2f}{f['imbalance']:>10.2f}"
        print(f"{f['row']:24}{f['extent']:>10} {f['series']:16}{f['chunks']:>10.4g}{share}")
    print("\nof a message (lat), or of an exchange by all ranks, counted by weft")
    print(f"{'row':20}{'bytes':>10} {'series':20}{'copies/byte':>14}" + "".join(f"{name:>16}" for name in COUNTS))
    for (row, ranks, size), by_series in state.counts.items():
        for series, counts in by_series.items():
            if "bytes_copied" in counts and row.split()[0] not in ("bw", "rate"):
                moved = size * (ranks if "messages_sent" in counts else 1)
                print(f"{row:20}{size:>10} {series:20}{counts['bytes_copied'] / moved:>14.3g}" +
                      "".join(f"{counts.get(name, 1):>16.4g}" for name in COUNTS))


def print_report(found):
    for state in found.states:
        print(f"\n{state.title()}")
    for figure in found.more["figures"]:
        if figure["curves"][0]["kind"] == "measured":
            print_measured(figure)
    print_counted(found.fullest())
    for note in found.more["notes"]:
        print(f"note: {note}")
