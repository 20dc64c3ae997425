"""How often check-function is right about Functions that people publish: precision and recall, by severity and inputs.

    python benchmarks/real_functions.py fetch FOLDER      the pinned packages, sources only, and what they import
    python benchmarks/real_functions.py label FOLDER      measure every Function by a trial of its own
    python benchmarks/real_functions.py measure FOLDER    run check-function on all of them and compare

In real/: labels.json has the labels, judged.toml what a person judged, functions.toml the inputs that are given, and
published_labels.py what is asked of each, of a trial (published_trial.py) that shares no code with gradscope's.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import tomllib

HERE = Path(__file__).parent / "real"
ROOT = Path(__file__).parent.parent
LABELS = HERE / "labels.json"
SECONDS = 60.0
JOBS = 2

FIRST = ("GS401", "GS402", "GS414", "GS418", "GS216", "GS217", "GS112")
SECOND = ("GS205", "GS206", "GS207", "GS406", "GS407")
RAISING = ("GS108", "GS109", "GS113", "GS120", "GS123")
HOLDING = ("GS201", "GS203", "GS204")
BATCHED = ("GS303", "GS304", "GS305", "GS306", "GS307", "GS308", "GS309", "GS310", "GS311", "GS312")
PROOF: dict[str, Callable[[dict[str, Any]], bool]] = {
    **dict.fromkeys(FIRST, lambda facts: is_wrong(facts, "first")),
    **dict.fromkeys(SECOND, lambda facts: is_wrong(facts, "second")),
    **dict.fromkeys(RAISING, lambda facts: str(facts["backward"]).startswith("raises")),
    **dict.fromkeys(HOLDING, lambda facts: bool(facts["on_ctx"])),
    "GS202": lambda facts: facts["leaks"] is True,
    "GS502": lambda facts: facts["leaks"] is True,
    "GS210": lambda facts: facts["writes_input"] is True,
    "GS408": lambda facts: facts["writes_gradient"] is True,
    "GS215": lambda facts: facts["refuses_writes"] is True,
    "GS409": lambda facts: facts["varies"] is True,
    "GS228": lambda facts: facts["order"] is True,
    "GS219": lambda facts: isinstance(facts["needless"], list) and bool(facts["needless"]),
    "GS501": lambda facts: isinstance(facts["unread"], list) and bool(facts["unread"]),
    "GS423": lambda facts: isinstance(facts["second"], dict) and math.isnan(facts["second"]["gap"]),
    "GS415": lambda facts: facts["nan_at_zero"] is True,
    **dict.fromkeys(BATCHED, lambda facts: facts.get("batched", "-") not in ("right", "-")),
    "GS403": lambda facts: is_wrong(facts, "first") or (bool(facts.get("oversized"))),
    "GS220": lambda facts: bool(facts.get("subset")),
    "GS410": lambda facts: facts.get("strided", "same") != "same",
    "GS412": lambda facts: facts.get("empty", "").startswith("raises"),
    "GS416": lambda facts: facts.get("autocast", "").startswith("raises"),
    "GS405": lambda facts: facts["dtypes"] == {"double_output": True},
}


def is_wrong(facts: dict[str, Any], order: str) -> bool:
    """Whether a derivative was measured to be wrong, and is not meant to be."""
    measured = facts[order]
    meant = facts.get("meant") or (isinstance(facts["first"], dict) and facts["first"]["forward_flat_there"])
    excused = meant if order == "first" else facts.get("second_meant")
    return isinstance(measured, dict) and measured["wrong"] and not excused


def main() -> None:
    """Parse and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("fetch", "label", "measure"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="names that begin so")
    parser.add_argument("--keep", action="store_true", help="of labels, measure only facts that are not there yet")
    options = parser.parse_args()
    if options.step == "fetch":
        fetch(options.folder)
        return
    importable = [str(ROOT), str(HERE), *(str(path) for path in source_folders(options.folder))]
    sys.path[:0] = importable
    os.environ["PYTHONPATH"] = os.pathsep.join(importable)
    if options.step == "label":
        label_all(options.only, options.keep)
    else:
        measure_all(options.only)


def fetch(folder: Path) -> None:
    """Download the pinned packages and unpack their sources, each into a folder of its own."""
    for line in (HERE / "packages.txt").read_text().splitlines():
        pin = line.partition("#")[0].strip()
        if not pin:
            continue
        target = folder / pin.partition("=")[0]
        if target.exists():
            continue
        archive = target.with_suffix(".download")
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "-q",
            "--no-deps",
            "--no-build-isolation",  # of a source archive pip asks for its name: with the torch that is here
            "--prefer-binary",
            "-d",
            str(archive),
            pin,
        ]
        subprocess.run(command, check=True)
        for file in archive.iterdir():
            unpack(file, target)
        print(pin, flush=True)


