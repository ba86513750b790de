"""The client's side of a batch on a cluster.

Workers and the runs they hold, the channel to each, limits of all workers, the bundle that is sent.
Everything durable is written here.
"""

__all__: list[str] = []
