#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs meet that run on several hosts, or on different machines: on hosts that are all this machine (agent_here.sh), and, as root, on
those that scripts/cluster makes. Nothing may be left behind there, no relay either."""
import os
import signal
import time

import harness
import jobs_test
from harness import MODES, PATIENCE, program

AGENT = str(harness.SOURCE / "tests" / "launch" / "agent_here.sh")


class Apart(jobs_test.Meeting):
    """`agent`: the launch agent's command."""

    def side(self, mode, where, *what):
        return [harness.MPIEXEC, f"--ranks={mode}", "--launch-agent", self.agent, "-H", where, program("jobs"), self.file, *map(str, what)]

    def meet(self, mode, server, client, *what, **env):
        other = MODES[1 - MODES.index(mode)] if "mixed" in what else mode
        what = [word for word in what if word != "mixed"]
        return self.run_jobs(self.side(mode, server, "server", *what), self.side(other, client, "client", *what), **env)

    def check_a_death(self, server, client):
        """It ends the other job with one sentence, or is an error at all its ranks; rank 1 is on the second host."""
        for mode in MODES:
            for end, code in (("kill", 137), ("abort", 5)):
                ended, dead = self.meet(mode, server, client, end)
                self.assertEqual((ended[0], dead[0]), (1, code), (ended, dead))
                self.assertRegex(ended[2], "^weft: .* is connected to a process that is dead: .*\n$")
            ended, dead = self.meet(mode, server, client, "survive-abort")
            self.assertEqual((ended[0], dead[0], ended[2]), (0, 5, ""), (ended, dead))
            self.assertIn("MPI_ERR_PROC_ABORTED", ended[1])

    def check_nobody_there(self, port, *reasons):
        with open(self.file, "w", encoding="ascii") as file:
            file.write(port)
        code, _, err = self.end(self.begin(self.side("process", self.one, "client", "talk")))
        os.remove(self.file)
        self.assertNotEqual(code, 0)
        for reason in ("MPI_Comm_connect", *reasons):
            self.assertIn(reason, err.splitlines()[0])


class Here(Apart, harness.Case):
    agent, one = AGENT, "a:1"

    def test_one_host_each(self):
        for mode in MODES:
            self.good(self.meet(mode, "a:2", "b:3", "talk", 2))

    def test_several_hosts_each(self):
        for mode in MODES:
            self.good(self.meet(mode, "a:1,b:2", "c:2,d:1,e:1", "talk", 2))
            self.good(self.meet(mode, "a:1,b:1", "a:1,b:2", "talk", "mixed"))

    def test_more_ranks_than_cpus(self):
        for mode in MODES:
            self.good(self.meet(mode, "a:4,b:4", "c:4,d:4", "talk"))

    def test_with_several_contexts(self):
        for mode in MODES:
            self.good(self.meet(mode, "a:1,b:1", "c:1,d:1", "talk", THREADS="1"))

    def test_many_meetings(self):
        self.good(self.meet("process", "a:1,b:1", "c:1,d:1", "many", 50))

    def test_with_a_job_without_agents(self):
        """In both directions."""
        for mode in MODES:
            plain = [harness.MPIEXEC, f"--ranks={mode}", "-n", "2", program("jobs"), self.file]
            self.good(self.run_jobs([*plain, "server", "talk"], self.side(mode, "a:1,b:2", "client", "talk")))
            self.good(self.run_jobs(self.side(mode, "a:1,b:2", "server", "talk"), [*plain, "client", "talk"], WEFT_SPAWN_AGENT=AGENT))

    def test_three_jobs(self):
        for mode in MODES:
            self.good(self.run_jobs(self.side(mode, "a:1,b:1", "server", "three", 6), self.side(mode, "c:1,d:1", "client", "three", 6),
                                    self.side("process", "e:1,f:1", "client", "second", 6)))

    def test_a_socket(self):
        self.good(self.meet("process", "a:1,b:1", "c:1,d:1", "join"))

    def test_a_freed_communicator_still_connects(self):
        for mode in MODES:
            self.good(self.meet(mode, "a:1,b:2", "c:1,d:2", "free"))

    def test_who_waits_for_another_job_does_not_hang(self):
        self.good(self.meet("process", "a:1,b:1", "c:1,d:1", "quiet", 4, WEFT_SYNC_HANG_SECONDS="1"))

    def test_a_death(self):
        self.check_a_death("a:1,b:2", "c:1,d:1")

    def test_no_place_is_left(self):
        """On several hosts a guest's place is not used again."""
        server = self.begin(self.side("process", "a:1,b:1", "server", "talk", 2), WEFT_SPAWN_GUESTS="3")
        self.good([self.end(self.begin(self.side("process", "c:1,d:1", "client", "talk")))])
        client = self.begin(self.side("process", "c:1,d:1", "client", "talk"))
        for job in (server, client):
            code, _, err = self.end(job)
            self.assertNotEqual(code, 0)
            self.assertRegex(err, "WEFT_SPAWN_GUESTS" if job is server else "the other job")

    def test_nobody_is_there(self):
        self.check_nobody_there("weft:" + "7" * 32 + ":0:1@off", "host off", "agent_here.sh", "no route to host off")
        self.check_nobody_there("weft:" + "7" * 32 + ":0:1@b", "host b", "nobody listens")
        self.check_nobody_there("weft:" + "7" * 32 + ":0:1@-oProxyCommand=touch", "expected a name")
        self.check_nobody_there("weft:" + "7" * 32 + ":0:1@b;touch", "expected a name")


