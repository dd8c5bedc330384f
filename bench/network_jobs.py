# SPDX-License-Identifier: Apache-2.0
"""What `weft bench network` runs: messages, messages of several threads, collectives and one-sided operations between nodes, which this
machine pretends to be (--nodes) or --hosts names; by TCP, with weft and the other libraries in turns, beside libfabric's own
ping-pong. Those that use libfabric use the same one, and the same provider: MPICH's package has one, else it is the
system's."""
import dataclasses
import re
import shutil
from pathlib import Path

import jobs as job_lists
import libraries

# Two processes of this machine that have nothing but TCP between them.
NETWORK = {"mpich": {"MPIR_CVAR_NOLOCAL": 1, "MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp"},
           "openmpi": {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,tcp"},
           "impi": {"I_MPI_FABRICS": "ofi", "FI_PROVIDER": "tcp", "I_MPI_COLL_INTRANODE": "pt2pt"}}
MESSAGES = ("lat", "bw")  # of p2p_coll/main.c
RATE = "rate"             # of threads/main.c, with each number of threads
COLLECTIVES = ("barrier", "bcast", "reduce", "allreduce", "alltoall")
ONE_SIDED = ("put", "get", "fetch_and_op")  # of rma/main.c
BY_MEMORY = "openmpi"     # on one machine its windows are in shared memory, whatever its network is
PARTS = (*MESSAGES, RATE, *COLLECTIVES, *ONE_SIDED)  # what --rows names
MOST_BYTES = 1 << 20
OWN = "fi_pingpong"  # libfabric's
OWN_SIZES = (8, 64, 1024, 8192, 16384, 65536, 262144, 1 << 20)  # those of lat
AGENT = Path(__file__).resolve().parent / "network/agent.sh"  # for launchers that want an ssh
COMMON = {"mpich": Path("mpich/lib/mpich")}  # where a package keeps its libfabric


def by_network(library, nodes=2):
    """The library with processes of this machine that have nothing but TCP between them; weft's and MPICH's share memory on a node."""
    if not library.name.startswith("weft"):
        return job_lists.with_variables(library, **NETWORK[library.name])
    return dataclasses.replace(library, launch=lambda ranks, fits: [*library.launch(ranks, fits), "--pretend-nodes", nodes])


def over_hosts(library, hosts, agent=None):
    """The library with its ranks in equal blocks on these hosts, in which they may share memory. agent: starts commands
    there ("": ssh; None: hosts that this machine pretends to be)."""
    is_weft = library.name.startswith("weft")
    has_hydra = library.name in ("mpich", "impi")
    instead_of_ssh = ["-launcher", "fork"] if agent is None else [] if not agent else ["--launch-agent", agent] if is_weft else \
        ["-launcher", "ssh", "-launcher-exec", AGENT] if has_hydra else ["--prtemca", "plm_ssh_agent", AGENT]

    def words(ranks):
        each = -(-ranks // len(hosts))
        if has_hydra:
            return ["-hosts", ",".join(hosts), "-ppn", each]
        return ["-H" if is_weft else "--host", ",".join(f"{host}:{each}" for host in hosts)]

    variables = {"mpich": {"MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp"},
                 "openmpi": {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,sm,tcp"},
                 "impi": {"I_MPI_FABRICS": "shm:ofi", "FI_PROVIDER": "tcp"}}.get(library.name, {})
    if agent:
        variables["BENCH_AGENT"] = agent

    def launch(ranks, fits):
        usual = [str(word) for word in library.launch(ranks, False)]
        return [usual[0], *words(ranks), *instead_of_ssh, *usual[1:]]
    return job_lists.with_variables(dataclasses.replace(library, launch=launch), **variables)


def libfabric_of(args):
    """The folder of the libfabric that all use, and the provider's name there; None: the system's."""
    folder = Path(args.peers).resolve() / COMMON["mpich"]
    return (folder, "tcp") if (folder / "libfabric.so.1").exists() else (None, "net")


def congestion_control():
    """TCP's in this network, such as cubic; "" where the kernel does not say."""
    said = Path("/proc/sys/net/ipv4/tcp_congestion_control")
    return said.read_text().strip() if said.exists() else ""


def with_libfabric(library, folder):
    if folder is None or library.name == "openmpi":
        return library
    mine = library.env.get("LD_LIBRARY_PATH")
    return job_lists.with_variables(library, LD_LIBRARY_PATH=f"{mine}:{folder}" if mine else folder)


def placed(library, args, ranks):
    """The library as it runs so many ranks on the nodes. MPICH's launcher can pretend hosts, too, in which its
    ranks share memory; Open MPI and Intel MPI cannot, and have TCP only."""
    folder = libfabric_of(args)[0]
    if args.hosts:
        there = over_hosts(library, args.hosts.split(","), args.launch_agent)
    elif library.name == "mpich" and ranks > args.nodes:
        there = over_hosts(library, [f"node{i}" for i in range(args.nodes)])
    else:
        there = by_network(library, args.nodes)
    return with_libfabric(there, folder)


def own_rows(text):
    """Of fi_pingpong's tables: bytes, ..., us of a transfer."""
    units = {"": 1, "k": 1 << 10, "m": 1 << 20}
    found = []
    for number, unit, us in re.findall(r"(?m)^(\d+)([km]?)\s+\d+[km]?\s+=\d+[km]?\s+\S+\s+\S+\s+\S+\s+([\d.]+)\s+\S+$", text):
        found.append({"row": "lat", "bytes": int(number) * units[unit], "us": [float(us)]})
    if not found:
        raise ValueError(f"fi_pingpong said nothing that is known: {text[-200:]!r}")
    return found


def own_job(args, here):
    """libfabric's ping-pong between two processes, by the same provider; None: it is not installed."""
    program = shutil.which("fi_pingpong")
    if program is None or args.hosts:
        return None
    folder, provider = libfabric_of(args)
    alone = libraries.Library(OWN, provider, lambda ranks, fits: ["bash"],
                              {"LD_LIBRARY_PATH": folder} if folder else {})
    times = 200 if args.quick else 2000
    sizes = [str(size) for size in OWN_SIZES if args.sizes is None or str(size) in args.sizes.split(",")]
    return job_lists.Job(OWN, alone, 2, here / "network/fi_pingpong.sh", "", [provider, str(times), *sizes], own_rows)


def plan(args, libs, work, here):
    """The jobs of a round; here: the folder of the sources."""
    wanted = args.rows.split(",") if args.rows else PARTS
    messages = ",".join(row for row in MESSAGES if row in wanted)
    rates = ",".join(f"{RATE}_{n}t" for n in args.threads) if RATE in wanted else ""
    one_sided = ",".join(row for row in ONE_SIDED if row in wanted)
    collectives = ",".join(row for row in COLLECTIVES if row in wanted)
    usual = ["-b", str(args.batches), "-t", str(args.batch_ms), "-l", str(args.limit_s), "-m", str(MOST_BYTES)]
    usual += ["-s", args.sizes] if args.sizes else []
    jobs = []

    def add(source, rows, ranks, more=(), pinned=True, but=None):
        if not rows:
            return
        programs = libraries.build(libs, here / source, work, ("-O2", "-pthread"))
        for library in libs:
            if library.name == but:
                continue
            args.about["libraries"][library.name] = library.version
            jobs.append(job_lists.Job(library.name, placed(library, args, ranks), ranks, programs[library.name], rows,
                                      [*usual, "-r", rows, *more], pinned=pinned))

    add("p2p_coll/main.c", messages, 2)
    if "lat" in wanted and (own := own_job(args, here)):
        args.about["libraries"][OWN] = own.library.version
        jobs.append(own)
    add("threads/main.c", rates, 2, [] if args.sizes else ["-s", "8"], pinned=False)
    add("rma/main.c", one_sided, 2, but=None if args.hosts else BY_MEMORY)
    for ranks in args.ranks:
        if ranks > 2:
            add("collectives/main.c", collectives, ranks)
    return jobs


def settings(libs, args, counts=None, place=placed):
    """{library: what it was told, with two ranks and with more}"""
    def shown(library, ranks):
        there = place(library, args, ranks)
        told = [f"{name}={value}" for name, value in there.env.items() if library.env.get(name) != value]
        words = " ".join([*told, *there.command(ranks, "PROGRAM", pinned=False)[1:]])
        return words.replace(f"{libraries.ROOT}/", "")
    return {library.name: list(dict.fromkeys(shown(library, ranks) for ranks in counts or (2, max(args.ranks)))) for library in libs}
