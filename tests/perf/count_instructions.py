#!/usr/bin/env python3
"""Instructions a packet, counted by callgrind, against a committed baseline.

    count_instructions.py --program xbond-count --baseline instructions.json --build TEXT [--update] [--only CASE]

Counts are exact and repeatable for one compiler and its options, so `--build` names them; the baseline holds for that
build only. Exit 0: no case grew by more than 3 %. Exit 1: one did, or the cases are not those of the baseline.
Exit 77: cannot count here (no valgrind, another build).
"""
import argparse
import json
import re
import shutil
import subprocess
import sys

GROWTH = 1.03
SKIP = 77


def count(program, case):
    """Instructions a packet of one case."""
    run = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
         "--toggle-collect=xbond::perf::counted*", program, case],
        capture_output=True, text=True, check=False)
    collected = re.search(r"Collected\s*:\s*(\d+)", run.stderr)
    if run.returncode != 0 or not collected or not run.stdout.strip().isdigit():
        sys.exit(f"{case}: {run.stdout}{run.stderr}")
    return int(collected.group(1)) / int(run.stdout)


def compare(counts, baseline, whole):
    """Prints a line a case; whether none is worse."""
    good = True
    print(f"{'case':<26}{'baseline':>10}{'now':>10}")
    for case, now in counts.items():
        before = baseline.get(case)
        verdict = ""
        if before is None:
            verdict, good = "NOT IN THE BASELINE", False
        elif now > before * GROWTH:
            verdict, good = f"GREW by {100 * (now / before - 1):.1f} %", False
        elif now * GROWTH < before:
            verdict = "fell: --update keeps it so"
        print(f"{case:<26}{'' if before is None else format(before, '.2f'):>10}{now:>10.2f}  {verdict}".rstrip())
    gone = [case for case in baseline if whole and case not in counts]
    for case in gone:
        print(f"{case:<26}{baseline[case]:>10.2f}{'':>10}  NO SUCH CASE")
    return good and not gone


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--baseline", required=True)
    parser.add_argument("--build", required=True)
    parser.add_argument("--update", action="store_true", help="write the baseline anew")
    parser.add_argument("--only", metavar="CASE")
    args = parser.parse_args()

    if not shutil.which("valgrind"):
        print("skipped: no valgrind (package valgrind)")
        return SKIP
    with open(args.baseline, encoding="utf-8") as file:
        baseline = json.load(file)
    if not args.update and baseline["build"] != args.build:
        print(f"skipped: the baseline is of \"{baseline['build']}\", this build is \"{args.build}\"")
        return SKIP
    cases = subprocess.run([args.program, "--list"], capture_output=True, text=True, check=True).stdout.splitlines()
    if args.only:
        cases = [case for case in cases if case == args.only]
    counts = {case: count(args.program, case) for case in cases}
    if not args.update:
        return 0 if compare(counts, baseline["instructions_per_packet"], not args.only) else 1
    kept = baseline["instructions_per_packet"] if args.only else {}
    rounded = {case: round(now, 2) for case, now in counts.items()}
    with open(args.baseline, "w", encoding="utf-8") as file:
        json.dump({"build": args.build, "instructions_per_packet": {**kept, **rounded}}, file, indent=2)
        file.write("\n")
    print(f"{args.baseline}: {len(counts)} cases")
    return 0


if __name__ == "__main__":
    sys.exit(main())
