"""On a worker: what travelled, unpacked into a folder of its own, and teams built from it."""

from __future__ import annotations

import asyncio
import os
import shutil
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path, PurePosixPath
from tempfile import mkdtemp

from orglab.engine.graph.compile import compile_topology
from orglab.engine.graph.team import Team
from orglab.engine.run.outcome import Unit
from orglab.engine.spec.build import build
from orglab.engine.study.cluster.errors import ClusterError
from orglab.engine.study.cluster.worker.session import Session
from orglab.providers.base import JSON


class BundleLoader:
    """The files of one client's study.

    Args:
        session: The client, who is asked for what is not here yet.
        within: The worker's own folder: what a killed worker left there, Dask removes.
    """

    def __init__(self, session: Session, within: Path) -> None:
        self._session = session
        self.root = Path(mkdtemp(prefix="orglab-", dir=within)).resolve()
        self._fetching: dict[str, asyncio.Lock] = {}

    def remove(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.root, ignore_errors=True)

    async def file(self, name: str, called: str) -> Path:
        """Return the file of SHA-256 ``name``.

        Args:
            name: The digest.
            called: What it was called at home: its end tells what kind of file it is.

        Raises:
            ClusterError: What came is another file.
        """
        path = self.root / "files" / name / PurePosixPath(called).name
        async with self._fetching.setdefault(f"{name}/{path.name}", asyncio.Lock()):
            if not path.exists():
                await self._fetch(name, path)
        return path

    async def _fetch(self, name: str, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        coming, digest, at = path.with_name(f"{path.name}.part"), sha256(), 0
        with coming.open("wb") as file:
            while True:
                chunk = b64decode(await self._session.ask("chunk", name, at))
                if not chunk:
                    break
                file.write(chunk)
                digest.update(chunk)
                at += len(chunk)
        if digest.hexdigest() != name:
            raise ClusterError(f"{path.name} changed while it was sent")
        coming.rename(path)

    async def put(self, folder: Path, files: Mapping[str, str]) -> None:
        """Put files under their names into a spec's folder.

        Raises:
            ClusterError: A name leads out of what was unpacked.
        """
        for name, sha in files.items():
            place = _inside(self.root, folder / name)
            if not place.exists():
                _link(await self.file(sha, name), place)

    async def team(self, form: Mapping[str, JSON], number: int) -> Team:
        """Return the team that travelled as ``form``.

        Raises:
            ClusterError: It came out as another one than it was.
        """
        deep = max((_ways_out(name) for name in form["files"]), default=0)
        folder = self.root.joinpath("arms", str(number), *(["spec"] * (deep + 1)))
        folder.mkdir(parents=True, exist_ok=True)
        await self.put(folder, form["files"])
        topology = replace(build(form["normal"], folder.resolve()), trusted=form["trusted"])
        if topology.hash != form["hash"]:
            raise ClusterError(
                f"{form['name']}: the spec that was built differs from the spec that was sent"
            )
        team, problems = compile_topology(topology)
        if team is None:
            reasons = "; ".join(str(problem.wrong) for problem in problems)
            raise ClusterError(f"{form['name']} cannot be compiled here: {reasons}")
        return team

    async def unit(self, form: Mapping[str, JSON]) -> Unit:
        """Return the unit that travelled as ``form``."""
        files = {
            text: await self.file(sha, called) for text, (sha, called) in form["files"].items()
        }
        return Unit(
            id=form["id"],
            inputs=form["inputs"],
            extra=form["extra"],
            index=form["index"],
            files=files,
        )


def _ways_out(name: str) -> int:
    """Return how many folders a name leads up: a catalogue of the user's may lie beside the spec."""
    return Path(os.path.normpath(name)).parts.count("..")


def _inside(root: Path, path: Path) -> Path:
    place = Path(os.path.normpath(path))
    if not place.is_relative_to(root):
        raise ClusterError(f"{path.name} lies too far from its spec to be sent to workers")
    return place


def _link(source: Path, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, place)
    except FileExistsError:  # put there meanwhile
        return
    except OSError:  # a file system without hard links
        shutil.copyfile(source, place)
