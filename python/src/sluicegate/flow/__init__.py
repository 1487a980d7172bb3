"""Streams between threads of one process, as blueprints whose demand is credit.

A ``Source`` has one typed output, a ``Flow`` an input and an output, a ``Sink`` an input. Closed,
they are a ``RunnableGraph``; each ``run`` on a ``Scope`` makes fresh stages, fresh edges and a
fresh materialised value::

    from sluicegate import flow

    with flow.Scope() as scope:
        result = flow.Source.iter(range(10)).map(str).to(flow.Sink.collect()).run(scope)
        print(result.result())

Threads wait in ``result``, tasks with ``await``. Functions of stages run on threads of the scope.
"""

from __future__ import annotations

from sluicegate.flow._blueprint import RunnableGraph as RunnableGraph
from sluicegate.flow._blueprint import Source as Source
from sluicegate.flow._completion import Completion as Completion
from sluicegate.flow._completion import Promise as Promise
from sluicegate.flow._completion import Status as Status
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
from sluicegate.flow._source import source as source
from sluicegate.flow._stage import Flow as Flow

map = Flow.map  # noqa: A001
"""``Flow.map``, as a decorator."""
tap = Flow.tap
"""``Flow.tap``, as a decorator."""
filter = Flow.filter  # noqa: A001
"""``Flow.filter``, as a decorator."""
filter_map = Flow.filter_map
"""``Flow.filter_map``, as a decorator."""
expand = Flow.expand
"""``Flow.expand``, as a decorator."""
take_while = Flow.take_while
"""``Flow.take_while``, as a decorator."""
drop_while = Flow.drop_while
"""``Flow.drop_while``, as a decorator."""

__all__ = [
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
    "filter",
    "filter_map",
    "map",
    "source",
    "take_while",
    "tap",
]
