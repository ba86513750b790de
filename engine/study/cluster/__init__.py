"""Batches on a Dask cluster: runs are executed by workers, everything durable stays with the client.

``docs/how-to/distributed.md`` tells how it is used. The client holds the store, the budget, the lines to
accounts and the calls that arms share; a worker executes runs, and acts on a reply only when the client
has said that it is durable. Nothing here is imported unless ``--on`` is given.
"""

__all__: list[str] = []
