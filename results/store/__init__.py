"""The study's file: SQLite, one writer.

Schema and migrations, group commit, the reader, rows, the response cache, retry and renaming. The
journal of a run is in ``journal``.
"""

__all__: list[str] = []
