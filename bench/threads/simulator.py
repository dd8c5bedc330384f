# SPDX-License-Identifier: Apache-2.0
"""A simulated rank with many threads: what locks and waiting cost where a line has far to go.

The machine and the programs of Dang, Seo, Amer, Balaji: Advanced Thread Synchronization for
Multithreaded MPI Implementations (CCGrid 2017), section III.A: 36 cores in 4 memory domains; the threads
of one rank run figure 1 of the paper, or figure 6 (selective reactivation), behind one lock. The other
rank is ideal. What moves between cores costs by distance: the lock, the lines of the library's state
behind it, a signal.

All is modelled: the costs are chosen (in the range of a two-socket server of that time), not measured,
and only the order and shape of what comes out mean something. Times in ns. Chance has a seed: the same
call gives the same numbers.
"""
import heapq
import itertools
import random
from collections import deque

CORES, DOMAINS = 36, 4
LINE = {"core": 2, "domain": 60, "far": 140}  # a cache line that another core has written
LINES = {"ISSUE": 6, "POLL": 5, "EMPTY CS": 5}  # of the library's state that a critical section needs
WORK = {"ISSUE": 150, "POLL": 120, "EMPTY CS": 70}  # a critical section with all lines at hand
OUTSIDE, YIELD = 50, 250  # between two calls of a thread, about; of a waiting thread between looks
SYSTEM_CALL, WAKE = 500, 4500  # of who wakes another thread; until that runs
NETWORK, PEER = 600, 300  # one way; the other rank's turn
FRAGMENT, FRAGMENT_TIME = 4096, 700  # of a message, bytes; on the wire. One is on its way at a time
WINDOW = 64


def domain(core):
    return core * DOMAINS // CORES


def distance(a, b):
    if a == b:
        return "core"
    return "domain" if domain(a) == domain(b) else "far"


class Events:
    def __init__(self):
        self.now, self.heap, self.number = 0.0, [], itertools.count()
        self.random = random.Random(1)

    def after(self, delay, call):
        heapq.heappush(self.heap, (self.now + delay, next(self.number), call))

    def run(self):
        while self.heap:
            self.now, _, call = heapq.heappop(self.heap)
            call()


class Lock:
    """First come, first served (CLH); the others say where they differ."""

    priorities = 1
    kernel = False

    def __init__(self, events):
        self.events, self.held, self.last = events, False, 0  # last: core that had it
        self.queues = [deque() for _ in range(self.priorities)]
        self.passed = dict.fromkeys(LINE, 0)

    def acquire(self, thread, low):
        if self.free_for(thread, low):
            self.give(thread, LINE[distance(self.last, thread.core)])
        else:
            self.queues[low if self.priorities > 1 else 0].append(thread)

    def free_for(self, thread, low):
        return not self.held

    def give(self, thread, delay):
        self.held = True
        before, self.last = self.last, thread.core
        self.passed[distance(before, thread.core)] += 1
        self.events.after(delay, lambda: thread.go(before))

    def release(self):
        self.held = False
        queue = next((queue for queue in self.queues if queue), None)
        if queue is not None:
            thread = queue.popleft()
            self.give(thread, LINE[distance(self.last, thread.core)])


class Mtx(Lock):
    """A pthread mutex: who runs may overtake those that have to be woken."""

    kernel = True
    waking = False

    def release(self):
        self.held = False
        if self.waking or not self.queues[0]:
            return
        self.waking = True
        self.events.after(WAKE * self.events.random.uniform(0.7, 1.3), self.awake)

    def awake(self):
        self.waking = False
        if not self.held and self.queues[0]:
            thread = self.queues[0].popleft()
            self.give(thread, LINE[distance(self.last, thread.core)])


class PClh(Lock):
    priorities = 2


class ClhUb(PClh):
    """The free lock is seen by the next in the queue a while later; until then who had it may take it."""

    turn = 0  # makes a hand-over void that was overtaken

    def free_for(self, thread, low):
        waits = any(self.queues)
        return not self.held and (not waits or (not low and thread.core == self.last))

    def give(self, thread, delay):
        self.turn += 1
        super().give(thread, delay)

    def next_of(self, queue):
        return queue[0]

    def release(self):
        self.held = False
        queue = next((queue for queue in self.queues if queue), None)
        if queue is None:
            return
        thread, turn = self.next_of(queue), self.turn

        def seen():
            if turn == self.turn and not self.held:
                queue.remove(thread)
                self.give(thread, 0)
        self.events.after(LINE[distance(self.last, thread.core)], seen)


