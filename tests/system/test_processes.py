"""Work shared by processes, where it pays."""

import itertools
import os
import signal
import threading
import time
from types import SimpleNamespace

import pytest
import torch

from pitgeo.graphs import neighbors, search
from pitgeo.system import processes
from pitgeo.system.processes import CrashError, OwnProcess, as_finished, as_needed
from tests.system import calls


def where(item):
    return item, os.getpid(), torch.get_num_threads()


def slow(item):
    time.sleep(0.05)
    return where(item)


def test_work_in_other_processes_has_one_thread_each():
    found = list(as_finished(where, range(4), 2))
    assert sorted(item for item, _, _ in found) == [0, 1, 2, 3]
    assert {threads for _, _, threads in found} == {1} and os.getpid() not in {process for _, process, _ in found}


def test_quick_work_stays_in_this_process(monkeypatch):
    monkeypatch.setattr(processes, "ProcessPoolExecutor", lambda *_, **__: pytest.fail("processes were started"))
    assert [item for item, _, _ in as_needed(where, range(1000), 8)] == list(range(1000))
    assert [item for item, _, _ in as_needed(slow, range(3), 8)] == [0, 1, 2]


def test_long_work_goes_to_other_processes(monkeypatch):
    seconds = itertools.count()  # every item takes one by this clock
    monkeypatch.setattr(processes, "time", SimpleNamespace(perf_counter=lambda: next(seconds)))
    monkeypatch.setattr(processes, "START", 2)
    found = list(as_needed(where, range(8), 2))
    assert sorted(item for item, _, _ in found) == list(range(8))
    own = [item for item, process, _ in found if process == os.getpid()]
    assert own == [0, 1]  # the first may load a library, the second tells how long one takes


def test_one_process_is_this_one(monkeypatch):
    monkeypatch.setattr(processes, "START", -1.0)
    monkeypatch.setattr(processes, "ProcessPoolExecutor", lambda *_, **__: pytest.fail("processes were started"))
    assert len(list(as_needed(where, range(5), 1))) == 5


def test_the_message_on_a_process_that_was_ended_says_what_to_do():
    with pytest.raises(ChildProcessError, match=r"2 processes to end with their work .* fewer processes if memory"):
        list(as_finished(calls.ended_from_outside, range(2), 2))


@pytest.fixture
def own():
    process = OwnProcess(calls=3)
    yield process
    process.close()


def test_an_own_process_is_used_again_and_renewed(own):
    found = [own.call(calls.process) for _ in range(4)]
    assert len(set(found[:3])) == 1 and found[3] not in (found[0], os.getpid())
    with pytest.raises(ValueError, match="no such shape"):
        own.call(calls.refuse, "no such shape")
    assert own.call(calls.process) == found[3]


def test_a_call_that_crashes_is_tried_once_more(own, tmp_path):
    assert own.call(calls.crash_until, tmp_path, 1) == 2
    with pytest.raises(CrashError, match=r"crash_until crashed twice .*SIGSEGV"):
        own.call(calls.crash_until, tmp_path, 9)
    assert len(list(tmp_path.iterdir())) == 4


def test_an_own_process_that_is_ended_from_outside_is_no_crash(own):
    with pytest.raises(ChildProcessError, match=r"SIGKILL.*fewer processes"):
        own.call(calls.ended_from_outside)
    assert own.call(calls.process) != os.getpid()


def test_the_answer_to_an_interrupted_call_is_not_that_to_the_next(own):
    first = own.call(calls.process)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    try:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            own.call(calls.wait)
        timer.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert own.call(calls.process) != first


@pytest.mark.parametrize("threads", [1, 2])
def test_neighbour_search_has_as_many_threads_as_torch(threads, monkeypatch):
    seen = []
    for module in (search, neighbors):
        monkeypatch.setattr(
            module, "nearest", lambda *args, nearest=search.nearest: seen.append(args[-1]) or nearest(*args)
        )
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        points = torch.rand(5000, 2)
        neighbors.knn(points, points, 14)
        neighbors.spacing(points)
    finally:
        torch.set_num_threads(before)
    assert len(seen) > 1 and set(seen) == {threads}
