"""Provider ``llama``: local models in this process, by llama-cpp-python.

Weights, chat templates, grammars, sampling, embeddings.
"""

__all__: list[str] = []