class HClhUb(ClhUb):
    """The queue of active threads is by domain."""

    def next_of(self, queue):
        near = (thread for thread in queue if domain(thread.core) == domain(self.last))
        return next(near, queue[0]) if queue is self.queues[0] else queue[0]


LOCKS = {"MTX": Mtx, "CLH": Lock, "P-CLH": PClh, "CLHub": ClhUb, "HCLHub": HClhUb}


class Request:
    def __init__(self, thread, count=1):
        self.thread, self.pending = thread, count


class Thread:
    """Runs a program, a generator of (what, argument); `go` continues it."""

    def __init__(self, rank, core):
        self.rank, self.core, self.program = rank, core, None

    def start(self, program):
        self.program = program
        events = self.rank.events
        events.after(events.random.uniform(0, 1000), lambda: self.go(None))

    def go(self, value):
        try:
            what, argument = self.program.send(value)
        except StopIteration:
            return
        if what == "delay":
            self.rank.events.after(argument, lambda: self.go(None))
        elif what == "lock":
            self.rank.lock.acquire(self, argument)
        # "signal": somebody calls go


class Rank:
    """The library of one rank: figure 1, or with `reactivation` figure 6."""

    def __init__(self, lock, threads, reactivation):
        self.events = Events()
        self.lock = LOCKS[lock](self.events)
        self.reactivation = reactivation
        self.threads = [Thread(self, core) for core in range(threads)]
        self.news, self.posted, self.wire, self.flying = deque(), deque(), deque(), False
        self.server, self.waiters = None, deque()
        self.polls = self.wake_ups = self.messages = 0
        self.time = dict.fromkeys(("ISSUE", "POLL", "EMPTY CS", "SYNC"), 0.0)
        self.lines = {kind: dict.fromkeys(LINE, 0) for kind in LINES}

    # --- the wire: fragments in order, the next one only after somebody has looked ---
    def transmit(self, request, size):
        for left in range(max(1, -(-size // FRAGMENT)) - 1, -1, -1):
            self.wire.append((request, left == 0, min(size, FRAGMENT)))
        self.feed()

    def feed(self):
        if self.flying or not self.wire:
            return
        request, is_last, size = self.wire.popleft()
        self.flying = True
        time = FRAGMENT_TIME * size / FRAGMENT
        self.events.after(time, lambda: self.news.append((request, is_last)))

    def answer(self, delay, request=None):
        """A short message from the other rank; it is for the oldest posted receive unless named."""
        self.events.after(delay, lambda: self.news.append((request, None)))

    # --- what a thread does; all generators ---
    def spend(self, kind, ns):
        self.time[kind] += ns
        yield "delay", ns

    def enter(self, thread, low=0):
        begin = self.events.now
        before = yield "lock", low
        self.time["SYNC"] += self.events.now - begin
        return distance(before, thread.core)

    def critical(self, kind, far):
        """The work of a critical section; its lines are where the last holder ran."""
        if far != "core":
            self.lines[kind][far] += LINES[kind]
        yield from self.spend(kind, WORK[kind] + (LINES[kind] * LINE[far] if far != "core" else 0))

    def leave(self):
        sleepers = self.lock.kernel and any(self.lock.queues)
        self.lock.release()
        if sleepers:
            yield from self.spend("SYNC", SYSTEM_CALL)

    def poll(self, far):
        self.polls += 1
        if not self.news:
            yield from self.critical("EMPTY CS", far)
            return False
        yield from self.critical("POLL", far)
        while self.news:
            request, is_last = self.news.popleft()
            if is_last is not None:
                self.flying = False
                self.feed()
            if is_last is not False:
                yield from self.complete(request or self.posted.popleft())
        return True

    def complete(self, request):
        request.pending -= 1
        if request.pending == 0 and request in self.waiters:
            self.waiters.remove(request)
            yield from self.signal(request)

    def signal(self, request):
        self.wake_ups += 1
        thread = request.thread
        if self.lock.kernel:
            yield from self.spend("SYNC", SYSTEM_CALL)
            self.events.after(WAKE, lambda: thread.go(None))
        else:
            delay = 2 * LINE[distance(self.lock.last, thread.core)]
            self.events.after(delay, lambda: thread.go(None))

    def wait(self, thread, request):
        """With the lock."""
        elected, far = False, "core"
        while request.pending > 0:
            if (yield from self.poll(far)):
                far = "core"
                continue
            if self.reactivation and self.server is None:
                elected, self.server = True, thread
            if elected or not self.reactivation:
                yield from self.leave()
                yield from self.spend("SYNC", YIELD)
                far = yield from self.enter(thread, low=1)
            else:
                self.waiters.append(request)
                yield from self.leave()
                begin = self.events.now
                yield "signal", None
                self.time["SYNC"] += self.events.now - begin
                far = yield from self.enter(thread)
        if elected:
            self.server = None
        if self.server is None and self.waiters:
            yield from self.signal(self.waiters.popleft())

    def issue(self, thread, action):
        """A nonblocking call."""
        far = yield from self.enter(thread)
        yield from self.critical("ISSUE", far)
        action()
        yield from self.leave()
        yield from self.outside()

    def outside(self):
        yield "delay", OUTSIDE * self.events.random.uniform(0.5, 1.5)


def result(rank, end, messages):
    return {"us": end / messages / 1000, "polls": rank.polls / messages,
            "wake_ups": rank.wake_ups / messages, "passed": rank.lock.passed,
            "time": rank.time, "messages": messages,
            "lines": {kind: {far: n / messages for far, n in by.items()}
                      for kind, by in rank.lines.items()}}


def latency(lock, threads, reactivation, size=64, messages=None):
    """N threads receive from one tag and answer; us of half a round trip."""
    messages = messages or max(120, 6 * threads)
    rank = Rank(lock, threads, reactivation)
    state = {"left": messages, "end": 0.0}

    def arrive():
        rank.events.after(NETWORK, lambda: rank.transmit(None, size))

    def answered():
        state["left"] -= 1
        state["end"] = rank.events.now + NETWORK
        if state["left"] > 0:
            rank.events.after(NETWORK + PEER, arrive)

    def program(thread):
        while state["left"] > 0:
            far = yield from rank.enter(thread)
            yield from rank.critical("ISSUE", far)
            request = Request(thread)
            rank.posted.append(request)
            yield from rank.wait(thread, request)
            yield from rank.leave()
            yield from rank.outside()
            yield from rank.issue(thread, answered)
            if state["left"] == 0:
                rank.events.heap.clear()  # the others wait for messages that never come
                return
    for thread in rank.threads:
        thread.start(program(thread))
    arrive()
    rank.events.run()
    return result(rank, state["end"] / 2, messages)


def stream(lock, threads, reactivation, size, window, rounds):
    """N threads send windows, each answered once; us per message."""
    rank = Rank(lock, threads, reactivation)
    ends = []

    def program(thread):
        for _ in range(rounds):
            sends = Request(thread, window)
            for _ in range(window):
                if size <= FRAGMENT:  # the wire takes it at once
                    yield from rank.issue(thread, lambda: setattr(sends, "pending", sends.pending - 1))
                else:
                    yield from rank.issue(thread, lambda: rank.transmit(sends, size))
            far = yield from rank.enter(thread)
            yield from rank.critical("ISSUE", far)
            yield from rank.wait(thread, sends)
            yield from rank.leave()
            far = yield from rank.enter(thread)
            yield from rank.critical("ISSUE", far)
            answer = Request(thread)
            rank.answer(2 * NETWORK + PEER, answer)
            yield from rank.wait(thread, answer)
            yield from rank.leave()
        ends.append(rank.events.now)
    for thread in rank.threads:
        thread.start(program(thread))
    rank.events.run()
    return result(rank, max(ends), threads * rounds * window)


def rate(lock, threads, reactivation, size=64):
    return stream(lock, threads, reactivation, size, WINDOW, 3)


def bandwidth(lock, threads, reactivation, size=1 << 20):
    return stream(lock, threads, reactivation, size, 4, max(1, 18 // threads))


def handover(lock, core):
    """us of half a round trip between a thread on core 0 and one on `core` that signal each other."""
    rank = Rank(lock, 1, True)
    rank.threads.append(Thread(rank, core))
    rounds, waiting = 50, [None, None]
    state = {"ball": 0}

    def program(thread, me):
        for _ in range(rounds):
            yield from rank.enter(thread)
            if state["ball"] != me:
                waiting[me] = Request(thread)
                rank.waiters.append(waiting[me])
                yield from rank.leave()
                yield "signal", None
                yield from rank.enter(thread)
            state["ball"] = 1 - me
            if waiting[1 - me] in rank.waiters:
                yield from rank.complete(waiting[1 - me])
            yield from rank.leave()
    for me, thread in enumerate(rank.threads):
        thread.start(program(thread, me))
    rank.events.run()
    return rank.events.now / (2 * rounds) / 1000
