.PHONY: claims report-earlier results any-model attack attack-long same-as demo test format bench bench-data bench-chains bench-columns bench-dask bench-embeddings bench-independent bench-joint bench-memory bench-limits bench-runner bench-scale bench-commands bench-guarantee paper choices decisions depths forests embedded embeddings experts rivals directly prices wording xmlc eurlex tickets study against printed-macro-f1 figures fuzz screenshots test-browser test-oldest clean

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# A stamp per set of requirements: installed once, again when the project file changes.
$(VENV)/.%: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	touch $@

demo: $(VENV)/.report  ## Train on scenes of digits: models under every criterion, what they save in €, a guarantee, a report.
	$(BIN)/python examples/demo.py

test: $(VENV)/.test  ## Lint, types, tests.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -n 2 --dist worksteal

format: $(VENV)/.test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: bench-data bench-chains bench-embeddings bench-joint bench-commands  ## Ratios against others, side by side in one run; needs CLEMS_DATA; half an hour.
	$(BIN)/python -m benchmarks.solver --output benchmarks/results/solver.md

bench-data: $(VENV)/.bench  ## The part of it about data: readers and splits; needs CLEMS_DATA; about two minutes.
	$(BIN)/python -m benchmarks.readers --output benchmarks/results/readers.md
	$(BIN)/python -m benchmarks.stratification --output benchmarks/results/stratification.md

bench-chains: $(VENV)/.bench  ## The part of it about BR, CC, PCC and CFT; needs CLEMS_DATA; about ten minutes.
	$(BIN)/python -m benchmarks.chains --output benchmarks/results/chains.md

bench-joint: $(VENV)/.bench  ## The part of it about CLEMS, BR and scikit-learn's joint forest; needs CLEMS_DATA; ten minutes.
	$(BIN)/python -m benchmarks.joint --output benchmarks/results/joint.md

bench-embeddings: $(VENV)/.bench  ## The part of it about label embeddings, on generated data; about ten minutes.
	$(BIN)/python -m benchmarks.embeddings --output benchmarks/results/embeddings.md

bench-independent: $(VENV)/.bench  ## Decisions from marginals of a thousand labels, beside xCOLUMNs where it is installed; two minutes.
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.independent --output benchmarks/results/independent.md

bench-memory: $(VENV)/.bench  ## Memory of fit beyond features and trees, beside that of 0.1; two minutes.
	$(BIN)/python -m benchmarks.memory --revision 1e78cbe --output benchmarks/results/memory.md

bench-limits: $(VENV)/.bench  ## Memory of fit beside the estimate by which max_memory refuses; three minutes.
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.limits --output benchmarks/results/limits.md

bench-guarantee: $(VENV)/.bench  ## How often guarantees of GuaranteedCost are broken; needs CLEMS_DATA; about ten minutes.
	$(BIN)/python -m benchmarks.guarantee --output benchmarks/results/guarantee.md

bench-scale: $(VENV)/.ann $(VENV)/.bench $(VENV)/.report  ## How time and memory grow up to a million label vectors, on generated data; about an hour.
	$(BIN)/python -m benchmarks.scale --output benchmarks/results/scale.md --figure docs/figures/scale.png

bench-dask: $(VENV)/.dask  ## Rows beyond memory on Dask; half an hour, 1 GB of disk.
	$(BIN)/python -m benchmarks.dask_rows --output benchmarks/results/dask_rows.md

bench-runner: $(VENV)/.dask  ## The overhead of running trials; about two minutes.
	$(BIN)/python -m benchmarks.runner --output benchmarks/results/runner.md

# Every experiment by its name: run what has no record yet, then write the report.
PAPER := table2 table3 lsdr lsde candidates peeping times
CHOICES := decisions depths forests embedded directly any-model prices experts rivals embeddings wording
XMLC := xmlc
EURLEX := eurlex
paper: $(addprefix paper-,$(PAPER))  ## The paper's tables and figures; needs CLEMS_DATA; many hours, resumes where it stopped.
choices: $(CHOICES)  ## What was chosen, and against what; needs CLEMS_DATA; hours, resumes where it stopped.

xmlc:  ## Label embeddings on files of the Extreme Classification Repository, which CLEMS_DATA has to hold; hours.
$(addprefix paper-,$(PAPER)): paper-%: run-% report-% ;
eurlex:  ## The row of Table 2 for EUR-Lex (dc), whose ARFF and XML CLEMS_DATA has to hold; days.
$(CHOICES) $(XMLC) $(EURLEX): %: run-% report-% ;

run-%: $(VENV)/.report
	$(BIN)/clems experiment run $(wildcard experiments/*/$*.toml) --store results/$*

report-%: $(VENV)/.report
	$(BIN)/clems experiment report $(wildcard experiments/*/$*.toml) --store results/$* --output results/$*/$*.md

claims: $(VENV)/.report  ## The pictures and numbers of docs/paper.md, from the records there are; half a minute.
	$(BIN)/python -m tools.paper_claims

report-earlier: $(VENV)/.report  ## The reports on records that an earlier version made, kept in results/earlier.
	for name in $(PAPER); do \
	  $(BIN)/clems experiment report results/earlier/$$name/$$name.toml --store results/earlier/$$name --output results/earlier/$$name/$$name.md --force || exit 1; \
	done

bench-commands: $(VENV)/.bench  ## The part of it about `clems predict` on a CSV of a million rows; needs CLEMS_DATA; about ten minutes.
	$(BIN)/python -m benchmarks.commands --output benchmarks/results/commands.md

