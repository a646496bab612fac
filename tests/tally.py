#!/usr/bin/env python3
"""Counts what test runs did, so that scripts/test can close with one line.

    tally.py add FILE NAME passed|failed|skipped [REASON]     one check
    tally.py meson FILE BUILD-DIR XML-DIR SUITE                the last `meson test` run of a suite
    tally.py total FILE                                        prints the line, exits 1 when anything failed or nothing ran

Records are appended to FILE, one JSON object a line. A GoogleTest executable counts one a case (its XML report is
looked for in XML-DIR), any other test counts one.
"""
import json
import os
import sys
import xml.etree.ElementTree as ElementTree


def record(path, name, result, reason=""):
    with open(path, "a") as out:
        out.write(json.dumps({"name": name, "result": result, "reason": reason}) + "\n")
    if result != "passed":
        print(f"  {result}: {name}" + (f" ({reason})" if reason else ""))


def gtest_cases(directory, executable):
    """(name, result, reason) of each case that the executable's reports hold; [] when it wrote none."""
    cases = []
    for entry in sorted(os.listdir(directory)) if os.path.isdir(directory) else []:
        stem, extension = os.path.splitext(entry)
        # GoogleTest appends _1, _2, ... when an executable runs more than once
        if extension != ".xml" or (stem != executable and stem.rpartition("_")[0] != executable):
            continue
        if stem != executable and not stem.rpartition("_")[2].isdigit():
            continue
        for case in ElementTree.parse(os.path.join(directory, entry)).getroot().iter("testcase"):
            name = f'{executable} {case.get("classname")}.{case.get("name")}'
            if case.get("status") == "notrun":  # DISABLED_
                cases.append((name, "skipped", "disabled"))
            elif case.find("failure") is not None:
                cases.append((name, "failed", case.find("failure").get("message", "").splitlines()[0]))
            elif case.find("skipped") is not None:
                lines = case.find("skipped").get("message", "").splitlines()
                cases.append((name, "skipped", lines[-1] if lines else ""))
            else:
                cases.append((name, "passed", ""))
    return cases


def skip_reason(test):
    lines = [line for line in (test.get("stdout") or "").splitlines() if "SKIP" in line.upper()]
    return lines[-1].strip() if lines else "no reason given"


def count_meson(path, build, xml_directory, suite):
    log = os.path.join(build, "meson-logs", "testlog.json")
    seen = set()
    for line in open(log):
        test = json.loads(line)
        executable = next(os.path.basename(word) for word in test["command"] if os.path.isfile(word))
        result = {"OK": "passed", "EXPECTEDFAIL": "passed", "SKIP": "skipped"}.get(test["result"], "failed")
        cases = [] if executable in seen else gtest_cases(xml_directory, executable)
        if cases:
            seen.add(executable)
            for case in cases:
                record(path, *case)
            if result == "failed" and not any(case[1] == "failed" for case in cases):
                record(path, test["name"], "failed", f'{test["result"]}, exit status {test["returncode"]}')
        elif executable in seen and result != "failed":
            pass  # a further run of the same executable: its cases were counted with the first
        else:
            reason = {"failed": f'{test["result"]}, exit status {test["returncode"]}', "skipped": skip_reason(test)}
            record(path, test["name"], result, reason.get(result, ""))
    print(f"  suite {suite}: {summary(path)} so far")


def counts(path):
    totals = {"passed": 0, "failed": 0, "skipped": 0}
    for line in open(path):
        totals[json.loads(line)["result"]] += 1
    return totals


def summary(path):
    return ", ".join(f"{number} {word}" for word, number in counts(path).items())


def total(path):
    for line in open(path):
        entry = json.loads(line)
        if entry["result"] != "passed":
            print(f'{entry["result"]}: {entry["name"]}' + (f' ({entry["reason"]})' if entry["reason"] else ""))
    print(summary(path))
    totals = counts(path)
    return 1 if totals["failed"] or not totals["passed"] else 0


def main(arguments):
    match arguments:
        case ["add", path, name, ("passed" | "failed" | "skipped") as result, *reason]:
            record(path, name, result, " ".join(reason))
        case ["meson", path, build, xml_directory, suite]:
            count_meson(path, build, xml_directory, suite)
        case ["total", path]:
            return total(path)
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