class Machines(Apart, harness.ClusterCase):
    one = "n1:1"

    @property
    def agent(self):
        return " ".join([*self.words, "exec"])

    def tearDown(self):
        deadline = time.monotonic() + 3 * PATIENCE
        while self.on_hosts() and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertEqual(self.on_hosts(), [])
        super().tearDown()

    def test_one_host_each(self):
        for mode in MODES:
            self.good(self.meet(mode, "n1:2", "n2:3", "talk", 2))

    def test_several_hosts_each(self):
        for mode in MODES:
            self.good(self.meet(mode, "n1:1,n2:2", "n2:2,n3:1", "talk", "mixed"))
            self.good(self.meet(mode, "n3:2", "n1:1,n2:2", "talk"))

    def test_one_host_in_common(self):
        """Over loopback, or not where one of the jobs has another network."""
        self.good(self.meet("process", "n1:2", "n1:2", "talk"))
        self.good(self.meet("process", "n1:2", "n1:1,n2:1", "talk"))

    def test_a_death(self):
        self.check_a_death("n1:1,n2:2", "n2:1,n3:1")

    def test_a_network_that_does_not_leave_the_machine(self):
        client = self.side("process", "n2:2", "client", "talk")
        client[1:1] = ["-x", "WEFT_NET_INTERFACE=lo"]
        server, client = self.run_jobs(self.side("process", "n1:2", "server", "talk"), client)
        for (code, _, err), whose in ((server, "the other job"), (client, "this job")):
            self.assertNotEqual(code, 0)
            self.assertIn(f"{whose} has opened its network at loopback", err)
            self.assertIn("WEFT_NET_INTERFACE=NAME", err)

    def test_nobody_is_there(self):
        self.check_nobody_there("weft:" + "7" * 32 + ":0:1@n9", "host n9", "there is no host n9")
        self.check_nobody_there("weft:" + "7" * 32 + ":0:1@n2", "host n2", "nobody listens")

    def test_a_relay_that_is_killed(self):
        """It is as if the other job had died."""
        server = self.begin(self.side("process", "n1:2", "server", "quiet", 100))
        client = self.begin(self.side("process", "n2:2", "client", "quiet", 100))
        deadline = time.monotonic() + 20 * PATIENCE
        relays = []
        while not relays and time.monotonic() < deadline:
            time.sleep(0.1)
            relays = [pid for host, pid, command in self.on_hosts() if host == "n1" and "--relay" in command]
        time.sleep(5 * PATIENCE)  # for the leaders to have met
        os.kill(relays[0], signal.SIGKILL)
        for job in (server, client):
            code, _, err = self.end(job)
            self.assertEqual(code, 1)
            self.assertRegex(err, "^weft: rank 0 is connected to a process that is dead: .*\n$")


if __name__ == "__main__":
    harness.main()
