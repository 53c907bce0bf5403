"""T8: a replica takes over, with all that was written or without the last of it."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
import redis
from django.test import override_settings

from cogworker_django.embedded import EmbeddedServer
from tests.scenarios.load import Load
from tests.scenarios.proxy import Proxy
from tests.scenarios.rig import Rig
from tests.scenarios.scale import size
from tests.scenarios.trial import RETURN, Trial
from tests.scenarios.waiting import eventually
from tests.support import StartServer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(size(60, 1800))]

RATE = 400.0


class Pair:
    """A main server and its replica, in front of which a proxy leads to the main one.

    Args:
        rig: whose server is the main one; it and its workers reach it by the proxy.
        spare: the replica.
        proxy: leads to the main one.
    """

    def __init__(self, rig: Rig, spare: EmbeddedServer, proxy: Proxy) -> None:
        self.rig = rig
        self.proxy = proxy
        self.link = Proxy(rig.server.port)
        """Between the two servers."""
        self.main, self.spare = rig.server, spare
        for server in (self.main, self.spare):
            with self.client(server) as client:
                client.config_set("repl-diskless-sync-delay", "0")
        rig.redis.close()
        rig.redis = redis.Redis.from_url(proxy.url)
        self.follow()

    def follow(self) -> None:
        """The spare one becomes the replica of the main one, and has all that is there."""
        self.link.lead_to(self.main.port)
        self.link.cut()
        with self.client(self.spare) as spare:
            spare.replicaof("127.0.0.1", self.link.port)
            eventually(lambda: spare.info("replication")["master_link_status"] == "up", RETURN, "the replica")

    def promote(self) -> None:
        """The spare one is the main one from now on; whoever is connected to the other one stays there for a moment."""
        self.main, self.spare = self.spare, self.main
        with self.client(self.main) as main, self.client(self.spare) as spare:
            main.replicaof("NO", "ONE")
            spare.replicaof("127.0.0.1", self.main.port)
            spare.client_unpause()
        time.sleep(0.3)
        self.proxy.lead_to(self.main.port)
        self.proxy.cut()

    def hold_writes(self) -> None:
        """Let nobody write until the replica has all that was written: so a planned failover begins."""
        with self.client(self.main) as main:
            main.client_pause(5000, all=False)
            eventually(self.is_level, 5, "the replica to have everything")

    def is_level(self) -> bool:
        """Whether the replica has read all that the main one has written."""
        with self.client(self.main) as main:
            told = main.info("replication")
        return int(told["slave0"]["offset"]) == int(told["master_repl_offset"])

    def refusals(self, word: str) -> int:
        """How often the two have refused something with this word."""
        found = 0
        for server in (self.main, self.spare):
            with self.client(server) as client:
                found += int(client.info("errorstats").get(f"errorstat_{word}", {}).get("count", 0))
        return found

    def close(self) -> None:
        """End what is between the servers."""
        self.link.close()

    @staticmethod
    def client(server: EmbeddedServer) -> redis.Redis:
        """A client of one of them."""
        return redis.Redis.from_url(server.url)


@pytest.fixture
def pair(rig: Rig, proxy: Proxy, start_server: StartServer) -> Iterator[Pair]:
    with override_settings(COGWORKER=rig.settings | {"REDIS": proxy.url}):
        made = Pair(rig, start_server(), proxy)
        yield made
    made.close()


def test_a_planned_failover_loses_and_repeats_nothing(pair: Pair) -> None:
    """Until they are led to the new one, workers are told that theirs is read-only."""
    rig = pair.rig
    for _ in range(2):
        rig.worker(wait=False, REDIS=pair.proxy.url)
    trial = Trial(rig, "planned failover")
    with Load(rig, size(800, 10_000), RATE):
        for _ in range(size(3, 20)):
            time.sleep(rig.random.uniform(0.2, 0.5))
            pair.hold_writes()
            pair.promote()
            trial.returned()
            pair.follow()
    trial.conclude()
    assert pair.refusals("READONLY") > 0


def test_a_replica_that_is_behind_costs_what_it_has_not_heard_of(pair: Pair) -> None:
    rig = pair.rig
    rig.worker(REDIS=pair.proxy.url)
    trial = Trial(rig, "failover to a replica behind")
    dropped, repeated = set[str](), set[str]()
    with Load(rig, size(800, 10_000), RATE) as load:
        for _ in range(size(2, 20)):
            time.sleep(rig.random.uniform(0.2, 0.5))
            pair.link.black_hole()
            behind = time.monotonic()
            time.sleep(0.3)
            pair.promote()
            ended = time.monotonic()
            pair.link.pass_on()
            trial.returned()
            pair.follow()
            dropped |= load.accepted_between(behind, ended)
            repeated |= {
                run.jid
                for run in rig.ledger.runs()
                if run.started < ended and (run.ended is None or run.ended > behind)
            }
    trial.conclude(bound=len(repeated), dropped=dropped, counted=False)


def test_an_idle_worker_whose_server_becomes_a_replica_finds_the_new_one(pair: Pair) -> None:
    worker = pair.rig.worker(REDIS=pair.proxy.url)
    trial = Trial(pair.rig, "failover while idle")
    time.sleep(0.3)
    pair.promote()
    trial.returned()
    worker.said("UNBLOCKED")
    trial.conclude()


def test_a_replica_without_its_main_server_is_waited_for_until_it_is_one(pair: Pair) -> None:
    """It answers that its link is down to whatever it is asked."""
    rig = pair.rig
    rig.worker(REDIS=pair.proxy.url)
    trial = Trial(rig, "main server gone")
    with pair.client(pair.spare) as spare:
        spare.config_set("replica-serve-stale-data", "no")
        with Load(rig, size(400, 2000), RATE):
            time.sleep(0.3)
            pair.hold_writes()
            pair.main.kill()
            pair.proxy.lead_to(pair.spare.port)
            time.sleep(1.5)
            spare.replicaof("NO", "ONE")
            trial.returned()
        assert spare.info("errorstats")["errorstat_MASTERDOWN"]["count"] > 0
    trial.conclude()