def unpack(file: Path, target: Path) -> None:
    """A wheel or a source archive; of the latter, what is inside of its one folder."""
    if file.name.endswith((".whl", ".zip")):
        with zipfile.ZipFile(file) as wheel:
            wheel.extractall(target)
        return
    with tarfile.open(file) as archive:
        archive.extractall(target, filter="data")


def source_folders(folder: Path) -> Iterator[Path]:
    """The folders that have to be importable: of a wheel its own, of a source archive the one inside, or its src."""
    for target in sorted(folder.iterdir()):
        inside = [path for path in target.iterdir() if path.is_dir()] if target.is_dir() else []
        top = inside[0] if len(inside) == 1 and (inside[0] / "PKG-INFO").exists() else target
        if top.is_dir() and target.suffix != ".download":
            yield top / "src" if (top / "src").is_dir() and not (top / "src" / "__init__.py").exists() else top


def corpus() -> dict[str, dict[str, Any]]:
    """The Functions by name, with the inputs that are given to each."""
    section: dict[str, dict[str, Any]] = tomllib.loads((HERE / "functions.toml").read_text())["tool"]["gradscope"]
    return section["functions"]


def judged() -> dict[str, dict[str, Any]]:
    """What a person says of some Functions: why a gradient is meant, and findings of codes that have no proof here."""
    return tomllib.loads((HERE / "judged.toml").read_text())


def label_all(only: str, keep: bool) -> None:
    """Label every Function in a process of its own, and write the labels; `keep` measures only what is new."""
    known = json.loads(LABELS.read_text()) if LABELS.exists() else {}
    for name, table in corpus().items():
        if name.startswith(only):
            kept = known.get(name, {}) if keep and "error" not in known.get(name, {}) else {}
            known[name] = labelled(name, table["inputs"], kept)
            print(name, json.dumps(known[name]), flush=True)
    LABELS.write_text(json.dumps({name: known[name] for name in corpus() if name in known}, indent=1) + "\n")


def labelled(name: str, inputs: str, known: dict[str, Any]) -> dict[str, Any]:
    """The facts about one Function, or why there are none."""
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()
    child = context.Process(target=lambda: answers.put(labelled_here(name, inputs, known)))
    child.start()
    child.join(SECONDS)
    if child.is_alive():
        child.kill()
        return {"error": f"took more than {SECONDS:.0f} s"}
    return answers.get() if not answers.empty() else {"error": f"ended the process with status {child.exitcode}"}


def labelled_here(name: str, inputs: str, known: dict[str, Any]) -> dict[str, Any]:
    """The facts, measured in this process."""
    import warnings

    warnings.simplefilter("ignore")
    from published_labels import label

    try:
        return label(name, arguments_of(inputs), known)
    except BaseException as error:
        return {"error": f"{type(error).__name__}: {error}".splitlines()[0][:200]}


def arguments_of(inputs: str) -> tuple[Any, ...]:
    """The arguments that a spec or a factory gives."""
    from gradscope.functions.inputs.build import samples_from_spec
    from gradscope.functions.loading import resolve

    if ":" in inputs and "(" not in inputs:
        return tuple(resolve(inputs)())
    sample = samples_from_spec(inputs)[0]
    arguments = list(sample.args)
    for place in sample.differentiable:
        arguments[place] = arguments[place].clone().requires_grad_()
    return tuple(arguments)


