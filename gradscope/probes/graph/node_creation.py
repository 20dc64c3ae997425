"""The probe of nodes that this torch allows."""

from __future__ import annotations

from gradscope.probes.core.context import Context
from gradscope.probes.core.node_token import HAS_HOOK
from gradscope.probes.graph.node_creation_base import NodeCreation
from gradscope.probes.graph.node_creation_by_anomaly_mode import NodeCreationByAnomalyMode
from gradscope.probes.graph.node_creation_by_hook import NodeCreationByHook


def node_creation(context: Context) -> NodeCreation:
    """By torch's own hook from 2.14 on, by anomaly mode below."""
    return (NodeCreationByHook if HAS_HOOK else NodeCreationByAnomalyMode)(context)
