# SPDX-License-Identifier: Apache-2.0
"""Tables and figures of `weft bench posting`, from its file of samples: table 1 and figure 11 of Si, Pena, Balaji,
Takagi, Ishikawa (MT-MPI, ICS 2014) in shape."""
import dataclasses

PAPER = "Si, Pena, Balaji, Takagi, Ishikawa (ICS 2014)"
BASE = {"idle": ("idle", 1), "threads": ("idle", 1), "sends": ("sends", 1)}  # of one thread, with nobody idle
TITLES = {"idle": "one thread, the others idle", "threads": "each with a window of its own",
          "sends": "one thread, MPI_Startall, the others idle"}


@dataclasses.dataclass
class Line:
    """A line of table 1, medians: us, and counts of all puts together."""
    series: str
    way: str
    threads: int
    total: float
    posting: float
    counts: dict

    def share(self):
        return 100 * self.posting / self.total


def cells(state, ranks, puts):
    """{(series, way, threads): Line} where both times are known."""
    found = {}
    for (row, n, size), by_series in state.cells.items():
        way, team, what = row.split()
        if (n, size, what) != (ranks, puts, "total"):
            continue
        for series in by_series:
            posting = state.median(series, f"{way} {team} posting", ranks, puts)
            if posting is not None:
                counts = state.counts.get((row, n, size), {}).get(series, {})
                threads = int(team.removesuffix("t"))
                found[series, way, threads] = Line(series, way, threads, state.median(series, row, ranks, puts), posting, counts)
    return found


def is_peer(series):
    return not series.startswith("weft")


def best_peer(found, way, threads):
    """Of the same way and as many threads; None: no peer ran it."""
    return min((line.total for (series, w, n), line in found.items() if is_peer(series) and (w, n) == (way, threads)),
               default=None)


def counted(line):
    offered = line.counts.get("chunks_offered", 0)
    said = f"{line.counts['rma_messages']:.0f} messages" if "rma_messages" in line.counts else ""
    said += f", {line.counts['late']:.0f} lines late" if line.counts.get("late") else ""
    return (said + (f", {line.counts.get('chunks_given', 0):.0f} of {offered:.0f} chunks given" if offered else "")).removeprefix(", ")


def print_table(state, ranks, puts):
    found = cells(state, ranks, puts)
    print(f"\ntable 1: {puts} puts (or sends) of 64 B from 1 of {ranks} ranks to {ranks - ranks // 2}{f', {state.name} cores' * (state.name != 'all')}: "
          "us until all are there and in the calls (posting), medians;\nthen this one's time with one thread / the time; "
          "best peer of as many threads / weft (above 1: weft is faster); counted")
    print(f"{'':22}{'way':9}{'threads':>8}{'total':>10}{'posting':>10}{'share':>8}{'speedup':>9}{'posting':>9}{'peer/weft':>11}")
    for (series, way, threads), line in sorted(found.items(), key=lambda item: (is_peer(item[0][0]), *item[0])):
        base, peer = found.get((series, *BASE[way])), best_peer(found, way, threads)
        ratios = f"{base.total / line.total:>9.2f}{base.posting / line.posting:>9.2f}" if base else f"{'-':>9}{'-':>9}"
        against = f"{peer / line.total:>11.2f}" if peer is not None and not is_peer(series) else f"{'-':>11}"
        print(f"{series:22}{way:9}{threads:>8}{line.total:>10.4g}{line.posting:>10.4g}{line.share():>7.0f}%{ratios}{against}  {counted(line)}")


def curves_of(state, way, what, ranks):
    """[{label, points}] over the number of puts."""
    found = {}
    for row, n, _ in state.cells:
        its_way, team, its_what = row.split()
        one = (its_way, team) == (BASE[way][0], "1t")
        if n != ranks or its_what != what or its_way != way and not one:
            continue
        for series in {name for key, by_series in state.cells.items() if key[:2] == (row, n) for name in by_series}:
            found[f"{series}, {team.removesuffix('t')}"] = state.curve(series, row, n)
    return [{"kind": "measured", "label": label, "points": points} for label, points in sorted(found.items())]


def figures(found):
    """Figure 11, for plot_figures.py."""
    state = found.fullest()
    made = []
    for ranks in sorted({n for _, n, _ in state.cells}):
        for way in dict.fromkeys(row.split()[0] for row, n, _ in state.cells if n == ranks):
            for number, what in (("11a", "total"), ("11b", "posting")):
                curves = curves_of(state, way, what, ranks)
                made.append({"number": number, "title": f"{what}, {ranks} ranks, threads: {TITLES[way]}", "x": "puts", "y": "µs",
                             "curves": curves, "notes": []})
    return [figure for figure in made if figure["curves"]]


def print_report(found):
    for name, lines in found.more.get("settings", {}).items():
        for line in lines:
            print(f"  {name:14}{line}")
    for state in found.states:
        for ranks in sorted({n for _, n, _ in state.cells}):
            print_table(state, ranks, max(size for _, n, size in state.cells if n == ranks))
    for name, reasons in found.failures.items():
        print(f"note: failed: {name}: {'; '.join(reasons)}")
