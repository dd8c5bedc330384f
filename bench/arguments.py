# SPDX-License-Identifier: Apache-2.0
"""The command line of `weft bench`: every bad value is refused before anything is measured."""
import argparse
import difflib
import math
import os
import re
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
EPILOG = """examples:
  weft bench --quick
  weft bench --ranks 2 --rows lat,bw
  weft bench --rounds 21 --only weft-thread,openmpi
  weft bench collectives --rows bcast
  weft bench --from bench/results/*/2026-11-23-messages.json --every-size
  weft bench collectives --figures
  weft bench threads --figures --threads 2,8
  weft bench idle --rows packing,halo
  weft bench progress --rows isend,iallreduce
  weft bench progress --rows network,caches
  weft bench rma --ranks 2
  weft bench network
  weft bench network --rows lat,rate --hosts a,b
  weft bench network --rows allreduce --nodes 4 --ranks 8
  weft bench network --regret --rows alltoall,allreduce
  weft bench partitioned
  weft bench posting --threads 1,4,16,64 --ranks 65
  weft bench beside --ranks 2,8
  weft bench composition
  weft bench fortran
  weft bench channels --figures
  weft bench collectives --regret --rows allreduce,bcast"""
TOO_LARGE = ("bw_32t", "bw_64t")  # not in threads/main.c
STARTUP = "startup"  # a row of `messages` that no program has


def whole(least, most):
    """A whole number in this range."""
    def convert(text):
        if not text.isascii() or not text.isdigit() or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"expected a whole number from {least} to {most}, not {text!r}")
        return int(text)
    return convert


def seconds(least, most):
    """A number in this range."""
    def convert(text):
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"expected a number from {least:g} to {most:g}, not {text!r}")
        return value
    return convert


def counts(least, most):
    """Whole numbers, separated by commas."""
    return lambda text: [whole(least, most)(part) for part in text.split(",")]


def names(text):
    """Words, separated by commas."""
    if not all(text.split(",")):
        raise argparse.ArgumentTypeError(f"expected names like lat,bw, not {text!r}")
    return text


def file_name(text):
    """A part of a file's name."""
    if not re.fullmatch(r"[\w.-]+", text):
        raise argparse.ArgumentTypeError(f"expected letters, digits, `-`, `_` and `.`, not {text!r}")
    return text


def peers_folder():
    """Where the script `peers` installs: in the source tree, or in the user's cache."""
    done = subprocess.run([HERE / "peers", "--where"], capture_output=True, text=True)
    return done.stdout.strip()


