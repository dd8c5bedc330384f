# SPDX-License-Identifier: Apache-2.0
"""What `weft bench partitioned` runs: one buffer filled by 8 threads of a rank and read by 8 of another, as a partitioned
transfer, as 8 messages, and as one message behind a barrier of the threads; with weft and the other libraries in turns."""
import jobs as job_lists
import libraries

ROWS = ("partitioned", "sends", "one_send")
MOST_BYTES = 16 << 20


def plan(args, libs, work, here):
    """The jobs of a round; here: the folder of the sources. Threads need more than a core of their rank's own."""
    programs = libraries.build(libs, here / "partitioned/main.c", work, ("-O2", "-pthread"))
    rows = args.rows or ",".join(ROWS)
    options = ["-b", str(args.batches), "-t", str(args.batch_ms), "-l", str(args.limit_s), "-m", str(MOST_BYTES), "-r", rows]
    options += ["-s", args.sizes] if args.sizes else []
    return [job_lists.Job(library.name, library, 2, programs[library.name], rows, options, pinned=False)
            for library in libs]
