#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Strangers at the door: a job of two pretended nodes works on, undisturbed, while others talk to each port at which it
listens: noise and cut noise on the socket, and packets of libfabric's protocol without a seal, or with a guessed one
(stranger.cc). It listens on loopback only, and shows its secret to nobody. And a connection that is lost."""
import os
import random
import re
import socket
import subprocess
import time
from pathlib import Path

import harness
from harness import BUILD, MODES, PATIENCE, program

STRANGER = BUILD / "tests" / "launch" / "stranger"
PROVIDERS = ("net", "tcp", "tcp;ofi_rxm")


def offered():
    text = subprocess.run([BUILD / "bin" / "weft", "info", "--net", "--json"], capture_output=True, text=True).stdout
    return [p for p in PROVIDERS if f'"{p}"' in text]


def sockets_of(pid):
    """Ranks that are threads have descriptors of their own."""
    found = set()
    for entry in Path("/proc", str(pid), "task").glob("*/fd/*"):
        try:
            target = os.readlink(entry)
        except OSError:
            continue
        if target.startswith("socket:["):
            found.add(target[8:-1])
    return found


def listening(pids):
    """(address, port) of all that these processes listen at by TCP; addresses as /proc writes them."""
    inodes = set().union(*(sockets_of(pid) for pid in pids))
    found = set()
    for name in ("tcp", "tcp6"):
        for line in Path("/proc/net", name).read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and words[9] in inodes:
                address, port = words[1].split(":")
                found.add((address, int(port, 16)))
    return found


def shout(port, noise):
    """Noise of many lengths, in one piece and in several, with and without a good-bye."""
    for length in (0, 1, 4, 15, 16, 17, 63, 64, 65, 200, 5000, 70000):
        with socket.create_connection(("127.0.0.1", port), timeout=5) as peer:
            try:
                peer.settimeout(0.2)
                data = noise.randbytes(length)
                # Some start as the protocols of libfabric's tcp do: a type, a version, lengths.
                if length > 16 and noise.random() < 0.5:
                    data = bytes((noise.randrange(4), noise.randrange(4), 0, noise.randrange(16))) + bytes(12) + data[16:]
                peer.sendall(data[: length // 2])
                peer.sendall(data[length // 2 :])
                if noise.random() < 0.5:
                    peer.shutdown(socket.SHUT_WR)
                peer.recv(100)
            except OSError:
                pass


class Strangers(harness.Case):
    def begin(self, mode, provider):
        command = [harness.MPIEXEC, f"--ranks={mode}", "--pretend-nodes", "2", "-n", "4", program("exchange")]
        return subprocess.Popen(command, env=self.env({"WEFT_NET_PROVIDER": provider, "WEFT_STATS": "1"}),
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def disturb(self, mode, provider, noise):
        child = self.begin(mode, provider)
        try:
            doors, deadline = set(), time.monotonic() + 20 * PATIENCE
            while len(doors) < 4 and time.monotonic() < deadline:
                time.sleep(0.05)
                doors = listening(self.marked())
            self.assertGreaterEqual(len(doors), 4, "where are the endpoints of four ranks?")
            for address, _ in doors:
                self.assertEqual(address, "0100007F", "it listens at more than loopback")
            strangers = [subprocess.Popen([STRANGER, provider, str(port), str(noise.randrange(10**6))], stdout=subprocess.PIPE)
                         for _, port in doors]
            for _, port in doors:
                shout(port, noise)
            for stranger in strangers:
                self.assertEqual(stranger.wait(30 * PATIENCE), 0)
                stranger.stdout.close()
            self.assertIsNone(child.poll(), "the job ended too soon")
            out, err = child.communicate(timeout=60 * PATIENCE)
        finally:
            child.kill()
            child.communicate()
        self.assertEqual((child.returncode, out), (0, "all right 4\n"), harness.show(out, err))
        dropped = re.search(r"net_dropped\s+(.*)", err)
        self.assertTrue(dropped, err)
        print(f"{mode}, {provider}: {dropped.group(0)}")

    def test_they_are_dropped(self):
        seed = int(os.environ.get("SEED", random.randrange(10**6)))
        noise = random.Random(seed)
        providers = offered()
        self.assertTrue(providers, "no provider of sockets")
        for mode in MODES:
            for provider in providers:
                with self.subTest(mode=mode, provider=provider, seed=seed):
                    self.disturb(mode, provider, noise)

    def test_a_lost_connection_names_rank_and_host(self):
        """tcp;ofi_rxm reports it; the others connect anew (docs/network.md)."""
        if "tcp;ofi_rxm" not in offered():
            self.skipTest("there is no tcp;ofi_rxm")
        host = os.uname().nodename
        for mode in MODES:
            result = self.mpiexec(f"--ranks={mode}", "--pretend-nodes", "2", "-n", "2", program("lost"), env={"WEFT_NET_PROVIDER": "tcp;ofi_rxm"})
            self.assertEqual((result.code, result.out), (1, ""), result.err)
            self.assertRegex(result.err, f"^weft: rank 0 on {host} cannot reach rank 1 on {host}: .*\n$")

    def secret(self):
        """From the memory of the job: behind its mark and nine numbers (src/memory/job.h), aligned."""
        for pid in self.marked():
            for fd in os.listdir(f"/proc/{pid}/fd"):
                if "memfd:weft-job" in os.readlink(f"/proc/{pid}/fd/{fd}"):
                    with open(f"/proc/{pid}/fd/{fd}", "rb") as memory:
                        header = memory.read(64)
                    self.assertEqual(header[:8], b"EWEFTJ01")
                    self.assertNotIn(b"\0" * 4, header[48:])
                    return header[48:]
        self.fail("no process has the job's memory")

    def test_the_secret_is_nowhere_to_be_read(self):
        """Not in arguments, not in the environment: the job's memory has it, which only its processes have."""
        child = self.begin("process", offered()[0])
        try:
            deadline = time.monotonic() + 20 * PATIENCE
            while len(listening(self.marked())) < 4 and time.monotonic() < deadline:
                time.sleep(0.05)
            secret = self.secret()
            for pid in self.marked():
                for file in ("environ", "cmdline"):
                    text = Path("/proc", str(pid), file).read_bytes()
                    self.assertNotIn(secret, text)
                    self.assertNotIn(secret.hex().encode(), text)
            out, err = child.communicate(timeout=60 * PATIENCE)
        finally:
            child.kill()
            child.communicate()
        self.assertEqual(out, "all right 4\n", harness.show(out, err))


if __name__ == "__main__":
    harness.main()