def make_parser(description, programs):
    parser = argparse.ArgumentParser(prog="weft bench", description=description, epilog=EPILOG,
                                     formatter_class=argparse.RawTextHelpFormatter, allow_abbrev=False)
    parser.add_argument("what", nargs="?", default="messages", choices=programs,
                        help="messages (with barrier, allreduce, start-up), all collectives, datatypes,\n"
                             "one-sided communication (rma),\n"
                             "messages between several threads of two ranks, packing with idle threads, channels,\n"
                             "nonblocking operations behind a computation (on this node, by TCP), a computation\n"
                             "beside copies, messages and collectives between two nodes by TCP, one buffer of\n"
                             "several threads in partitions, rows of puts to another node (posting), ranks beside busy\n"
                             "programs (beside), collectives over many nodes (composition: simulated),\n"
                             "calls in Fortran beside C\n"
                             "(default: %(default)s)")
    parser.add_argument("--weft", default="build/release", metavar="DIR",
                        help="build or installed tree of weft (default: this one)")
    parser.add_argument("--peers", default=peers_folder(), metavar="DIR",
                        help="where bench/peers put the others")
    parser.add_argument("--only", metavar="NAMES", type=names, help="libraries, e.g. weft-process,mpich")
    parser.add_argument("--rows", metavar="ROWS", type=names,
                        help="some rows only, e.g. lat,bw or bcast,reduce;\nidle: packing, halo, multigrid, messages;\n"
                             "progress: isend, irecv, ... (on this node), network, caches;\n"
                             "network: lat, bw, rate, barrier, bcast, reduce, allreduce, alltoall,\n"
                             "put, get, fetch_and_op; posting: idle, threads, sends;\n"
                             "beside: round_trip, allreduce, exchange, phases")
    parser.add_argument("--hosts", metavar="A,B", type=names,
                        help="for `weft bench network` and `posting`: the nodes (default: this machine pretends to be some)")
    parser.add_argument("--launch-agent", metavar="COMMAND", default="",
                        help="starts commands on --hosts, as mpiexec's option does (default: ssh); this machine as a cluster:\n"
                             "scripts/cluster exec head \"weft bench network --hosts n1,n2 --launch-agent '.../cluster exec'\"")
    parser.add_argument("--nodes", metavar="N", type=whole(2, 64), help="that this machine pretends to be (default: 2)")
    parser.add_argument("--ranks", metavar="N,N", type=counts(1, 4096),
                        help="(default: 2,4,8; --figures: 2,4,... up to all CPUs; --regret: all CPUs)")
    parser.add_argument("--threads", metavar="N,N", type=counts(1, 64),
                        help="of each rank, for `weft bench threads` (default: 1,2,4,8), `network` (1,2,4) and\n"
                             "`posting` (1,2,4, and more as far as there are CPUs)")
    parser.add_argument("--rounds", metavar="N", type=whole(1, 10000),
                        help="(default: 11; --figures and --regret: 5; threads, idle, progress, posting\n"
                             "and beside: 3)")
    parser.add_argument("--batches", metavar="N", type=whole(1, 101), default=11, help="(default: %(default)s)")
    parser.add_argument("--batch-ms", metavar="MS", type=seconds(0.001, 10000), default=2, help="(default: %(default)s)")
    parser.add_argument("--limit-s", metavar="S", type=seconds(0.001, 10000), default=0.5,
                        help="longest time for one row of one round (default: %(default)s)")
    parser.add_argument("--max-bytes", metavar="N", type=whole(8, 1 << 40), default=4 << 20)
    parser.add_argument("--untouched", action="store_true",
                        help="nobody writes or reads the buffers between operations, as in the OSU and Intel\n"
                             "benchmarks; without it every sender writes and every receiver reads each cache line")
    parser.add_argument("--timeout-s", metavar="S", type=seconds(0.1, 1e6), default=120, help="of a job")
    parser.add_argument("--figures", action="store_true",
                        help="with collectives: the experiments of the paper that weft's model is from, on all CPUs;\n"
                             "5 rounds (2 minutes on 2 CPUs), with --quick 3 short ones (a minute); with threads:\n"
                             "where the threads' time goes, BFS and HPCCG, by lock; with channels: a farm and a stencil")
    parser.add_argument("--regret", action="store_true",
                        help="with collectives, and with network: weft's choice of ways against the fastest way, measured")
    parser.add_argument("--quick", action="store_true", help="3 rounds of 5 short batches; idle and beside: 2 rounds")
    parser.add_argument("--every-size", action="store_true", help="also print the times of every size")
    parser.add_argument("--name", metavar="NAME", type=file_name,
                        help="samples go to <date>-NAME.json (default: what was measured)")
    parser.add_argument("--out", metavar="DIR", help="default: bench/results/<machine>")
    parser.add_argument("--from", dest="files", metavar="FILE", nargs="+",
                        help="measure nothing: tables and plots of these files of samples")
    return parser


def rank_counts(most):
    """2, 4, 8, ... and all."""
    counts = [n for n in (2 ** i for i in range(1, 12)) if n < most]
    return counts + [most]


def thread_names(row, threads):
    """The endings of a row's names; with one thread, MPI_THREAD_SINGLE too."""
    return [f"{n}t" for n in threads] + (["single"] if 1 in threads and row in ("lat", "rate") else [])


def thread_rows(args):
    """Rows of `threads`: those named, or what is drawn or printed of them."""
    rows = args.rows.split(",") if args.rows else ["lat", "rate"] if args.figures else ["lat", "rate", "comms", "bw"]
    found = dict.fromkeys(row if "_" in row else f"{row}_{n}" for row in rows for n in thread_names(row, args.threads))
    return ",".join(row for row in found if args.rows or row not in TOO_LARGE)