def measure_all(only: str) -> None:
    """Check all labelled Functions with guessed, package-derived and given inputs, and print what was right."""
    from gradscope.functions.check import Settings
    from gradscope.functions.declarations import read_declarations

    labels = {n: f for n, f in json.loads(LABELS.read_text()).items() if "error" not in f and n.startswith(only)}
    for name, words in judged().items():
        if name in labels:
            labels[name] |= words
    packages = {name.partition(".")[0] for name in labels}
    print(f"{len(labels)} Functions of {len(packages)} packages\n")
    settings = {
        "guessed": Settings(jobs=JOBS, use_call_sites=False),
        "package-derived": Settings(jobs=JOBS),
        "given": Settings(jobs=JOBS, declarations=read_declarations(HERE / "functions.toml")),
    }
    print("| inputs | errors | true | warnings | true | not checked | CPU a Function, imports aside |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    told = {mode: checked(labels, chosen, mode) for mode, chosen in settings.items()}
    print_recall(labels, told)
    for mode, results in told.items():
        print_false(mode, labels, results)


def checked(labels: dict[str, Any], settings: Any, mode: str) -> dict[str, Any]:
    """The results of one run by name, with its line of the table."""
    from gradscope.functions.packages import modules_with_functions
    from gradscope.functions.workers import Task
    from gradscope.model.report import Verdict

    by_module: dict[str, set[str]] = {}
    for name in labels:
        by_module.setdefault(name.rpartition(".")[0], set()).add(name.rpartition(".")[2])
    found = [
        module
        for name in sorted({name.partition(".")[0] for name in labels})
        for module in modules_with_functions(name)
    ]
    tasks = [
        Task(module, tuple(c for c in module.classes if c not in by_module[module.name]))
        for module in found
        if module.name in by_module
    ]
    answers, used = _run(tasks, settings)
    _, importing = _run([replace(task, done=task.module.classes) for task in tasks], settings)
    results = {answer[0].function: answer for answer in answers if isinstance(answer, tuple)}
    demand_all(labels, results, answers)
    results = {name: results[name] for name in labels}
    cells = [mode]
    for severity in ("error", "warning"):
        judgements = [one for _, one in judgements_of(labels, results, severity)]
        share = f"{sum(judgements) / len(judgements):.0%}" if judgements else "-"
        cells += [str(len(judgements)), f"{sum(judgements)} ({share})"]
    unchecked = sum(subject.verdict is Verdict.NOT_CHECKED for subject, _ in results.values())
    print(f"| {' | '.join(cells)} | {unchecked} | {(used - importing) / max(len(results), 1):.2f} s |", flush=True)
    return results


def demand_all(labels: dict[str, Any], results: dict[str, Any], answers: list[Any]) -> None:
    """End with a status where labelled Functions were not there to be checked: the numbers would be of the others."""
    from gradscope.model.report import Unimported

    why = {one.module: one.reason for one in answers if isinstance(one, Unimported)}
    missing = [f"  {n}: {why.get(n.rpartition('.')[0], 'not found')}" for n in labels if n not in results]
    if missing:
        sys.exit("\n".join([f"{len(missing)} labelled Functions are not there; is everything fetched?", *missing]))


def _run(tasks: list[Any], settings: Any) -> tuple[list[Any], float]:
    """What workers answer, and the CPU seconds that they used, imports included."""
    from gradscope.functions.workers import Pool

    before = os.times()
    pool = Pool(settings, None)
    try:
        answers = list(pool.run(tasks))
    finally:
        pool.end()
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return answers, used


def judgements_of(labels: dict[str, Any], results: dict[str, Any], severity: str) -> Iterator[tuple[Any, bool]]:
    """Every finding of a severity, and whether the labels prove it."""
    for name, (_, findings) in results.items():
        for finding in findings:
            if finding.severity.value == severity:
                yield finding, is_true(labels[name], finding.code)


def is_true(facts: dict[str, Any], code: str) -> bool:
    """Whether a finding is proved by what was measured, or judged to be true by a person."""
    if code in facts.get("true", {}):
        return True
    return code in PROOF and PROOF[code](facts)


def print_recall(labels: dict[str, Any], told: dict[str, dict[str, Any]]) -> None:
    """How many of the wrong derivatives are told, and which are not."""
    for order, codes in (("first", (*FIRST, "GS403")), ("second", SECOND)):
        wrong = [name for name, facts in labels.items() if is_wrong(facts, order)]
        print(f"\nwrong {order} derivatives in the corpus: {len(wrong)}")
        for mode, results in told.items():
            missed = [n for n in wrong if not any(f.code.startswith("GS") and told_as(f, codes) for f in results[n][1])]
            print(f"  {mode}: {len(wrong) - len(missed)} told; not told: {', '.join(missed) or 'none'}")


def told_as(finding: Any, codes: tuple[str, ...]) -> bool:
    """Whether a finding says more than a note about this derivative."""
    return finding.severity.value != "info" and finding.code in (*codes, "GS199", "GS321")


def print_false(mode: str, labels: dict[str, Any], results: dict[str, Any]) -> None:
    """The findings that nothing proves, and where inputs are given the Functions that were not checked all the same."""
    from gradscope.model.report import Verdict

    for name, (subject, _) in results.items():
        if mode == "given" and subject.verdict is Verdict.NOT_CHECKED:
            print(f"  given not checked: {name}: {'; '.join(subject.not_checked)[:110]}")
    for severity in ("error", "warning"):
        for finding, right in judgements_of(labels, results, severity):
            if not right:
                print(f"  {mode} {severity} not proved: {finding.code} {finding.function}: {finding.message[:110]}")


if __name__ == "__main__":
    main()
