#!/usr/bin/env python3
"""Ask the demo's questions and print where the right file came.

Usage: run.py SEXTANT_BINARY REPOSITORY [QUESTIONS]

A question's rank is that of the first hit in one of its files. Exit status 1 when fewer than 14 of the 20 questions
(70 %) have it among the first five hits.
"""

import json
import pathlib
import subprocess
import sys

LIMIT = 50
NEAR = 5
LEAST_NEAR = 0.7


def rank_of(sextant, repository, entry):
    """The rank of the first right hit, from 1, or None; and the first hit as `path:line`."""
    command = [sextant, "search", entry["question"], repository, "--jsonl", "--no-snippet", "--limit", str(LIMIT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"search failed with status {done.returncode}: {done.stderr.strip()}")
    hits = [json.loads(line) for line in done.stdout.splitlines() if line.strip()]
    wanted = {str((pathlib.Path(repository) / name).resolve()) for name in entry["files"]}
    for rank, hit in enumerate(hits, 1):
        path = pathlib.Path(hit["path"])
        if str((path if path.is_absolute() else pathlib.Path(repository) / path).resolve()) in wanted:
            return rank, hits[0]
    return None, hits[0] if hits else None


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    sextant, repository = sys.argv[1:3]
    here = pathlib.Path(__file__).resolve().parent
    questions = pathlib.Path(sys.argv[3]) if len(sys.argv) == 4 else here / "questions.jsonl"
    entries = [json.loads(line) for line in questions.read_text(encoding="utf-8").splitlines() if line.strip()]
    near = first = 0
    print("rank  question → the right file")
    for entry in entries:
        rank, _ = rank_of(sextant, repository, entry)
        near += rank is not None and rank <= NEAR
        first += rank == 1
        print(f"{rank or '-':>4}  {entry['question']} → {entry['files'][0]}", flush=True)
    print(f"{first} of {len(entries)} first, {near} among the first {NEAR} (asked: {LEAST_NEAR * len(entries):.0f})")
    return 0 if near >= LEAST_NEAR * len(entries) else 1


if __name__ == "__main__":
    sys.exit(main())