def posting_threads():
    """1, 2, 4, and more as far as there are CPUs for them."""
    return [n for n in (2 ** i for i in range(7)) if n <= max(4, len(os.sched_getaffinity(0)))]


def parse(description, programs, words=None):
    """The options, with what follows from them; ends the program after a mistake."""
    parser = make_parser(description, programs)
    args = parser.parse_args(words)
    args.parser = parser
    args.sizes = None
    args.threads = args.threads or {"network": [1, 2, 4], "posting": posting_threads()}.get(args.what, [1, 2, 4, 8])
    if args.hosts and (args.what not in ("network", "posting") or args.regret):
        parser.error("--hosts goes with `weft bench network` and `posting`, without --regret")
    if args.launch_agent and not args.hosts or args.nodes and args.hosts or args.nodes and args.what != "network" or args.nodes and args.regret:
        parser.error("--launch-agent goes with --hosts, --nodes with `weft bench network`, without --hosts and --regret")
    args.nodes = args.nodes or (len(args.hosts.split(",")) if args.hosts else 2)
    extra = args.figures or args.regret
    if args.regret and args.what not in ("collectives", "network") or args.figures and args.what not in ("collectives", "threads", "channels"):
        parser.error("--regret goes with `weft bench collectives` and `network`, --figures with collectives, threads and channels")
    if args.untouched and (extra or args.what == "datatypes"):
        parser.error("--untouched goes with messages, collectives and threads, without --figures and --regret")
    if args.what == "idle" and args.ranks:
        parser.error("weft bench idle has ranks and threads from the machine: leave --ranks out")
    if args.figures and (args.regret or args.rows):
        parser.error("--figures measures rows of its own: leave --regret and --rows out")
    if args.quick:
        args.batches, args.batch_ms, args.limit_s = 5, 1, 0.1
    elif extra:
        args.batch_ms, args.limit_s = 1, 0.2
    if args.what == "beside":  # a batch is many slices of the kernel's
        args.batch_ms, args.limit_s = (30, 0.12) if args.quick else (100, 0.6)
    if args.rounds is None:
        few = 3 if args.what in ("threads", "idle", "progress", "posting", "beside") else 5 if extra else 0
        args.rounds = (2 if args.what in ("idle", "beside") else 3) if args.quick else few or 11
    cpus = len(os.sched_getaffinity(0))
    few = [4] if args.what == "network" else [cpus]
    usual = rank_counts(cpus) if args.figures else few if args.regret else [2, 4, 8]
    if args.what == "beside" and args.quick:
        usual = [2, 8]
    args.ranks = args.ranks or ([8] if args.what == "posting" else usual)
    args.name = args.name or args.what + "-untouched" * args.untouched + "-figures" * args.figures + "-regret" * args.regret
    if args.what == "threads":
        args.ranks = [2]
        args.limit_s, args.timeout_s = min(args.limit_s, 0.1), min(args.timeout_s, 30)
        args.rows = thread_rows(args)
    return args


def refuse(args, kind, name, known):
    near = difflib.get_close_matches(name, known, 1)
    args.parser.error(f"there is no {kind} `{name}`; there are: {', '.join(known) or 'none'}" +
                      (f"; did you mean `{near[0]}`?" if near else ""))


def check_libraries(args, known):
    """--only names libraries that are there."""
    for name in args.only.split(",") if args.only else []:
        if name not in known:
            refuse(args, "library", name, known)
    if (args.figures or args.regret) and args.what != "channels" and args.only and "weft-thread" not in args.only.split(","):
        args.parser.error("--figures and --regret need weft-thread among the libraries of --only")


def check_rows(args, known):
    """--rows names rows of the program ({name: ranks it needs, 0: any}), and some rank count serves each."""
    for name in args.rows.split(",") if args.rows else []:
        if name == STARTUP and args.what == "messages":
            continue
        if name not in known:
            refuse(args, "row", name, [*known, *([STARTUP] if args.what == "messages" else [])])
        if known[name] and known[name] not in args.ranks:
            args.parser.error(f"row {name} needs {known[name]} ranks, not {','.join(map(str, args.ranks))} (--ranks)")
