# make demo: the main job on the embedded default.  make test: every quick test.
# make test-models: the real local model as well.   make check: lint, types, format.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# A native build crashed on a virtual machine that advertises AMX (docs/decisions/0002).
LLAMA_BUILD := CMAKE_ARGS=-DGGML_NATIVE=OFF
STUDY := specs/insight-review
DEMO := runs/demo

.PHONY: demo test test-models check format bench clean

$(VENV)/installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet -e '.[dev]'
	@touch $@

$(VENV)/installed-llama: $(VENV)/installed
	$(LLAMA_BUILD) $(BIN)/pip install --quiet -e '.[llama,models]'
	@touch $@

# Study 1: two reviewers side by side. Study 2: 43 pairs, with a report. All simulated.
demo: $(VENV)/installed
	$(BIN)/orglab run $(STUDY)/validator.yaml --units $(STUDY)/units.jsonl --seed 7 --out $(DEMO)/validator
	$(BIN)/orglab run $(STUDY)/skeptic.yaml --units $(STUDY)/units.jsonl --seed 7 --out $(DEMO)/skeptic
	$(BIN)/orglab compare $(DEMO)/validator $(DEMO)/skeptic
	$(BIN)/orglab run specs/loop-back-authority/experiment.yaml --out $(DEMO)/loop-back-authority
	@echo
	@echo "SIMULATED: no language model wrote any of this. The effects that the report finds were planted in the"
	@echo "profiles of the simulated model (docs/reference/simulated.md): they show that the machinery finds them, nothing more."
	@echo "Transcripts: $(BIN)/orglab show $(DEMO)/validator    (and $(DEMO)/skeptic)"
	@echo "Report:      $(DEMO)/loop-back-authority/report.html"

bench: $(VENV)/installed
	$(BIN)/pip install --quiet -e '.[bench]'
	$(BIN)/python benchmarks/engine_overhead.py
	$(BIN)/python benchmarks/engine_overhead.py --memory

test: $(VENV)/installed
	$(BIN)/pytest -q -n auto -m 'not models'

test-models: $(VENV)/installed-llama
	$(BIN)/pytest -q -m models

check: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/installed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) runs build *.egg-info
