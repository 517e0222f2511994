"""What does not fit into memory is refused before it is built, with its size and a way out."""

import gc
from threading import Event, Thread

import pytest

from cpwl import LimitError, errors
from cpwl.function.order import order_components
from support.constructions import algorithm_1
from support.functions import delaunay


def test_memory_is_counted():
    """The system says how much is free, and what fits is let pass."""
    assert errors.available_memory() > 1e6
    errors.check_memory(1.0, "a byte", "")


def test_a_container_counts(tmp_path, monkeypatch):
    """In a container the smaller of the two amounts is what is free; without a limit the system's."""
    monkeypatch.setattr(errors, "_CGROUP", tmp_path)
    (tmp_path / "memory.max").write_text("1000000\n")
    (tmp_path / "memory.current").write_text("400000\n")
    assert errors.available_memory() == 600000
    (tmp_path / "memory.max").write_text("max\n")
    assert errors.available_memory() > 1e6


def test_a_system_that_says_nothing_is_trusted(tmp_path, monkeypatch):
    """Where there is no such file, the physical memory is taken."""
    monkeypatch.setattr(errors, "_MEMINFO", tmp_path / "none")
    assert errors.available_memory() > 1e6


@pytest.mark.parametrize("work", [lambda p: order_components(p, 0), lambda p: algorithm_1(p)])
def test_large_work_is_refused_with_its_size(work, monkeypatch):
    """Comparing components and building Algorithm 1's network: the error has the size and the alternative."""
    monkeypatch.setattr(errors, "available_memory", lambda: 100.0)
    with pytest.raises(LimitError, match=r"GB are free(.|\n)*gates") as caught:
        work(delaunay(2, 12, 0))
    assert caught.value.details["bytes"] > 100


def test_the_network_is_refused_where_the_order_fits(monkeypatch):
    """The estimate for the network is its own."""
    monkeypatch.setattr(errors, "available_memory", lambda: 5000.0)
    with pytest.raises(LimitError, match="Algorithm 1's network of about"):
        algorithm_1(delaunay(2, 12, 0))


def test_threads_leave_the_garbage_collector_as_it_was():
    """The thread that came first may leave last: the threshold of before is restored then, and not earlier."""
    before = gc.get_threshold()
    inside, leave = Event(), Event()

    def other():
        with errors.rare_collection():
            inside.set()
            leave.wait(10)

    thread = Thread(target=other)
    with errors.rare_collection():
        thread.start()
        inside.wait(10)
    assert gc.get_threshold()[0] >= 100_000
    leave.set()
    thread.join()
    assert gc.get_threshold() == before