tickets: $(VENV)/.bench  ## Generated tickets of free text with prices: who pays less, and why; about ten minutes.
	$(BIN)/python -m benchmarks.tickets --output benchmarks/results/tickets.md

bench-columns: $(VENV)/.bench  ## Tickets as they come against columns encoded by hand: what a ticket costs; a minute.
	$(BIN)/python -m benchmarks.columns --output benchmarks/results/columns.md

fuzz: $(VENV)/.test  ## Half a million mutated files for the readers; about six minutes.
	$(BIN)/python -m benchmarks.fuzz --files 500000 --output benchmarks/results/fuzz.md

same-as: $(VENV)/.test  ## Whether all learners give the same answers as at another commit: make same-as REV=1e78cbe OPTIONS=--unrounded; a few minutes.
	$(BIN)/python -m tools.same_as $(REV) $(OPTIONS)

attack: $(VENV)/.test fuzz  ## Hostile models, odd files and input, signals at bad moments; about half an hour. Goes on in attack-long.
	$(BIN)/python -m attack.models --files 10000 --seed 1
	$(BIN)/python -m attack.readers --files 100000 --seed 1
	$(BIN)/python -m attack.estimators --seed 1
	$(BIN)/python -m attack.signals

attack-long: $(VENV)/.attack  ## The campaign whose results are committed: about eight hours of two cores; models go on where they were.
	mkdir -p build/attack
	$(BIN)/python -m attack.models --jobs 2 --files 200000 --seed 0 --records build/attack/models-0.jsonl --output attack/results/models.md
	$(BIN)/python -m attack.readers --files 1000000 --seed 0 --output attack/results/readers.md
	$(BIN)/python -m attack.estimators --seed 0 --output attack/results/estimators.md
	$(BIN)/python -m attack.signals --output attack/results/signals.md
	$(BIN)/python -m attack.before 1e78cbe --output attack/results/before.md
	$(BIN)/python -m attack.coverage models --output attack/results/coverage-models.md
	$(BIN)/python -m attack.coverage readers --output attack/results/coverage-readers.md

results: $(VENV)/.test  ## Which results belong to the present code; writes into each the commit at which it was measured. Half a minute.
	$(BIN)/python -m tools.results

study: $(VENV)/.report  ## CLEMS among the methods of the largest published comparison; needs CLEMS_DATA; about five minutes.
	$(BIN)/python -m tools.study --output results/study/study.md

against: $(VENV)/.report  ## CLEMS of the present code against CLEMS of another commit: make against REV=5f06c1f; needs CLEMS_DATA; an hour.
	$(BIN)/python -m tools.against $(REV) --output results/experts/before.md

printed-macro-f1: $(VENV)/.report  ## Which macro F1 the paper's Table 3 prints; needs CLEMS_DATA; about five minutes.
	$(BIN)/python -m tools.printed_macro_f1 --output results/table3/printed-macro-f1.md

figures: $(VENV)/.report  ## The figures of docs/decisions.md; needs CLEMS_DATA; about ten minutes.
	$(BIN)/python -m tools.figures

.PHONY: check-repository docs docs-browser docs-serve pictures wheel
docs: $(VENV)/.docs  ## The site, in build/site: every example run, every link and search checked; warnings are errors.
	OMP_NUM_THREADS=1 $(BIN)/python -m sphinx -W --keep-going -q -b html -d build/doctrees docs build/site
	$(BIN)/python -m tools.check_site build/site

docs-browser: docs $(VENV)/.browser  ## The site in Chromium, wide and narrow, light and dark; pictures in build/screenshots.
	$(BIN)/python -m tools.look_at_site build/site --output build/screenshots

docs-serve: docs  ## The site at http://localhost:8000.
	$(BIN)/python -m http.server --directory build/site

pictures: $(VENV)/.browser  ## The logo, the picture of the README and the home page, the card of links; needs Chromium.
	$(BIN)/python -m tools.pictures
	$(BIN)/python -m tools.family_tree

screenshots: $(VENV)/.browser  ## Pictures of reports for docs/report.md, of digits and of generated tickets; needs Chromium.
	$(BIN)/python examples/tickets.py build/tickets
	cd build/tickets && ../../$(BIN)/clems fit tickets.csv --tags tags --separator ";" --id id --cost prices.csv --unit € --output model.clems --force
	cd build/tickets && ../../$(BIN)/clems report model.clems test.csv --title "Tickets of May" --force
	$(BIN)/python -m tools.screenshots build/tickets/report.html

test-browser: $(VENV)/.test $(VENV)/.browser  ## The report in Chromium, which has to be there: apt-get install chromium.
	$(BIN)/python -m pytest -m browser tests/test_report_browser.py

test-oldest:  ## The suite on the oldest versions that pyproject.toml admits.
	test -x .venv-oldest/bin/python || $(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[test]' -c requirements-oldest.txt
	.venv-oldest/bin/python -m pytest -n 2 --dist worksteal

check-repository: $(VENV)/.repository  ## Workflows, forms and the citation by their schemas, spelling, and the hooks of pre-commit.
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff
	$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/bug.yml .github/ISSUE_TEMPLATE/idea.yml .github/ISSUE_TEMPLATE/question.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	$(BIN)/pre-commit run --all-files

wheel: $(VENV)/.release  ## What would be published: built, checked, installed into an empty environment and used there.
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python -m tools.try_wheel dist

clean:
	rm -rf $(VENV) .venv-oldest build dist
