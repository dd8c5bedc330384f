# SPDX-License-Identifier: Apache-2.0
"""What `weft bench channels` runs: messages between two ranks through channels (copied once, or built in place), by
MPI_Send and MPI_Recv of weft, and of the other libraries."""
import jobs as job_lists
import libraries

WAYS = {"channel": "send", "in-place": "place"}


def plan(args, libs, work, source):
    """The jobs of a round."""
    plain = libraries.build(libs, source, work)
    own = [library for library in libs if library.name.startswith("weft")]
    with_channels = libraries.build(own, source, work / "channels", ["-O2", "-DWITH_CHANNELS"]) if own else {}
    jobs = [job_lists.Job(library.name, library, 2, plain[library.name], args.rows) for library in libs]
    for library in own:
        for name, way in WAYS.items():
            series = f"{library.name.removeprefix('weft-')} {name}"
            args.about["libraries"][series] = library.version
            jobs.append(job_lists.Job(series, job_lists.with_variables(library, CHANNEL=way), 2,
                                      with_channels[library.name], args.rows))
    return jobs
