"""The worker's side of a batch on a cluster.

Executes runs as in any process; journal, shared replies and limits are asked of the client. Nothing
durable is written here.
"""

__all__: list[str] = []
