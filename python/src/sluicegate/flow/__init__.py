"""Streams between threads of one process, as blueprints whose demand is credit.

A ``Source`` has one typed output, a ``Flow`` an input and an output, a ``Sink`` an input. Closed,
they are a ``RunnableGraph``; each ``run`` on a ``Scope`` makes fresh stages, fresh edges and a
fresh materialised value::

    from sluicegate import flow

    with flow.Scope() as scope:
        result = flow.Source.iter(range(10)).map(str).to(flow.Sink.collect()).run(scope)
        print(result.result())

Where to look:

=============  ====================================================================================
``Source``     where elements come from; the stages are methods: ``Source.iter(x).map(f).take(3)``
``Flow``       the stages by themselves; ``source.via(flow)``
``Sink``       where elements go: ``collect``, ``fold``, ``foreach``, ``writer``, ``channel`` ...
``Scope``      owns threads and edges; leaving it stops everything. ``stages()``, ``explain()``
decorators     ``@flow.source``, ``@flow.map``, ``@flow.map_async(4)``, ``@flow.foreach`` ...
by hand        ``Source.manual`` gives a ``Manual`` to offer to; ``run`` gives an ``Outlet`` to read
results        ``Completion``, ``Promise``; ``Status``
edges          ``EdgeOptions``: capacity in elements and bytes, and an ``Overflow`` strategy
many           ``Hub``, ``MergeHub``, ``HubPolicy``; ``Switch`` ends a run from outside
tests          ``sluicegate.flow.testkit``
=============  ====================================================================================

Threads wait in ``result``, ``offer``, ``recv`` and ``for``, tasks with ``await``, ``offer_async``,
``recv_async`` and ``async for``. Times are in seconds, sizes in bytes, counts in elements. Every
object may be used by any thread. Functions of stages run on threads of the scope, one at a time in
each run of fused stages; what they raise fails the stream and comes out of its completion. Errors
of the library are those of ``sluicegate.errors``.
"""

from __future__ import annotations

from sluicegate.flow._blueprint import RunnableGraph as RunnableGraph
from sluicegate.flow._blueprint import Source as Source
from sluicegate.flow._completion import Completion as Completion
from sluicegate.flow._completion import Promise as Promise
from sluicegate.flow._completion import Status as Status
from sluicegate.flow._decorate import drop_while as drop_while
from sluicegate.flow._decorate import expand as expand
from sluicegate.flow._decorate import fetch as fetch
from sluicegate.flow._decorate import filter as filter  # noqa: A004
from sluicegate.flow._decorate import filter_map as filter_map
from sluicegate.flow._decorate import fold as fold
from sluicegate.flow._decorate import foreach as foreach
from sluicegate.flow._decorate import group_by as group_by
from sluicegate.flow._decorate import map as map  # noqa: A004
from sluicegate.flow._decorate import map_async as map_async
from sluicegate.flow._decorate import map_parallel as map_parallel
from sluicegate.flow._decorate import pages as pages
from sluicegate.flow._decorate import recover as recover
from sluicegate.flow._decorate import scan as scan
from sluicegate.flow._decorate import source as source
from sluicegate.flow._decorate import take_while as take_while
from sluicegate.flow._decorate import tap as tap
from sluicegate.flow._decorate import unfold as unfold
from sluicegate.flow._edge import EdgeOptions as EdgeOptions
from sluicegate.flow._edge import Offer as Offer
from sluicegate.flow._edge import OfferStatus as OfferStatus
from sluicegate.flow._edge import Overflow as Overflow
from sluicegate.flow._hub import Hub as Hub
from sluicegate.flow._hub import HubPolicy as HubPolicy
from sluicegate.flow._hub import HubSubscriber as HubSubscriber
from sluicegate.flow._hub import MergeHub as MergeHub
from sluicegate.flow._hub import Switch as Switch
from sluicegate.flow._run import Manual as Manual
from sluicegate.flow._run import Outlet as Outlet
from sluicegate.flow._scope import Demand as Demand
from sluicegate.flow._scope import Scope as Scope
from sluicegate.flow._scope import Stage as Stage
from sluicegate.flow._sink import Sink as Sink
from sluicegate.flow._stage import Again as Again
from sluicegate.flow._stage import Flow as Flow
from sluicegate.flow._stage import Out as Out

__all__ = [
    "Again",
    "Completion",
    "Demand",
    "EdgeOptions",
    "Flow",
    "Hub",
    "HubPolicy",
    "HubSubscriber",
    "Manual",
    "MergeHub",
    "Offer",
    "OfferStatus",
    "Out",
    "Outlet",
    "Overflow",
    "Promise",
    "RunnableGraph",
    "Scope",
    "Sink",
    "Source",
    "Stage",
    "Status",
    "Switch",
    "drop_while",
    "expand",
    "fetch",
    "filter",
    "filter_map",
    "fold",
    "foreach",
    "group_by",
    "map",
    "map_async",
    "map_parallel",
    "pages",
    "recover",
    "scan",
    "source",
    "take_while",
    "tap",
    "unfold",
]
