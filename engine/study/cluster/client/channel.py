"""The way from a client to a worker, through the scheduler: it alone need reach both."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from orglab.engine.study.cluster.errors import ClusterError, RunLost
from orglab.providers.base import JSON
from orglab.providers.structured_output.strict_json import dumps, loads_stored

if TYPE_CHECKING:
    from distributed import Client

OPERATION: Final = "orglab"
"""The name under which a worker hears the client of a study."""
_AGAIN_SECONDS: Final = 0.2


def _scheduler(client: Client) -> Any:  # noqa: ANN401 - Dask's own
    if client.scheduler is None:
        raise ConnectionError("the client is closed")
    return client.scheduler


async def listed(client: Client) -> list[str]:
    """Addresses of the workers that the scheduler has.

    Raises:
        ClusterError: The scheduler is gone.
    """
    try:
        about = await _scheduler(client).identity(n_workers=-1)
    except (OSError, TimeoutError, AttributeError) as error:
        raise ClusterError(
            f"the scheduler is gone ({error}); every reply is stored: run the same command to resume"
        ) from error
    return list(about["workers"])


class DaskChannel:
    """The way to one worker.

    Args:
        client: The client of the cluster.
        address: The worker's address.
        token: The session with it.
        patience: Seconds for which a worker that the scheduler still has is tried again.
    """

    def __init__(self, client: Client, address: str, token: str, *, patience: float) -> None:
        self._client = client
        self._address = address
        self._token = token
        self._patience = patience

    async def say(self, *parts: JSON) -> JSON | None:
        """Say something; None where the worker does not know this client (any more).

        Raises:
            RunLost: The worker cannot be reached any more.
            ClusterError: The scheduler is gone.
        """
        said = dumps(parts).encode()
        loop = asyncio.get_running_loop()
        ends = loop.time() + self._patience
        while True:
            try:
                return loads_stored((await self._answer_to(said)).decode())
            except Exception as error:
                gone = self._address not in await listed(self._client)
                if gone or loop.time() > ends:
                    reason = f"the worker {self._address} cannot be reached: {error}"
                    raise RunLost(reason) from error
            await asyncio.sleep(_AGAIN_SECONDS)

    async def _answer_to(self, said: bytes) -> bytes:
        message = {"op": OPERATION, "token": self._token, "said": said}
        answers = await _scheduler(self._client).broadcast(msg=message, workers=[self._address])
        answer = answers[self._address]
        if not isinstance(answer, bytes):  # what the handler raised, as Dask tells it
            raise ConnectionError(str(answer))
        return answer
